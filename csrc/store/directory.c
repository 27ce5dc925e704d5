/* directory.c: a run in a directory: opens, recovers and closes it, and is its struct store.
 * Leaves lines, digests and lock files to journal*, view, blob, lock and cut.
 * Called by store.c. */
#include "store/directory.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "store/blob.h"
#include "store/claim.h"
#include "store/cut.h"
#include "store/file.h"
#include "store/journal.h"
#include "store/journal_index.h"
#include "store/lock.h"
#include "store/move.h"
#include "store/view.h"
#include "store/watch.h"

struct directory {
  struct store store; /* first: a store is cast to this */
  const struct sys *sys;
  char *path, *folder; /* the run, and its journal/ */
  size_t path_size, folder_size;
  enum durability durability;
  int lock;
  struct sys_stat locked;  /* which file that is */
  struct journal *journal; /* NULL where it is only read */
  struct journal_end end;  /* then: where it ended when it was opened */
  struct journal_index index;
  char digest[65];     /* of the state.json last written */
  struct watch *inbox; /* NULL: nobody listens */
  bool is_submitted;   /* others are to perform it */
};

static const struct journal_end *directory_end(const struct directory *d) {
  return d->journal ? journal_where(d->journal) : &d->end;
}

/* Whether the run may be written to by this store, now. */
static bool directory_held(struct directory *d, struct error *e) {
  struct error why = {0};
  if (lock_kept(d->sys, &d->locked, d->path, &why)) return journal_held(d->journal, e);
  journal_abandon(d->journal, &why);
  if (e) *e = why;
  return false;
}

static bool directory_only_read(const struct directory *d, struct error *e) {
  return error_set(e, ERROR_INVALID, "%s: was opened for reading only", d->path);
}

static bool directory_read(struct store *store, uint64_t from,
                           bool (*each)(void *, const struct record *, struct error *), void *data,
                           struct error *e) {
  struct directory *d = (struct directory *)store;
  return journal_replay(d->sys, d->folder, &d->index, directory_end(d), from, each, data, e);
}

static bool directory_record(struct store *store, uint64_t seq, struct buffer *to,
                             struct error *e) {
  struct directory *d = (struct directory *)store;
  return journal_index_read(&d->index, d->sys, d->folder, directory_end(d), seq, to, e);
}

static bool directory_append(struct store *store, const struct batch *batch, enum append kind,
                             struct error *e) {
  struct directory *d = (struct directory *)store;
  struct span value;
  char digest[65];
  if (!d->journal) return directory_only_read(d, e);
  if (!directory_held(d, e)) return false;
  for (size_t at = 0; batch_next_blob(batch, &at, digest, &value);)
    if (!blob_put(d->sys, d->path, digest, value, d->durability == DURABILITY_POWER, e))
      return false;
  return journal_append(d->journal, batch, kind, e);
}

static bool directory_sync(struct store *store, struct error *e) {
  struct directory *d = (struct directory *)store;
  return d->journal ? journal_sync(d->journal, e) : true;
}

static bool directory_blob_get(struct store *store, const char *digest, struct buffer *to,
                               struct error *e) {
  struct directory *d = (struct directory *)store;
  return blob_get(d->sys, d->path, digest, to, e);
}

static bool directory_view(struct store *store, const char *name, struct span content,
                           struct error *e) {
  struct directory *d = (struct directory *)store;
  struct error why = {0};
  if (!d->journal) return directory_only_read(d, e);
  if (directory_held(d, &why) && view_write(d->sys, d->path, name, content, d->digest, &why))
    return true;
  if (e) *e = why;
  return false;
}

static bool directory_listen(struct store *store, struct uv_loop_s *loop, void (*changed)(void *),
                             void *data, struct error *e) {
  struct directory *d = (struct directory *)store;
  char path[PATH_MAX];
  if (!file_path(path, d->path, "inbox", e)) return false;
  int failed = d->sys->mkdir(d->sys, path, 0700);
  if (failed < 0 && failed != -EEXIST) return error_system(e, -failed, "%s", path);
  return watch_open(d->sys, loop, path, changed, data, &d->inbox, e);
}

static uint64_t directory_seq(const struct store *store) {
  return directory_end((const struct directory *)store)->seq;
}

static uint64_t directory_bytes(const struct store *store) {
  const struct directory *d = (const struct directory *)store;
  return d->journal ? journal_bytes(d->journal) : 0;
}

static uint64_t directory_syncs(const struct store *store) {
  const struct directory *d = (const struct directory *)store;
  return d->journal ? journal_syncs(d->journal) : 0;
}

