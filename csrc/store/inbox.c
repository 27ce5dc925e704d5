/* inbox.c: the inbox of a run in a directory: "<run>/inbox" has a file for each arrival, renamed
 * into place when it is whole. Files that cannot be used are moved to "inbox/refused".
 *
 * People put files there by hand, too. Must not know what an arrival says. Called by store.c. */
#include "store/inbox.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/below.h"
#include "store/file.h"

enum { ROWS_MAX = 64 << 20 };

/* A file of the last look. */
struct row {
  char name[NAME_MAX + 1];
  bool taken;
};

struct turn {
  int64_t came;
  size_t row;
};

struct folder {
  struct inbox inbox; /* first: an inbox is cast to this */
  const struct sys *sys;
  char *path; /* the run */
  size_t path_size;
  struct buffer rows;  /* struct row, by name */
  struct buffer turns; /* struct turn: the arrivals to give, oldest first */
  size_t given;        /* how many of them were given */
  struct buffer text;
  struct error problem;
};

static struct row *row_at(const struct buffer *rows, size_t index) {
  return (struct row *)(void *)rows->data + index;
}

static size_t row_count(const struct buffer *rows) {
  return rows->length / sizeof(struct row);
}

static int by_name(const void *a, const void *b) {
  return strcmp(((const struct row *)a)->name, ((const struct row *)b)->name);
}

static struct row *row_find(const struct buffer *rows, const char *name) {
  struct row key = {.taken = false};
  if (rows->length == 0 || strlen(name) > NAME_MAX) return NULL;
  strcpy(key.name, name);
  return bsearch(&key, rows->data, row_count(rows), sizeof key, by_name);
}

/* "<run>/inbox/<name>" into `to`, which has room for PATH_MAX bytes. */
static bool folder_path(const struct folder *f, const char *under, const char *name, char *to,
                        struct error *e) {
  char part[NAME_MAX + 32];
  if (strchr(name, '/') || strlen(name) > NAME_MAX)
    return error_set(e, ERROR_INVALID, "%s: no arrival is called \"%.80s\"", f->path, name);
  snprintf(part, sizeof part, "%s%s", under, name);
  return file_path(to, f->path, part, e);
}

/* ---- put ---- */

/* A file name from the key: unfit characters are replaced, and a part unique to this process added.
 */
static bool name_make(const struct sys *sys, const char *key, char *to, struct error *e) {
  uint32_t random;
  int failed = sys->random(sys, &random, sizeof random);
  if (failed < 0) return error_system(e, -failed, "inbox: no random number");
  size_t length = key ? strnlen(key, 100) : 0;
  for (size_t i = 0; i < length; i++) {
    unsigned char c = (unsigned char)key[i];
    bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    to[i] = plain || c == '-' || c == '_' ? key[i] : '_';
  }
  snprintf(to + length, ARRIVAL_NAME - length, "%s%08x.json", length ? "-" : "", random);
  return true;
}

static bool folder_put(struct inbox *inbox, const char *key, struct span text, bool durable,
                       char name[ARRIVAL_NAME], struct error *e) {
  struct folder *f = (struct folder *)inbox;
  char part[ARRIVAL_NAME + 8];
  if (!name_make(f->sys, key, name, e)) return false;
  snprintf(part, sizeof part, "inbox/%s", name);
  return below_replace(f->sys, f->path, part, text, 0600, durable, e);
}

/* ---- take ---- */

struct names {
  struct buffer *rows;
  size_t count;
  struct error error;
};

/* Files that begin with a dot or end otherwise are still being written. */
static bool is_arrival(const char *name, enum sys_kind kind) {
  size_t length = strlen(name);
  return kind != SYS_DIRECTORY && name[0] != '.' && length > 5 && length <= NAME_MAX &&
         strcmp(name + length - 5, ".json") == 0;
}

static bool list_one(void *data, const char *name, enum sys_kind kind) {
  struct names *listing = data;
  struct row row = {.taken = false};
  if (!is_arrival(name, kind)) return true;
  listing->count++;
  if (!listing->rows) return true;
  strcpy(row.name, name);
  return buffer_append(listing->rows, &row, sizeof row, &listing->error);
}

/* A missing inbox counts as an empty one. */
static bool folder_list(const struct folder *f, struct names *listing, struct error *e) {
  char path[PATH_MAX];
  if (!file_path(path, f->path, "inbox", e)) return false;
  int failed = f->sys->list(f->sys, path, list_one, listing);
  if (listing->error.code) {
    if (e) *e = listing->error;
    return false;
  }
  return failed == 0 || failed == -ENOENT || error_system(e, -failed, "%s", path);
}

static int by_turn(const void *a, const void *b) {
  const struct turn *one = a, *other = b;
  if (one->came != other->came) return one->came < other->came ? -1 : 1;
  return one->row < other->row ? -1 : one->row > other->row;
}

static bool turn_add(struct folder *f, const struct buffer *rows, size_t index, struct error *e) {
  struct turn turn = {.row = index};
  struct sys_stat found;
  char path[PATH_MAX];
  if (!folder_path(f, "inbox/", row_at(rows, index)->name, path, e)) return false;
  if (f->sys->stat(f->sys, path, &found) == 0) turn.came = found.mtime_ns / 1000000;
  return buffer_append(&f->turns, &turn, sizeof turn, e);
}

/* Reads the folder again. An arrival that was given before and is still there is not given again.
 */
