/* journal.c: appends batches to the last segment and begins new segments.
 * Does not look into payloads, and writes a batch only after the previous one was synced.
 * Called by directory.c. */
#include "store/journal.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "store/file.h"
#include "store/journal_index.h"
#include "store/journal_lines.h"
#include "store/reserve.h"

enum { SEGMENT_BYTES = 64 << 20, BATCH_MAX = 256 << 20, BATCH_KEPT = 256 << 10 };

struct journal {
  const struct sys *sys;
  char *folder, *object; /* the segment's path, for messages */
  size_t folder_size, object_size;
  enum durability durability;
  uint64_t segment_bytes;
  int fd;
  struct sys_stat file;   /* which one it is */
  struct journal_end end; /* its header is that of the last batch */
  struct reserve reserve;
  struct journal_index *index;
  struct buffer out; /* a batch's lines; its memory is reused */
  bool synced;       /* what was appended last is durable */
  bool failed;       /* refuses all batches except last words */
  bool spent;        /* they were written */
  bool broken;       /* the disk's content is unknown, so the file must not be changed */
  struct error why;  /* of `failed` */
  uint64_t bytes, syncs;
};

/* Remembers the first failure; every later call repeats it. */
static bool journal_fail(struct journal *j, bool broken, const struct error *why, struct error *e) {
  if (!j->failed) j->why = *why;
  j->failed = true;
  j->broken = j->broken || broken;
  if (e) *e = j->why;
  return false;
}

/* Which file a descriptor is of: by that another one in its place is found. */
static bool journal_identify(const struct sys *sys, int fd, const char *path, struct sys_stat *file,
                             struct error *e) {
  int failed = sys->fstat(sys, fd, file);
  return failed == 0 || error_system(e, -failed, "%s", path);
}

/* Makes a new segment: writes and syncs it under another name first, so that each file that ends in
 * .sj has a good first line. `*named`: it has its name, even where a later part failed. */
static int journal_segment_make(struct journal *j, const char *path, struct reserve *reserve,
                                struct sys_stat *file, bool *named, struct error *e) {
  const struct sys *sys = j->sys;
  char temporary[PATH_MAX];
  bool power = j->durability == DURABILITY_POWER;
  *named = false;
  if (!file_temporary(temporary, path, e)) return -1;
  int fd = file_open(sys, temporary, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, e);
  if (fd < 0) return -1;
  if (journal_identify(sys, fd, path, file, e) &&
      reserve_ensure(reserve, sys, fd, j->folder, 0, (int64_t)j->out.length, path, e) &&
      sys_write_all(sys, fd, j->out.data, j->out.length, path, e) &&
      (!power || file_sync(sys, fd, false, path, e))) {
    int failed = sys->rename(sys, temporary, path);
    *named = failed == 0;
    if (failed < 0) error_system(e, -failed, "%s", path);
    if (*named && (!power || sys_sync_directory(sys, j->folder, e))) return fd;
  }
  if (!*named) sys->unlink(sys, temporary);
  sys->close(sys, fd);
  return -1;
}

/* Begins the next segment, once the last one is durable. */
static bool journal_rotate(struct journal *j, struct error *e) {
  char payload[JOURNAL_OWN_MAX], path[PATH_MAX];
  struct error why = {0};
  bool named = false, first = j->end.segment == 0;
  uint32_t segment = j->end.segment + 1;
  struct journal_chain chain = {.seq = first ? 0 : j->end.seq + 1,
                                .batch = first ? 0 : j->end.batch + 1,
                                .crc = first ? 0 : j->end.crc};
  if (j->fd >= 0 && !file_sync(j->sys, j->fd, false, j->object, &why))
    return journal_fail(j, true, &why, e);
  if (!journal_segment_path(path, j->folder, segment, &why)) return journal_fail(j, false, &why, e);
  struct span own = {payload,
                     journal_segment_payload(payload, j->end.run_id, segment, chain.crc, 0)};
  buffer_reset(&j->out);
  if (!journal_line_add(&j->out, &chain, JOURNAL_LAST, own, &why))
    return journal_fail(j, false, &why, e);
  struct reserve reserve = {.by_file = j->reserve.by_file};
  struct sys_stat file;
  int fd = journal_segment_make(j, path, &reserve, &file, &named, &why);
  if (fd < 0) return journal_fail(j, named, &why, e);
  if (j->fd >= 0) {
    j->sys->truncate(j->sys, j->fd, j->end.offset); /* frees the space reserved after its end */
    j->sys->close(j->sys, j->fd);
  }
  j->fd = fd;
  j->file = file;
  j->reserve = reserve;
  memcpy(j->object, path, j->object_size);
  journal_index_note(j->index, chain.seq, segment, 0);
  j->end.segment = segment;
  j->end.offset = j->end.size = (int64_t)j->out.length;
  j->end.seq = chain.seq;
  j->end.batch = chain.batch;
  j->end.crc = chain.crc;
  j->end.closed = false;
  j->end.bare = true;
  j->bytes += j->out.length;
  return true;
}