static void directory_close(struct store *store) {
  struct directory *d = (struct directory *)store;
  watch_close(&d->inbox);
  if (d->journal) directory_held(d, NULL);
  journal_close(d->journal);
  if (d->is_submitted) directory_wake(d->sys, d->path, NULL);
  journal_index_clear(&d->index);
  lock_release(d->sys, d->lock);
  sys_free(d->sys, d->path, d->path_size);
  sys_free(d->sys, d->folder, d->folder_size);
  sys_free(d->sys, d, sizeof *d);
}

static const struct store_ops directory_ops = {
    .read = directory_read,
    .record = directory_record,
    .append = directory_append,
    .sync = directory_sync,
    .blob_get = directory_blob_get,
    .view = directory_view,
    .listen = directory_listen,
    .seq = directory_seq,
    .bytes = directory_bytes,
    .syncs = directory_syncs,
    .close = directory_close,
};

static struct directory *directory_new(const struct sys *sys, const char *path, struct error *e) {
  char folder[PATH_MAX];
  if (!file_path(folder, path, "journal", e)) return NULL;
  struct directory *d = sys_alloc(sys, sizeof *d);
  if (d) {
    d->store.ops = &directory_ops;
    d->sys = sys;
    d->lock = -1;
    journal_index_init(&d->index, sys);
    d->path_size = strlen(path) + 1;
    d->folder_size = strlen(folder) + 1;
    d->path = sys_alloc(sys, d->path_size);
    d->folder = sys_alloc(sys, d->folder_size);
  }
  if (d && d->path && d->folder) {
    memcpy(d->path, path, d->path_size);
    memcpy(d->folder, folder, d->folder_size);
    return d;
  }
  if (d) directory_close(&d->store);
  error_set(e, ERROR_MEMORY, "%s: out of memory", path);
  return NULL;
}

/* ERROR_EXISTS where the directory holds a run. A process that died before it wrote the first
 * payload left no run: it has not reported one. */
static bool directory_vacant(struct directory *d, uint32_t *segments, struct error *e) {
  static const struct journal_look whole = {.rule = JOURNAL_TORN};
  struct journal_end end;
  if (!directory_may_hold(d->sys, d->path, e) || !journal_segments(d->sys, d->folder, segments, e))
    return false;
  if (*segments == 0) return true;
  if (journal_scan(d->sys, d->folder, &whole, &end, NULL) && end.records == 0) return true;
  return error_set(e, ERROR_EXISTS,
                   "%s: holds a run already; resume it or choose another directory", d->path);
}

/* A directory may hold other files, but no state.json, because the run would overwrite it. */
static bool directory_spares(struct directory *d, struct error *e) {
  struct view_state view;
  if (!view_check(d->sys, d->path, &view, e)) return false;
  if (!view.foreign) return true;
  return error_set(e, ERROR_INVALID,
                   "%s/state.json: was not written by a run, and would be replaced; "
                   "choose another directory",
                   d->path);
}

/* Removes the files of such a dead creation, except the first segment, which will be replaced. */
static bool directory_clear(struct directory *d, uint32_t segments, struct error *e) {
  char path[PATH_MAX];
  for (; segments > 1; segments--) {
    if (!journal_segment_path(path, d->folder, segments, e)) return false;
    int failed = d->sys->unlink(d->sys, path);
    if (failed < 0) return error_system(e, -failed, "%s", path);
  }
  return true;
}

static bool directory_lock(struct directory *d, struct error *e) {
  d->lock = lock_take(d->sys, d->path, e);
  if (d->lock < 0) return false;
  int failed = d->sys->fstat(d->sys, d->lock, &d->locked);
  return failed == 0 || error_system(e, -failed, "%s/run.lock", d->path);
}

/* Names us to people; the boot of before stays, until all is in order. */
static void directory_name(const struct directory *d) {
  char boot[SYS_BOOT];
  lock_boot(d->sys, d->lock, boot);
  lock_sign(d->sys, d->lock, getpid(), boot);
}

/* From here on, the whole journal was written or checked in this boot of the machine. */
static void directory_sign(const struct directory *d) {
  char boot[SYS_BOOT];
  if (d->sys->boot(d->sys, boot) < 0) boot[0] = '\0';
  lock_sign(d->sys, d->lock, getpid(), boot);
}

