/* claim.c: see claim.h. A folder belongs to one machine, and each of its queues has one worker,
 * which holds its claims in memory.
 *
 * Must not know what a run does. Called by store.c. */
#include "store/claim.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/directory.h"
#include "store/file.h"
#include "store/inbox.h"
#include "store/listing.h"
#include "store/lock.h"
#include "store/watch.h"

/* How long, at most, the process of a worker that was killed needs to end; how often we look. */
enum { ENDING_MS = 5000, LOOK_MS = 20 };
enum { CLAIM_MS = 15000, RUNS_MAX = 256 << 20, LABEL_MAX = 512 };

/* A run that waits, or that counts for the limit of its key. */
struct row {
  char url[PATH_MAX], key[QUEUE_NAME + 1];
  int64_t prio, most, rate, rate_ms, due;
  bool waits; /* else a process holds it or was just started for it */
};

struct claimed {
  char url[PATH_MAX];
  int64_t until_ns;
};

struct folder {
  struct claims claims; /* first: claims are cast to this */
  const struct sys *sys;
  char path[PATH_MAX], fleet[PATH_MAX], queue[QUEUE_NAME + 1];
  int lock;
  struct buffer claimed; /* struct claimed */
  struct buffer rows;    /* struct row, of one take */
  struct error *error;   /* the next row to give */
  bool failed;
};

/* ---- labels ---- */

/* "<folder>/.fleet/<name>", or the folder .fleet itself where the name is NULL. Makes the folder.
 */
static bool fleet_path(const struct sys *sys, const char *folder, const char *name, char *to,
                       struct error *e) {
  char fleet[PATH_MAX];
  return file_path(fleet, folder, ".fleet", e) && file_make_folders(sys, fleet, false, e) &&
         (name ? file_path(to, fleet, name, e) : (strcpy(to, fleet), true));
}

static bool wake(const struct sys *sys, const char *folder, struct error *e) {
  char path[PATH_MAX];
  return fleet_path(sys, folder, "wake", path, e) && sys_replace_file(sys, path, "", 0, false, e);
}

bool directory_wake(const struct sys *sys, const char *path, struct error *e) {
  char folder[PATH_MAX];
  sys_parent(folder, path);
  return wake(sys, folder, e);
}

bool directory_label_ahead(const struct sys *sys, const char *path, const struct label *label,
                           struct error *e) {
  char text[LABEL_MAX], file[PATH_MAX];
  int length = snprintf(
      text, sizeof text, "%s %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %s\n", label->queue,
      label->prio, label->most, label->rate, label->rate_ms, label->key ? label->key : "");
  return file_path(file, path, "label", e) &&
         sys_replace_file(sys, file, text, (size_t)length, true, e);
}

bool directory_label(const struct sys *sys, const char *path, const struct label *label,
                     struct error *e) {
  return directory_label_ahead(sys, path, label, e) && directory_wake(sys, path, e);
}

/* Reads the label of a run; a run without one belongs to the queue "default". */
static bool label_read(const struct sys *sys, const char *path, char queue[QUEUE_NAME + 1],
                       struct row *to) {
  char file[PATH_MAX];
  struct buffer text;
  struct error why = {0};
  strcpy(queue, "default");
  to->prio = to->most = to->rate = to->rate_ms = 0;
  to->key[0] = '\0';
  if (!file_path(file, path, "label", NULL)) return false;
  buffer_init(&text, sys, LABEL_MAX);
  bool good = file_read(sys, file, &text, &why);
  if (good)
    good = sscanf(text.data, "%64s %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64 " %64s", queue,
                  &to->prio, &to->most, &to->rate, &to->rate_ms, to->key) >= 5;
  else
    good = why.code == ERROR_MISSING;
  buffer_clear(&text);
  return good;
}

bool directory_pause(const struct sys *sys, const char *path, const char *queue, bool paused,
                     struct error *e) {
  char name[QUEUE_NAME + 16], file[PATH_MAX];
  snprintf(name, sizeof name, "paused-%s", queue);
  if (!fleet_path(sys, path, name, file, e)) return false;
  if (paused) return sys_replace_file(sys, file, "", 0, true, e);
  int failed = sys->unlink(sys, file);
  if (failed < 0 && failed != -ENOENT) return error_system(e, -failed, "%s", file);
  return wake(sys, path, e);
}

/* Also where that cannot be found out. */
static bool is_paused(const struct folder *f) {
  char name[QUEUE_NAME + 16], file[PATH_MAX];
  struct sys_stat found;
  snprintf(name, sizeof name, "paused-%s", f->queue);
  return !file_path(file, f->fleet, name, NULL) || f->sys->stat(f->sys, file, &found) != -ENOENT;
}