/* Opens the last segment to append to it, and first makes its content durable: its writer may have
 * died before its sync. */
static bool journal_continue(struct journal *j, struct error *e) {
  j->fd = file_open(j->sys, j->object, O_WRONLY | O_APPEND, e);
  if (j->fd < 0 || !journal_identify(j->sys, j->fd, j->object, &j->file, e)) return false;
  if (j->durability == DURABILITY_PROCESS) return true;
  return file_sync(j->sys, j->fd, false, j->object, e) && sys_sync_directory(j->sys, j->folder, e);
}

/* Copies the names: the folder's, and the segment's, which keeps its length. */
static bool journal_names(struct journal *j, const char *folder, struct error *e) {
  char path[PATH_MAX];
  if (!journal_segment_path(path, folder, j->end.segment, e)) return false;
  j->folder_size = strlen(folder) + 1;
  j->object_size = strlen(path) + 1;
  j->folder = sys_alloc(j->sys, j->folder_size);
  j->object = sys_alloc(j->sys, j->object_size);
  if (!j->folder || !j->object) return error_set(e, ERROR_MEMORY, "%s: out of memory", folder);
  memcpy(j->folder, folder, j->folder_size);
  memcpy(j->object, path, j->object_size);
  return true;
}

bool journal_open(const struct sys *sys, const struct journal_options *options,
                  const struct journal_end *end, struct journal **opened, struct error *e) {
  struct journal *j = sys_alloc(sys, sizeof *j);
  if (!j) return error_set(e, ERROR_MEMORY, "%s: out of memory", options->folder);
  j->sys = sys;
  j->fd = -1;
  j->durability = options->durability;
  j->segment_bytes = options->segment_bytes ? options->segment_bytes : SEGMENT_BYTES;
  j->index = options->index;
  j->end = *end;
  j->synced = true;
  buffer_init(&j->out, sys, BATCH_MAX);
  snprintf(j->end.run_id, sizeof j->end.run_id, "%s", options->run_id);
  bool good = journal_names(j, options->folder, e);
  if (good && end->segment > 0) good = journal_continue(j, e);
  if (good && (end->segment == 0 || options->seal)) good = journal_rotate(j, e);
  if (good)
    good = reserve_ensure(&j->reserve, sys, j->fd, j->folder, j->end.offset, 0, j->object, e);
  if (good) {
    *opened = j;
    return true;
  }
  j->broken = true; /* leave everything as it is */
  journal_close(j);
  return false;
}

/* Fills `out` with the lines of a batch, or with the store's "closed" line where the batch is NULL;
 * `end` becomes the end that the journal will have. */
static bool journal_batch(struct journal *j, const struct batch *batch, struct journal_end *end,
                          struct error *e) {
  struct journal_chain chain = {.seq = end->seq, .batch = end->batch, .crc = end->crc};
  buffer_reset(&j->out);
  if (!journal_batch_add(&j->out, &chain, j->object, batch, &end->header, e)) return false;
  end->seq = chain.seq;
  end->batch = chain.batch;
  end->crc = chain.crc;
  end->offset += (int64_t)j->out.length;
  end->size = end->offset;
  end->closed = !batch;
  if (batch) end->header = batch->header;
  end->bare = false;
  return true;
}

/* Cuts the segment back to its last good offset after a failed write. */
static bool journal_cut_back(struct journal *j) {
  struct sys_stat found;
  int failed;
  if (j->sys->fstat(j->sys, j->fd, &found) == 0 && found.size == j->end.offset)
    return true; /* nothing to cut; the space after the end stays reserved */
  do {
    failed = j->sys->truncate(j->sys, j->fd, j->end.offset);
  } while (failed == -EINTR);
  if (failed < 0) return false;
  /* Cutting the file also freed the room for last words: reserve it again. */
  j->reserve.end = 0;
  reserve_ensure(&j->reserve, j->sys, j->fd, j->folder, j->end.offset, 0, j->object, NULL);
  return true;
}

