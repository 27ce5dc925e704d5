/* move_directory.c: moves a run out of a directory or into one, line by line of its journal.
 * Called by move.c through struct kind. */
#include "store/move.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "store/blob.h"
#include "store/directory.h"
#include "store/file.h"
#include "store/journal_read.h"
#include "store/journal_scan.h"
#include "store/lock.h"

enum { BATCH_MAX = 256 << 20 };

static bool rename_in(const struct sys *sys, const char *folder, const char *from, const char *to,
                      struct error *e) {
  char old[PATH_MAX], young[PATH_MAX];
  if (!file_path(old, folder, from, e) || !file_path(young, folder, to, e)) return false;
  int failed = sys->rename(sys, old, young);
  if (failed < 0) return error_system(e, -failed, "%s", old);
  return sys_sync_directory(sys, folder, e);
}

/* Removes what an earlier move out of this directory left. */
static void forget_moved(const struct sys *sys, const char *path) {
  char folder[PATH_MAX], segment[PATH_MAX];
  uint32_t i;
  if (!file_path(folder, path, "journal.moved", NULL) ||
      !journal_segments_highest(sys, folder, &i, NULL))
    return;
  for (; i > 0; i--)
    if (journal_segment_path(segment, folder, i, NULL)) sys->unlink(sys, segment);
  sys->rmdir(sys, folder);
}

/* 1: there is a folder of this name; 0: there is none; -1: that cannot be found out. */
static int is_there(const struct sys *sys, const char *path, const char *name, struct error *e) {
  char folder[PATH_MAX];
  struct sys_stat found;
  if (!file_path(folder, path, name, e)) return -1;
  int failed = sys->stat(sys, folder, &found);
  if (failed == -ENOENT || failed == -ENOTDIR) return 0;
  if (failed == 0) return 1;
  error_system(e, -failed, "%s", folder);
  return -1;
}

static bool departure_write(const struct sys *sys, const char *path,
                            const struct departure *departure, struct error *e) {
  char file[PATH_MAX], temporary[PATH_MAX], line[PATH_MAX + 80];
  if (!file_path(file, path, "journal.to", e) || !file_temporary(temporary, file, e)) return false;
  int length = snprintf(line, sizeof line, "%s %s\n", departure->run_id, departure->known_as);
  int fd = file_open(sys, temporary, O_WRONLY | O_CREAT | O_TRUNC, e);
  if (fd < 0) return false;
  bool good =
      sys_write_all(sys, fd, line, (size_t)length, file, e) && file_sync(sys, fd, false, file, e);
  sys->close(sys, fd);
  return good && rename_in(sys, path, "journal.to.new", "journal.to", e);
}

static bool departure_read(const struct sys *sys, const char *path, struct departure *to,
                           struct error *e) {
  char file[PATH_MAX];
  struct buffer text;
  if (!file_path(file, path, "journal.to", e)) return false;
  buffer_init(&text, sys, sizeof to->run_id + sizeof to->known_as);
  bool good = file_read(sys, file, &text, e);
  const char *line = text.data,
             *space = good && text.length ? memchr(line, ' ', text.length) : NULL;
  size_t id = space ? (size_t)(space - line) : 0;
  size_t rest = space ? text.length - id - 1 : 0;
  if (good && (id == 0 || id >= sizeof to->run_id || rest < 2 || line[text.length - 1] != '\n'))
    good = error_set(e, ERROR_CORRUPT, "%s: must hold the id of a run and where it went", file);
  if (good) {
    snprintf(to->run_id, sizeof to->run_id, "%.*s", (int)id, line);
    snprintf(to->known_as, sizeof to->known_as, "%.*s", (int)rest - 1, space + 1);
  }
  buffer_clear(&text);
  return good;
}

bool directory_departed(const struct sys *sys, const char *path, struct departure *to,
                        struct error *e) {
  static const char *const names[] = {"journal", "journal.leaving", "journal.moved"};
  struct error why = {0};
  int found = 0, i = 0;
  *to = (struct departure){.ended = false};
  while (i < 3 && (found = is_there(sys, path, names[i], e)) == 0)
    i++;
  if (found < 0) return false;
  if (i == 0 || i == 3) return true;
  to->ended = i == 2;
  if (departure_read(sys, path, to, &why)) return true;
  if (to->ended && why.code == ERROR_MISSING) return true; /* forgotten */
  if (e) *e = why;
  return false;
}

/* Where a run went from here does not count any more: one is about to arrive. */
static bool departure_forget(const struct sys *sys, const char *path, struct error *e) {
  char file[PATH_MAX];
  if (!file_path(file, path, "journal.to", e)) return false;
  int failed = sys->unlink(sys, file);
  if (failed == -ENOENT) return true;
  if (failed < 0) return error_system(e, -failed, "%s", file);
  return sys_sync_directory(sys, path, e);
}

bool directory_may_hold(const struct sys *sys, const char *path, struct error *e) {
  int leaving = is_there(sys, path, "journal.leaving", e);
  if (leaving > 0)
    error_set(e, ERROR_EXISTS, "%s: a run is leaving it; finish that move first", path);
  return leaving == 0;
}

bool directory_leave(const struct sys *sys, const char *path, enum leaving leaving,
                     const struct departure *departure, struct error *e) {
  static const char *const from[] = {"journal.leaving", "journal", "journal.leaving"};
  static const char *const to[] = {"journal", "journal.leaving", "journal.moved"};
  char file[PATH_MAX];
  int there = is_there(sys, path, from[leaving], e);
  if (there == 0) error_set(e, ERROR_MISSING, "%s/%s: is not there", path, from[leaving]);
  if (there <= 0) return false;
  int lock = lock_take(sys, path, e);
  if (lock < 0) return false;
  if (leaving == LEAVING_ENDED) forget_moved(sys, path);
  bool good = (leaving != LEAVING_NOW || departure_write(sys, path, departure, e)) &&
              rename_in(sys, path, from[leaving], to[leaving], e);
  if (good && leaving == LEAVING_NOT && file_path(file, path, "journal.to", NULL))
    sys->unlink(sys, file);
  lock_release(sys, lock);
  return good;
}