/* ---- what was claimed ---- */

static struct claimed *claimed_at(struct folder *f, size_t index) {
  return (struct claimed *)(void *)f->claimed.data + index;
}

static size_t claimed_count(const struct folder *f) {
  return f->claimed.length / sizeof(struct claimed);
}

static void forget(struct folder *f, const char *url) {
  size_t count = claimed_count(f);
  for (size_t i = 0; i < count; i++)
    if (strcmp(claimed_at(f, i)->url, url) == 0) {
      *claimed_at(f, i) = *claimed_at(f, count - 1);
      f->claimed.length -= sizeof(struct claimed);
      return;
    }
}

static void settle(struct claims *claims, const char *url, bool later) {
  if (!later) forget((struct folder *)claims, url); /* else the claim ends after its time */
}

static bool is_claimed(struct folder *f, const char *url) {
  for (size_t i = 0; i < claimed_count(f); i++)
    if (strcmp(claimed_at(f, i)->url, url) == 0)
      return f->sys->boot_ns(f->sys) < claimed_at(f, i)->until_ns;
  return false;
}

static bool claim(struct folder *f, const char *url, struct error *e) {
  struct claimed one = {.until_ns = f->sys->boot_ns(f->sys) + (int64_t)CLAIM_MS * 1000000};
  snprintf(one.url, sizeof one.url, "%s", url);
  forget(f, url);
  return buffer_append(&f->claimed, &one, sizeof one, e);
}

/* ---- rates ---- */

/* A file of the folder holds the times at which the last runs with a key were claimed, oldest
 * first. True: one more may be claimed, and its time was added. False also where the file cannot be
 * read. */
static bool rate_admits(struct folder *f, const struct row *row, struct error *e) {
  char name[QUEUE_NAME + 16], path[PATH_MAX], file[PATH_MAX];
  snprintf(name, sizeof name, "rate-%s", row->key);
  if (!file_path(path, f->fleet, name, e) || !file_path(file, path, "claimed", e) ||
      !file_make_folders(f->sys, path, false, e))
    return false;
  int lock = lock_take(f->sys, path, e);
  if (lock < 0) return false;
  struct buffer times;
  struct error why = {0};
  int64_t now = f->sys->wall_ms(f->sys);
  buffer_init(&times, f->sys, RATE_MAX * sizeof now);
  bool good = file_read(f->sys, file, &times, &why) || why.code == ERROR_MISSING;
  size_t count = times.length / sizeof now, most = (size_t)row->rate;
  int64_t first = 0; /* of the last `rate` ones */
  if (count >= most) memcpy(&first, times.data + (count - most) * sizeof now, sizeof now);
  if (good)
    good = count < most || first > now /* the clock was put back */ || now - first >= row->rate_ms;
  if (good && count >= most) buffer_drop(&times, (count - most + 1) * sizeof now);
  good = good && buffer_append(&times, &now, sizeof now, &why) &&
         sys_replace_file(f->sys, file, times.data, times.length, false, &why);
  buffer_clear(&times);
  lock_release(f->sys, lock);
  return good;
}

/* ---- what waits ---- */

static bool something_came(const struct folder *f, const char *path) {
  struct inbox *inbox = NULL;
  size_t count = 0;
  if (!directory_inbox(f->sys, path, &inbox, NULL)) return false;
  bool came = inbox->ops->waiting(inbox, &count, NULL) && count > 0;
  inbox_close(&inbox);
  return came;
}

static bool look_one(void *data, const struct listing *run) {
  struct folder *f = data;
  struct row row = {.due = run->header.due};
  char queue[QUEUE_NAME + 1], holder[STORE_HOLDER];
  bool is_open = strcmp(run->header.status, "executing") == 0;
  bool is_paused = strcmp(run->header.status, "paused") == 0;
  if (run->problem || !(is_open || is_paused) || !label_read(f->sys, run->url, queue, &row))
    return true;
  snprintf(row.url, sizeof row.url, "%s", run->url);
  bool taken =
      run->is_held || is_claimed(f, run->url) || lock_held(f->sys, run->url, holder, sizeof holder);
  row.waits = !taken && strcmp(queue, f->queue) == 0 &&
              (is_open || (run->header.due > 0 && run->header.due <= f->sys->wall_ms(f->sys)) ||
               something_came(f, run->url));
  if (!row.waits && !(taken && row.key[0])) return true;
  f->failed = !buffer_append(&f->rows, &row, sizeof row, f->error);
  return !f->failed;
}