/* One write; a short one counts as a failure (the disk is full, or a size limit was reached). */
static bool journal_write(struct journal *j, struct error *e) {
  struct error why = {0};
  ssize_t count;
  do {
    count = j->sys->write(j->sys, j->fd, j->out.data, j->out.length);
  } while (count == -EINTR);
  if (count == (ssize_t)j->out.length) return true;
  if (count < 0)
    error_system(&why, (int)-count, "%s", j->object);
  else
    error_system(&why, ENOSPC, "%s: only %zd of %zu bytes written", j->object, count,
                 j->out.length);
  return journal_fail(j, !journal_cut_back(j), &why, e);
}

static bool journal_put(struct journal *j, const struct batch *batch, enum append kind,
                        struct error *e) {
  struct journal_end end = j->end;
  struct error why = {0};
  if (!journal_batch(j, batch, &end, e)) return false;
  bool last_words = kind == APPEND_LAST_WORDS;
  bool full = (uint64_t)end.offset > j->segment_bytes && !j->end.bare && !last_words && batch;
  if (full) {
    if (!journal_rotate(j, e)) return false;
    end = j->end;
    if (!journal_batch(j, batch, &end, e)) return false;
  }
  if (last_words)
    reserve_release(&j->reserve, j->sys, j->folder);
  else if (!reserve_ensure(&j->reserve, j->sys, j->fd, j->folder, j->end.offset,
                           (int64_t)j->out.length, j->object, &why))
    return journal_fail(j, false, &why, e);
  if (!journal_write(j, e)) return false;
  journal_index_note(j->index, j->end.seq + 1, end.segment, j->end.offset);
  j->end = end;
  j->bytes += j->out.length;
  j->synced = j->durability == DURABILITY_PROCESS;
  return true;
}

bool journal_append(struct journal *j, const struct batch *batch, enum append kind,
                    struct error *e) {
  if (j->broken || j->spent || (j->failed && kind != APPEND_LAST_WORDS)) {
    if (e) *e = j->why;
    return false;
  }
  /* Never batch b+1 before the sync of batch b returned. */
  assert(j->synced);
  if (batch_count(batch) == 0) return true;
  j->spent = j->failed;
  bool good = journal_put(j, batch, kind, e);
  if (j->out.capacity > BATCH_KEPT)
    buffer_clear(&j->out); /* do not keep the memory of a rare large batch */
  return good;
}

bool journal_sync(struct journal *j, struct error *e) {
  struct error why = {0};
  if (j->broken) {
    if (e) *e = j->why;
    return false;
  }
  if (j->synced) return true;
  j->syncs++;
  if (!file_sync(j->sys, j->fd, true, j->object, &why)) return journal_fail(j, true, &why, e);
  j->synced = true;
  return true;
}

void journal_abandon(struct journal *j, const struct error *why) {
  journal_fail(j, true, why, NULL);
  j->why = *why;
}

bool journal_held(struct journal *j, struct error *e) {
  struct error why = {0};
  int64_t size = j->end.offset;
  if (j->broken) {
    if (e) *e = j->why;
    return false;
  }
  bool same = file_same(j->sys, j->object, &j->file, &size);
  if (same && (size == j->end.offset || j->failed)) return true;
  error_set(&why, ERROR_LOST,
            "%s: was %s by somebody else while the run went on; nothing more is written", j->object,
            same ? "changed" : "removed or replaced");
  journal_abandon(j, &why);
  if (e) *e = why;
  return false;
}

const struct journal_end *journal_where(const struct journal *j) {
  return &j->end;
}

uint64_t journal_bytes(const struct journal *j) {
  return j->bytes;
}

uint64_t journal_syncs(const struct journal *j) {
  return j->syncs;
}

void journal_close(struct journal *j) {
  if (!j) return;
  const struct sys *sys = j->sys;
  if (j->fd >= 0) {
    if (!j->broken && !j->failed && j->synced && !j->end.closed)
      journal_put(j, NULL, APPEND_WHOLE, NULL);
    if (!j->broken) sys->truncate(sys, j->fd, j->end.offset); /* only frees reserved space */
    sys->close(sys, j->fd);
  }
  if (j->folder) reserve_release(&j->reserve, sys, j->folder);
  sys_free(sys, j->folder, j->folder_size);
  sys_free(sys, j->object, j->object_size);
  buffer_clear(&j->out);
  sys_free(sys, j, sizeof *j);
}