static bool folder_look(struct folder *f, struct error *e) {
  struct buffer rows;
  struct names listing = {.rows = &rows};
  buffer_init(&rows, f->sys, ROWS_MAX);
  bool good = folder_list(f, &listing, e);
  size_t count = row_count(&rows);
  if (count) qsort(rows.data, count, sizeof(struct row), by_name);
  buffer_reset(&f->turns);
  for (size_t i = 0; good && i < count; i++) {
    const struct row *before = row_find(&f->rows, row_at(&rows, i)->name);
    row_at(&rows, i)->taken = before && before->taken;
    if (!before || !before->taken) good = turn_add(f, &rows, i, e);
  }
  if (!good) {
    buffer_reset(&f->turns);
    buffer_clear(&rows);
    return false;
  }
  buffer_clear(&f->rows);
  f->rows = rows;
  if (f->turns.length)
    qsort(f->turns.data, f->turns.length / sizeof(struct turn), sizeof(struct turn), by_turn);
  return true;
}

/* Reads the arrival of a row; false where its file was removed meanwhile. */
static bool folder_read(struct folder *f, struct row *row, struct arrival *to) {
  char part[NAME_MAX + 8];
  error_clear(&f->problem);
  buffer_reset(&f->text);
  snprintf(part, sizeof part, "inbox/%s", row->name);
  if (below_read(f->sys, f->path, part, &f->text, &f->problem))
    to->text = (struct span){f->text.data ? f->text.data : "", f->text.length};
  else
    to->problem = f->problem.text;
  to->name = row->name;
  to->again = f->problem.code == ERROR_SYSTEM || f->problem.code == ERROR_MEMORY;
  row->taken = !to->again;
  return f->problem.code != ERROR_MISSING;
}

static bool folder_take(struct inbox *inbox, struct arrival *to, struct error *e) {
  struct folder *f = (struct folder *)inbox;
  if (f->given == 0 && !folder_look(f, e)) return false;
  const struct turn *turns = (const struct turn *)(void *)f->turns.data;
  while (f->given < f->turns.length / sizeof *turns) {
    const struct turn *turn = &turns[f->given++];
    *to = (struct arrival){.came = turn->came};
    if (folder_read(f, row_at(&f->rows, turn->row), to)) return true;
  }
  *to = (struct arrival){.name = NULL};
  f->given = 0;
  return true;
}

/* ---- what becomes of it ---- */

static bool folder_acknowledge(struct inbox *inbox, const char *name, struct error *e) {
  struct folder *f = (struct folder *)inbox;
  char path[PATH_MAX];
  if (!folder_path(f, "inbox/", name, path, e)) return false;
  struct row *row = row_find(&f->rows, name);
  if (row) row->taken = false; /* another arrival may get the same name */
  int failed = f->sys->unlink(f->sys, path);
  return failed == 0 || failed == -ENOENT || error_system(e, -failed, "%s", path);
}

static bool folder_refuse(struct inbox *inbox, const char *name, struct error *e) {
  struct folder *f = (struct folder *)inbox;
  char from[PATH_MAX], to[PATH_MAX];
  if (!folder_path(f, "inbox/", name, from, e) || !folder_path(f, "inbox/", "refused", to, e))
    return false;
  int failed = f->sys->mkdir(f->sys, to, 0700);
  if (failed < 0 && failed != -EEXIST) return error_system(e, -failed, "%s", to);
  if (!folder_path(f, "inbox/refused/", name, to, e)) return false;
  failed = f->sys->rename(f->sys, from, to);
  return failed == 0 || error_system(e, -failed, "%s", to);
}

static bool folder_fate(struct inbox *inbox, const char *name, enum arrival_fate *fate,
                        struct error *e) {
  struct folder *f = (struct folder *)inbox;
  char waits[PATH_MAX], refused[PATH_MAX];
  struct sys_stat found;
  if (!folder_path(f, "inbox/", name, waits, e) ||
      !folder_path(f, "inbox/refused/", name, refused, e))
    return false;
  *fate = ARRIVAL_WAITS;
  int failed = f->sys->stat(f->sys, waits, &found);
  if (failed == -ENOENT) {
    *fate = ARRIVAL_REFUSED;
    failed = f->sys->stat(f->sys, refused, &found);
  }
  if (failed == -ENOENT) *fate = ARRIVAL_TAKEN;
  return failed == 0 || failed == -ENOENT || error_system(e, -failed, "%s", waits);
}

static bool folder_waiting(struct inbox *inbox, size_t *count, struct error *e) {
  struct names listing = {.rows = NULL};
  bool good = folder_list((struct folder *)inbox, &listing, e);
  *count = listing.count;
  return good;
}

static void folder_close(struct inbox *inbox) {
  struct folder *f = (struct folder *)inbox;
  buffer_clear(&f->rows);
  buffer_clear(&f->turns);
  buffer_clear(&f->text);
  sys_free(f->sys, f->path, f->path_size);
  sys_free(f->sys, f, sizeof *f);
}

static const struct inbox_ops folder_ops = {
    .put = folder_put,
    .take = folder_take,
    .acknowledge = folder_acknowledge,
    .refuse = folder_refuse,
    .fate = folder_fate,
    .waiting = folder_waiting,
    .close = folder_close,
};

bool directory_inbox(const struct sys *sys, const char *path, struct inbox **inbox,
                     struct error *e) {
  struct folder *f = sys_alloc(sys, sizeof *f);
  size_t size = strlen(path) + 1;
  char *copy = sys_alloc(sys, size);
  if (!f || !copy) {
    if (f) sys_free(sys, f, sizeof *f);
    if (copy) sys_free(sys, copy, size);
    return error_set(e, ERROR_MEMORY, "%s: out of memory", path);
  }
  memcpy(copy, path, size);
  *f = (struct folder){.inbox = {&folder_ops}, .sys = sys, .path = copy, .path_size = size};
  buffer_init(&f->rows, sys, ROWS_MAX);
  buffer_init(&f->turns, sys, ROWS_MAX);
  buffer_init(&f->text, sys, ARRIVAL_MAX);
  *inbox = &f->inbox;
  return true;
}