static int by_turn(const void *a, const void *b) {
  const struct row *x = a, *y = b;
  if (x->prio != y->prio) return x->prio > y->prio ? -1 : 1;
  if (x->due != y->due) return x->due < y->due ? -1 : 1;
  return strcmp(x->url, y->url);
}

static bool has_room(const struct row *rows, size_t count, const struct row *row) {
  int64_t others = 0;
  for (size_t i = 0; row->most > 0 && i < count; i++)
    others += !rows[i].waits && strcmp(rows[i].key, row->key) == 0;
  return row->most == 0 || others < row->most;
}

static bool take(struct claims *claims, int64_t most, bool (*each)(void *data, const char *url),
                 void *data, struct error *e) {
  struct folder *f = (struct folder *)claims;
  buffer_reset(&f->rows);
  f->error = e;
  f->failed = false;
  if (is_paused(f)) return true;
  if (!directory_list(f->sys, f->path, look_one, f, e) || f->failed) return false;
  struct row *rows = (struct row *)(void *)f->rows.data;
  size_t count = f->rows.length / sizeof *rows;
  if (count > 1) qsort(rows, count, sizeof *rows, by_turn);
  for (size_t i = 0; i < count && most > 0; i++) {
    if (!rows[i].waits || !has_room(rows, count, &rows[i])) continue;
    if (rows[i].rate > 0 && !rate_admits(f, &rows[i], NULL)) continue;
    if (!claim(f, rows[i].url, e)) return false;
    rows[i].waits = false;
    most--;
    if (!each(data, rows[i].url)) return true;
  }
  return true;
}

/* ---- opening ---- */

static bool watch(struct claims *claims, struct uv_loop_s *loop, void (*changed)(void *),
                  void *data, struct watch **to, struct error *e) {
  const struct folder *f = (const struct folder *)claims;
  return watch_open(f->sys, loop, f->fleet, changed, data, to, e);
}

static void close_folder(struct claims *claims) {
  struct folder *f = (struct folder *)claims;
  lock_release(f->sys, f->lock);
  buffer_clear(&f->claimed);
  buffer_clear(&f->rows);
  sys_free(f->sys, f, sizeof *f);
}

/* Whether the worker that has the queue is gone: its process ends by itself, a moment later. */
static bool is_ending(const struct sys *sys, const char *path) {
  char holder[STORE_HOLDER];
  if (!lock_held(sys, path, holder, sizeof holder)) return true;
  long worker = strtol(holder, NULL, 10);
  return worker > 0 && sys->kill_process(sys, (pid_t)worker, 0) == -ESRCH;
}

static bool lock_queue(struct folder *f, struct error *e) {
  char name[QUEUE_NAME + 16], path[PATH_MAX];
  snprintf(name, sizeof name, "worker-%s", f->queue);
  if (!fleet_path(f->sys, f->path, NULL, f->fleet, e) || !file_path(path, f->fleet, name, e) ||
      !file_make_folders(f->sys, path, false, e))
    return false;
  int64_t until = f->sys->boot_ns(f->sys) + (int64_t)ENDING_MS * 1000000;
  while ((f->lock = lock_take(f->sys, path, e)) < 0 && e->code == ERROR_BUSY &&
         is_ending(f->sys, path) && f->sys->boot_ns(f->sys) < until)
    f->sys->pause(f->sys, LOOK_MS);
  /* The one to stop is the worker whose process this is. */
  if (f->lock >= 0) lock_sign(f->sys, f->lock, getppid(), "");
  if (f->lock < 0 && e->code == ERROR_BUSY) {
    const struct error held = *e;
    error_set(e, ERROR_BUSY,
              "%s; a folder has one worker for each queue, whose --concurrency says how many runs "
              "it performs at the same time; several workers need a database",
              held.text);
  }
  return f->lock >= 0;
}

bool directory_claims(const struct sys *sys, const char *path, const char *queue,
                      struct claims **claims, struct error *e) {
  static const struct claims_ops ops = {take, settle, watch, close_folder};
  struct folder *f = sys_alloc(sys, sizeof *f);
  if (!f) return error_set(e, ERROR_MEMORY, "%s: out of memory", path);
  f->claims.ops = &ops;
  f->sys = sys;
  f->lock = -1;
  snprintf(f->path, sizeof f->path, "%s", path);
  snprintf(f->queue, sizeof f->queue, "%s", queue);
  buffer_init(&f->claimed, sys, RUNS_MAX);
  buffer_init(&f->rows, sys, RUNS_MAX);
  if (lock_queue(f, e)) {
    *claims = &f->claims;
    return true;
  }
  close_folder(&f->claims);
  return false;
}