/* ---- away ---- */

static bool send_segment(struct journal_reader *r, struct bundle *bundle, struct buffer *lines,
                         struct receiver *to, struct error *e) {
  struct journal_line line;
  enum journal_found found;
  while ((found = journal_reader_next(r, &line, e)) == JOURNAL_LINE) {
    if (!buffer_append(lines, line.payload.data - JOURNAL_HEAD, line.payload.length + JOURNAL_FRAME,
                       e))
      return false;
    bundle->records += !journal_own(line.payload);
    bundle->seq = line.seq;
    bundle->batch = line.batch;
    if (line.mark != JOURNAL_LAST) continue;
    bundle->lines = buffer_span(lines);
    if (!to->bundle(to, bundle, e)) return false;
    buffer_reset(lines);
  }
  return found == JOURNAL_END || found == JOURNAL_BAD;
}

bool directory_send(const struct sys *sys, const char *path, struct receiver *to, struct error *e) {
  static const struct journal_look look = {.rule = JOURNAL_TORN};
  char folder[PATH_MAX], segment[PATH_MAX];
  struct journal_end end;
  struct buffer lines;
  struct bundle bundle = {.seq = 0};
  if (!file_path(folder, path, "journal.leaving", e) || !journal_scan(sys, folder, &look, &end, e))
    return false;
  bool good = true;
  buffer_init(&lines, sys, BATCH_MAX);
  for (uint32_t i = 1; good && i <= end.segment; i++) {
    struct journal_reader reader;
    bundle.segment = i;
    good = journal_segment_path(segment, folder, i, e) &&
           journal_reader_open(&reader, sys, segment, i == end.segment ? end.offset : -1, e);
    if (!good) break;
    good = send_segment(&reader, &bundle, &lines, to, e);
    journal_reader_close(&reader);
  }
  buffer_clear(&lines);
  return good;
}

/* ---- here ---- */

struct arrival_folder {
  struct receiver receiver; /* first: a receiver is cast to this */
  const struct sys *sys;
  int lock, fd;
  uint32_t segment;
  char path[PATH_MAX], folder[PATH_MAX], file[PATH_MAX]; /* the run, "journal.new", a segment */
};

/* Finishes the current segment: makes it durable and gives it its name. */
static bool end_segment(struct arrival_folder *a, struct error *e) {
  if (a->fd < 0) return true;
  bool good = file_sync(a->sys, a->fd, false, a->file, e);
  a->sys->close(a->sys, a->fd);
  a->fd = -1;
  return good;
}

static bool take_bundle(struct receiver *receiver, const struct bundle *bundle, struct error *e) {
  struct arrival_folder *a = (struct arrival_folder *)receiver;
  if (bundle->segment != a->segment) {
    if (!end_segment(a, e) || !journal_segment_path(a->file, a->folder, bundle->segment, e))
      return false;
    a->fd = file_open(a->sys, a->file, O_WRONLY | O_CREAT | O_TRUNC, e);
    if (a->fd < 0) return false;
    a->segment = bundle->segment;
  }
  return sys_write_all(a->sys, a->fd, bundle->lines.data, bundle->lines.length, a->file, e);
}

static bool take_blob(struct receiver *receiver, const char *digest, struct span value,
                      struct error *e) {
  struct arrival_folder *a = (struct arrival_folder *)receiver;
  return blob_put(a->sys, a->path, digest, value, true, e);
}

static bool take_end(struct receiver *receiver, struct error *e) {
  struct arrival_folder *a = (struct arrival_folder *)receiver;
  return end_segment(a, e) && sys_sync_directory(a->sys, a->folder, e) &&
         rename_in(a->sys, a->path, "journal.new", "journal", e);
}

static void take_close(struct receiver *receiver) {
  struct arrival_folder *a = (struct arrival_folder *)receiver;
  if (a->fd >= 0) a->sys->close(a->sys, a->fd);
  for (uint32_t i = a->segment; i > 0; i--) /* where it failed */
    if (journal_segment_path(a->file, a->folder, i, NULL)) a->sys->unlink(a->sys, a->file);
  a->sys->rmdir(a->sys, a->folder);
  lock_release(a->sys, a->lock);
  sys_free(a->sys, a, sizeof *a);
}

bool directory_receive(const struct sys *sys, const char *path, const char *run_id,
                       struct receiver **to, struct error *e) {
  (void)run_id; /* its lines say it */
  if (directory_exists(sys, path))
    return error_set(e, ERROR_EXISTS, "%s: holds a run already; choose another directory", path);
  if (!directory_may_hold(sys, path, e)) return false;
  struct arrival_folder *a = sys_alloc(sys, sizeof *a);
  if (!a) return error_set(e, ERROR_MEMORY, "%s: out of memory", path);
  *a = (struct arrival_folder){
      .receiver = {take_bundle, take_blob, take_end, take_close}, .sys = sys, .lock = -1, .fd = -1};
  bool good = file_path(a->folder, path, "journal.new", e);
  if (good) strcpy(a->path, path);
  good = good && file_make_folders(sys, path, true, e) &&
         (a->lock = lock_take(sys, path, e)) >= 0 && departure_forget(sys, path, e) &&
         file_make_folders(sys, a->folder, true, e);
  if (!good) {
    take_close(&a->receiver);
    return false;
  }
  *to = &a->receiver;
  return true;
}