static bool directory_create(struct directory *d, const struct store_options *o, struct error *e) {
  bool power = o->durability == DURABILITY_POWER;
  struct journal_options options = {.folder = d->folder,
                                    .run_id = o->run_id,
                                    .durability = o->durability,
                                    .segment_bytes = o->segment_bytes,
                                    .index = &d->index};
  if (!journal_run_id_valid(o->run_id))
    return error_set(e, ERROR_INVALID, "run id \"%.80s\": 1 to 64 of A-Z a-z 0-9 . _ -",
                     o->run_id ? o->run_id : "");
  uint32_t segments;
  if (!directory_vacant(d, &segments, e) || !file_make_folders(d->sys, d->path, power, e) ||
      !directory_spares(d, e))
    return false;
  if (!directory_lock(d, e) || !directory_vacant(d, &segments, e))
    return false; /* another process was faster */
  directory_name(d);
  if (o->label && !directory_label_ahead(d->sys, d->path, o->label, e)) return false;
  d->is_submitted = o->mode == STORE_SUBMIT;
  if (!file_make_folders(d->sys, d->folder, power, e) || !directory_clear(d, segments, e) ||
      !journal_open(d->sys, &options, &d->end, &d->journal, e))
    return false;
  directory_sign(d); /* what a dead creation left is replaced */
  return true;
}

/* Compares state.json with the journal. */
static bool directory_view_check(struct directory *d, const struct view_state *view,
                                 const struct store_options *o, struct store_report *report,
                                 struct error *e) {
  /* A torn state.json is treated as a missing one: it can be rebuilt from the journal. */
  report->view_missing = view->missing || view->torn;
  report->view_stale = report->view_missing || (!view->edited && view->seq < d->end.payload);
  if (report->view_missing) return true;
  report->view_edited = view->edited;
  report->view_seq = view->seq;
  if (view->edited && !o->accept_edits)
    return error_set(e, ERROR_EDITED,
                     "%s/state.json: was changed by hand; accept the change with --accept-edits, "
                     "or remove the file to have it written again from the journal",
                     d->path);
  if (!view->edited && view->seq > d->end.seq)
    return error_set(e, ERROR_CORRUPT,
                     "%s/state.json: shows record %" PRIu64
                     ", but the journal ends at offset %" PRId64 ", record %" PRIu64
                     " of segment %" PRIu32 "; nothing was changed; put the whole journal back, "
                     "or remove state.json to resume from the journal",
                     d->path, view->seq, d->end.offset, d->end.seq, d->end.segment);
  return true;
}

/* Which kinds of damage at the end are accepted: if the machine was not rebooted since, and the
 * file system is local, only a short last record, which a kill leaves. */
static enum journal_rule directory_rule(const struct directory *d, const struct store_options *o) {
  char then[SYS_BOOT] = "", now[SYS_BOOT] = "";
  if (o->cut) return JOURNAL_CUT;
  int fd = d->lock >= 0 ? d->lock : lock_look(d->sys, d->path, NULL);
  if (fd >= 0 && d->sys->is_local(d->sys, fd) == 1) lock_boot(d->sys, fd, then);
  if (fd >= 0 && fd != d->lock) d->sys->close(d->sys, fd);
  bool known = then[0] && d->sys->boot(d->sys, now) == 0;
  return known && strcmp(then, now) == 0 ? JOURNAL_SHORT : JOURNAL_TORN;
}

/* Reads everything and changes nothing. Reads the view first: if the run continues meanwhile, the
 * journal can only be newer than the view, never older. */
static bool directory_inspect(struct directory *d, const struct store_options *o,
                              struct store_report *report, struct error *e) {
  struct view_state view;
  uint32_t count;
  struct journal_look look = {.rule = directory_rule(d, o),
                              .tail = o->mode == STORE_READ && !o->whole,
                              .ending = o->ending,
                              .index = &d->index};
  if (!view_check(d->sys, d->path, &view, e)) return false;
  if (!o->cut && !journal_segments(d->sys, d->folder, &count, e)) return false;
  if (!o->cut && count == 0) return error_set(e, ERROR_MISSING, "%s: contains no run", d->path);
  if (!journal_scan(d->sys, d->folder, &look, &d->end, e)) return false;
  memcpy(report->run_id, d->end.run_id, sizeof report->run_id);
  report->records = d->end.records;
  report->last = d->end.seq;
  report->payload = d->end.payload;
  report->newest = d->end.newest;
  report->unclean = !d->end.closed || d->end.offset < d->end.size;
  report->cut_doubtful = look.rule != JOURNAL_SHORT;
  return directory_view_check(d, &view, o, report, o->cut ? NULL : e) || o->cut;
}

/* Moves the damaged tail aside. The lock is signed with this boot only after that, so a signed lock
 * means that the journal was whole. */
static bool directory_cut(struct directory *d, bool power, bool all, struct store_report *report,
                          struct error *e) {
  char segment[PATH_MAX];
  int64_t offset = d->end.offset, size = d->end.size;
  if (all && !cut_later(d->sys, d->path, d->folder, d->end.segment, power, &report->cut_bytes, e))
    return false;
  if (offset < size) {
    if (!journal_segment_path(segment, d->folder, d->end.segment, e) ||
        !cut_tail(d->sys, d->path, segment, offset, size, power, report->cut_file, e))
      return false;
    report->cut_bytes += (uint64_t)(size - offset);
    d->end.size = offset;
  }
  if (report->cut_bytes == 0) report->cut_doubtful = false;
  return true;
}

/* Repairs the journal after an unclean stop, and opens it for writing. */
static bool directory_recover(struct directory *d, const struct store_options *o,
                              struct store_report *report, struct error *e) {
  bool power = o->durability == DURABILITY_POWER, torn = d->end.offset < d->end.size;
  struct journal_options options = {.folder = d->folder,
                                    .run_id = d->end.run_id,
                                    .durability = o->durability,
                                    .segment_bytes = o->segment_bytes,
                                    .index = &d->index,
                                    .seal = report->unclean && (torn || !d->end.bare)};
  if (power && !(file_sync_parent(d->sys, d->path, e) && sys_sync_directory(d->sys, d->path, e)))
    return false;
  if (!directory_cut(d, power, o->cut, report, e)) return false;
  directory_sign(d);
  view_sweep(d->sys, d->path);
  return journal_open(d->sys, &options, &d->end, &d->journal, e);
}

static bool directory_resume(struct directory *d, const struct store_options *o,
                             struct store_report *report, struct error *e) {
  uint32_t count = 0;
  /* Asked before the lock is taken, so that no lock file is made where there is no run. */
  if (!(o->cut ? journal_segments_in_row : journal_segments)(d->sys, d->folder, &count, e))
    return false;
  if (count == 0) return error_set(e, ERROR_MISSING, "%s: contains no run", d->path);
  if (!directory_lock(d, e) || !directory_inspect(d, o, report, e)) return false;
  directory_name(d);
  return directory_recover(d, o, report, e);
}

bool directory_open(const struct sys *sys, const char *path, const struct store_options *o,
                    struct store **store, struct store_report *report, struct error *e) {
  struct directory *d = directory_new(sys, path, e);
  if (!d) return false;
  d->durability = o->durability;
  bool good = file_is_folder(sys, path, "journal", e) && file_is_folder(sys, path, "blobs", e);
  bool is_new = o->mode == STORE_CREATE || o->mode == STORE_SUBMIT;
  good = good && (is_new                    ? directory_create(d, o, e)
                  : o->mode == STORE_RESUME ? directory_resume(d, o, report, e)
                                            : directory_inspect(d, o, report, e));
  if (!good) {
    directory_close(&d->store);
    return false;
  }
  if (o->mode == STORE_READ) report->cut_doubtful = false;
  if (is_new) {
    memcpy(report->run_id, directory_end(d)->run_id, sizeof report->run_id);
    report->view_missing = true;
  }
  *store = &d->store;
  return true;
}

void directory_salvage(const struct sys *sys, const char *path,
                       bool (*each)(void *data, const struct record *, struct error *),
                       void *data) {
  char folder[PATH_MAX];
  uint32_t count;
  /* The error was reported by directory_open. */
  if (!file_path(folder, path, "journal", NULL)) return;
  journal_segments(sys, folder, &count, NULL);
  struct journal_end beyond = {.segment = count, .offset = INT64_MAX};
  journal_replay(sys, folder, NULL, &beyond, 0, each, data, NULL);
}

bool directory_holder(const struct sys *sys, const char *path, char line[STORE_HOLDER]) {
  return lock_held(sys, path, line, STORE_HOLDER);
}

bool directory_exists(const struct sys *sys, const char *path) {
  char folder[PATH_MAX];
  struct sys_stat found;
  return file_path(folder, path, "journal", NULL) && sys->stat(sys, folder, &found) == 0 &&
         found.kind == SYS_DIRECTORY;
}

bool directory_watch(const struct sys *sys, const char *path, struct uv_loop_s *loop,
                     void (*changed)(void *), void *data, struct watch **watch, struct error *e) {
  char folder[PATH_MAX];
  return file_path(folder, path, "journal", e) &&
         watch_open(sys, loop, folder, changed, data, watch, e);
}

bool directory_watch_runs(const struct sys *sys, const char *path, struct uv_loop_s *loop,
                          void (*changed)(void *), void *data, struct watch **watch,
                          struct error *e) {
  return watch_runs_open(sys, loop, path, changed, data, watch, e);
}
