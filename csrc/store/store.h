/* store.h: where runs live.
 *
 * A *store* belongs to one run and to the process that advances or reads it: it appends batches of
 * records durably, reads them back, holds blobs, and writes views. It never looks inside payloads.
 * Only `sync` may be called on another thread, and while it runs the caller makes no other call on
 * the store. An *inbox* takes answers and events for a run from other processes, and gives them to
 * the process that advances the run. store_list lists runs.
 *
 * A kind of store is a struct kind in store.c, which kind_of finds by the URL. This header and
 * tests/c/test_store_suite.c state all that a kind has to do.
 */
#ifndef SKILLRT_STORE_STORE_H
#define SKILLRT_STORE_STORE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/sys.h"

enum durability {
  DURABILITY_POWER,   /* survives a power cut: fdatasync per batch */
  DURABILITY_PROCESS, /* survives kill -9: write per batch, no fdatasync */
};

enum append {
  APPEND_WHOLE,     /* a batch; its sync comes before the next */
  APPEND_LAST_WORDS /* one batch after a failure, in the space reserved for it */
};

enum { STORE_STATUS = 16, STORE_ABOUT = 512 };

/* What lists show of a run; each batch carries one, and the last one counts. */
struct header {
  char status[STORE_STATUS]; /* "paused", "completed" ...: a-z; "": not ended */
  int64_t due;               /* UTC ms at which a worker resumes the run; 0: none does */
  char about[STORE_ABOUT];   /* what lists show: a JSON object; or "" */
};

/* The time by which lists are ordered, UTC ms: an `about` begins with {"at":MS; 0: it does not.
 * `rest`: where its other members begin. */
int64_t header_at(const struct header *, const char **rest);

/* What one append adds to a run, all of it or nothing: records, in order; the blobs that they refer
 * to by digest; and a header. Reuses its memory for the next batch (batch.c). */
struct batch {
  const struct sys *sys;
  struct header header;
  struct buffer bytes; /* the payloads, concatenated */
  struct buffer ends;  /* size_t per payload: where it ends in `bytes` */
  struct buffer blobs; /* each its digest, its size, its bytes */
};

void batch_init(struct batch *, const struct sys *);
void batch_clear(struct batch *);
void batch_reset(struct batch *);
bool batch_add(struct batch *, const char *payload, size_t size, struct error *);
size_t batch_count(const struct batch *);
struct span batch_at(const struct batch *, size_t index); /* until the batch changes */
void batch_cut(struct batch *, size_t count);             /* drops all but the first `count` */
/* Copies a value; ERROR_INVALID where `digest` is not 64 lower-case hex digits. */
bool batch_blob(struct batch *, const char *digest, struct span value, struct error *);
/* Gives the blob at `*at` and moves `*at` to the next; false after the last one. */
bool batch_next_blob(const struct batch *, size_t *at, char digest[65], struct span *value);

struct record {
  uint64_t seq;
  uint32_t batch;
  struct span payload; /* valid during the call only */
};

struct store;
struct uv_loop_s;

struct store_ops {
  /* Calls `each` for every payload of the journal from the record `from` on, in order, without the
   * store's own records. Where `each` returns false, read stops and returns false. */
  bool (*read)(struct store *, uint64_t from,
               bool (*each)(void *data, const struct record *, struct error *), void *data,
               struct error *);

  /* Appends the payload of the record `seq` to `to`, also of one that is not synced yet. The cost
   * does not depend on the journal's length. ERROR_MISSING: no such record, or the
   * store's own; ERROR_CORRUPT: file, offset, record. */
  bool (*record)(struct store *, uint64_t seq, struct buffer *to, struct error *);

  /* Appends a batch; the one before it is synced. Its blobs are durable before the first byte of
   * its records is written; the records are durable once sync returned. A batch may have only
   * blobs, which are durable when this returns. Lists show its header when the store is closed, or
   * earlier. A payload must not hold a newline, nor begin with {"t":"journal" (the store's own
   * records): such a batch is refused with ERROR_INVALID, and the store remains usable. On failure
   * (short write, ENOSPC, EIO) the journal has been cut back to its last good offset, and the store
   * takes only one more batch, of last words. ERROR_LOST: the run does not belong to this store any
   * more (its files were removed or replaced, or another process took it): then this store writes
   * nothing any more, no last words, blobs or views. A record may refer to blobs of earlier
   * batches. */
  bool (*append)(struct store *, const struct batch *, enum append, struct error *);

  /* Makes the last batch durable. A failure is final: every later append fails, too. ERROR_LOST: as
   * from append; a database can tell only now whether another process has written this batch. */
  bool (*sync)(struct store *, struct error *);

  /* Whether the run still belongs to this store; the engine asks before it sends anything. False:
   * ERROR_LOST, or the reason why this cannot be found out. Usually costs one look at a clock.
   * NULL: the run belongs to the store as long as appends succeed. */
  bool (*held)(struct store *, struct error *);

  /* Appends the value with this SHA-256 to `to`; checks it (ERROR_CORRUPT). */
  bool (*blob_get)(struct store *, const char *digest, struct buffer *to, struct error *);

  /* Replaces the view `name` ("state.json", "context/a.json": relative, no "..") atomically, and
   * makes its folders. A view is never fsynced: it can be written again from the journal.
   * "state.json" must have room for its digest (see view.h). */
  bool (*view)(struct store *, const char *name, struct span content, struct error *);

  /* From now on, until the store is closed, the loop calls `changed` when there may be something
   * new in the run's inbox; never within this call. A call may be late or without a cause. NULL:
   * there is no inbox. */
  bool (*listen)(struct store *, struct uv_loop_s *, void (*changed)(void *), void *data,
                 struct error *);

  /* Highest seq written so far; 0 where the journal is empty. The store's own records (the
   * first of a segment, a clean close) take a seq too, so payloads may skip some. */
  uint64_t (*seq)(const struct store *);
  /* Bytes appended to the journal by this store object, framing included. */
  uint64_t (*bytes)(const struct store *);
  /* Number of fdatasync calls by `sync` so far (0 where the durability needs none). */
  uint64_t (*syncs)(const struct store *);

  void (*close)(struct store *); /* idempotent through store_close */
};

/* Closes the store and sets `*store` to NULL; NULL is fine. */
void store_close(struct store **store);

enum store_open {
  STORE_CREATE, /* there must be no run (no payload) */
  STORE_SUBMIT, /* the same; takes one batch, with which the run is there for others to perform */
  STORE_RESUME, /* there must be a run: locks it, and repairs its end after an unclean stop */
  STORE_READ    /* only reads: takes no lock, changes nothing; append and view fail */
};

struct store_options {
  enum store_open mode;
  enum durability durability;
  const char *run_id;        /* of a new run: [A-Za-z0-9._-]{1,64} */
  const struct label *label; /* STORE_SUBMIT: what it has from the beginning; NULL: none */
  uint64_t segment_bytes;    /* the journal begins a new file at this size; 0: 64 MiB */
  bool accept_edits;         /* a hand-edited state.json is no error */
  bool whole; /* STORE_READ: check the whole journal now; else its end only, and read checks the
                 rest */
  bool cut;   /* STORE_RESUME: a damaged journal is cut where the damage begins */
  struct span
      ending; /* report.newest will be the last record whose payload ends with this; empty: none */
};

/* What was found when the run was opened. */
struct store_report {
  char run_id[65];
  uint64_t records;   /* payloads in the journal; STORE_READ: in the part that was checked */
  uint64_t last;      /* the highest seq */
  uint64_t payload;   /* the seq of the last payload */
  uint64_t newest;    /* see store_options.ending; 0: there is none */
  uint64_t cut_bytes; /* damaged end moved to `cut_file` */
  bool cut_doubtful;  /* and it may have held reported records: a kill leaves no such damage */
  char cut_file[128]; /* "journal.cut-<time>", or "" */
  bool unclean;       /* the last line of the journal does not say "closed" */
  bool view_missing;  /* there is no state.json, or its end is missing (it is never fsynced) */
  bool view_stale;    /* or it is older than the journal: its writer died, or failed to write it */
  bool view_edited;   /* state.json's digest does not match its content (accept_edits given) */
  uint64_t view_seq;  /* _skillrt.seq of state.json */
};

struct store {
  const struct store_ops *ops;
  struct store_report report; /* as store_open found it */
};

/* Opens a run. Its URL: a path or "file:<path>" is a run's directory; "memory:" is a store that
 * holds only blobs, and only while it is open; "postgres://<user>@<host>/<database>/<run>", with
 * parameters of libpq after a "?", is a run in PostgreSQL.
 * Errors: ERROR_EXISTS, ERROR_MISSING, ERROR_BUSY (the message names the holder), ERROR_CORRUPT
 * (where), ERROR_NEWER, ERROR_EDITED, ERROR_SYSTEM. A failed open changes nothing. The report may
 * be NULL. */
bool store_open(const struct sys *, const char *url, const struct store_options *, struct store **,
                struct store_report *, struct error *);

/* ---- the inbox: answers and events that other processes send to a run ---- */

enum { ARRIVAL_MAX = 1 << 20, ARRIVAL_NAME = 256 };

struct arrival {
  const char *name; /* valid until the next take; for acknowledge and refuse. NULL: there is none */
  int64_t came;     /* UTC ms */
  struct span text; /* valid until the next take */
  const char *problem; /* why there is no text: longer than ARRIVAL_MAX, not a file ... */
  bool again;          /* the problem may pass: a later take gives the arrival again */
};

enum arrival_fate {
  ARRIVAL_WAITS,
  ARRIVAL_REFUSED,
  ARRIVAL_TAKEN /* or there never was such an arrival */
};

struct inbox;

struct inbox_ops {
  /* Adds an arrival, whole or not at all, and gives it a name. `durable`: it survives a power cut
   * when this returns. The sender may choose a key, so that an arrival sent twice counts once: a
   * database drops the second one, elsewhere the run recognizes it. NULL: no key. */
  bool (*put)(struct inbox *, const char *key, struct span text, bool durable,
              char name[ARRIVAL_NAME], struct error *);
  /* The next arrival that this inbox has not given yet, the oldest first. After the last one its
   * `name` is NULL, and the next call reads the inbox again. An arrival that was not acknowledged
   * is given again to the next process that opens the run's inbox. */
  bool (*take)(struct inbox *, struct arrival *, struct error *);
  /* Removes an arrival, once the journal has it durably. */
  bool (*acknowledge)(struct inbox *, const char *name, struct error *);
  /* Puts aside an arrival that cannot be used, so that people can look at it. */
  bool (*refuse)(struct inbox *, const char *name, struct error *);
  bool (*fate)(struct inbox *, const char *name, enum arrival_fate *, struct error *);
  /* How many arrivals wait. */
  bool (*waiting)(struct inbox *, size_t *count, struct error *);
  void (*close)(struct inbox *);
};

struct inbox {
  const struct inbox_ops *ops;
};

/* Opens the inbox of a run, which need not exist yet; takes no lock. ERROR_MISSING: this kind of
 * store has no inbox. */
bool inbox_open(const struct sys *, const char *url, struct inbox **, struct error *);
void inbox_close(struct inbox **inbox); /* as store_close */

/* ---- runs from outside ---- */

/* A run as lists show it; its journal is not read for that. */
struct listing {
  const char *url;      /* valid until `each` returns */
  const char *problem;  /* why nothing but its URL is known; NULL: all is well */
  struct header header; /* "executing": its last batch has no status, or its process has died */
  bool is_held; /* a process advances it. False also where a process has opened a closed run but
                   has not appended anything yet */
};

/* Calls `each` for the runs at a URL (a folder of runs, a database) until it returns false: first
 * those whose header has no time, in no order, then the others, the newest first. ERROR_MISSING:
 * there is no such place. The cost does not depend on the length of the runs. */
bool store_list(const struct sys *, const char *url,
                bool (*each)(void *data, const struct listing *), void *data, struct error *);

/* Whether a run was begun there. */
bool store_exists(const struct sys *, const char *url);

struct watch {
  void (*close)(struct watch *);
};

/* From now on the loop calls `changed` when something may have been appended to a run, which need
 * not exist yet; never within this call. A call may be late or without a cause. */
bool store_watch(const struct sys *, const char *url, struct uv_loop_s *, void (*changed)(void *),
                 void *data, struct watch **, struct error *);
/* The same for all runs at a URL: when one may have begun, changed, ended or been removed.
 * ERROR_MISSING: this kind of store cannot watch. */
bool store_watch_runs(const struct sys *, const char *url, struct uv_loop_s *,
                      void (*changed)(void *), void *data, struct watch **, struct error *);
void watch_close(struct watch **watch); /* as store_close; `changed` is not called any more */

/* ---- workers: runs that wait for a process ---- */

enum { QUEUE_NAME = 64, RATE_MAX = 10000 };

/* How a run is to be claimed; `skillrt submit` sets it. */
struct label {
  const char *queue; /* [A-Za-z0-9._-]{1,64} */
  int64_t prio;      /* higher ones first */
  const char
      *key; /* the limits below apply to all runs with this key; a name as of a queue; NULL: none */
  int64_t most; /* how many runs with the key may run at the same time; 0: any number */
  int64_t rate; /* how many may be claimed within any `rate_ms`, up to RATE_MAX; 0: any number */
  int64_t rate_ms;
};

/* Replaces the label of an existing run, and wakes workers that watch for claims. A run in a
 * directory without a label is in the queue "default"; a run in a database is claimed only once it
 * has a label. */
bool store_label(const struct sys *, const char *url, const struct label *, struct error *);

/* Pauses or continues a queue: no run of a paused queue is claimed. `url`: a folder or database. */
bool store_pause(const struct sys *, const char *url, const char *queue, bool paused,
                 struct error *);

struct hold {
  void (*close)(struct hold *);
};

/* Keeps what the runs of this process at a URL share, such as a connection and a lease, also while
 * none is open: who opens many, one after the other, saves the time to begin it anew. NULL: this
 * kind of store has nothing to keep. */
bool store_hold(const struct sys *, const char *url, struct hold **, struct error *);
void hold_close(struct hold **hold); /* as store_close */

struct claims;

struct claims_ops {
  /* Calls `each` for up to `count` runs of the queue that wait for a process: paused runs that are
   * due or have a new arrival, and runs whose process has ended. This process is to open them: no
   * other worker gets the same run until it has closed it, or calls `settle`. In a folder a claim
   * ends after 15 s, and only opening decides which process has the run. */
  bool (*take)(struct claims *, int64_t count, bool (*each)(void *data, const char *url),
               void *data, struct error *);
  /* To be called when this process has closed the run, or will not open it. `later`: no claim
   * gives it again for a while. */
  void (*settle)(struct claims *, const char *url, bool later);
  /* From now on the loop calls `changed` when there may be something to claim. */
  bool (*watch)(struct claims *, struct uv_loop_s *, void (*changed)(void *), void *data,
                struct watch **, struct error *);
  void (*close)(struct claims *);
};

struct claims {
  const struct claims_ops *ops;
};

/* Opens a queue of a folder or database for a worker. ERROR_BUSY: another worker has this queue; a
 * folder has one worker for each. */
bool claims_open(const struct sys *, const char *url, const char *queue, struct claims **,
                 struct error *);
void claims_close(struct claims **claims); /* as store_close; close its watch before */

/* ---- databases ---- */

struct store_setup {
  int64_t lease_ms; /* 0: the time that the database has, or 15 s in a new one */
  bool only_check;  /* makes nothing */
};

/* Makes the tables that runs need in a database; existing ones are not changed. Appends a line to
 * `missing` for each thing that is still missing or wrong. */
bool store_prepare(const struct sys *, const char *url, const struct store_setup *,
                   struct buffer *missing, struct error *);

/* Removes the runs whose names begin with a month before `before` ("202611"), by dropping the
 * months' parts of the journal; a month with a run that is not finished stays. Appends a line to
 * `to` for each of these months: "MONTH RUNS LEFT RUN", how many runs it has, how many of them are
 * not finished, and the first of those. `only_look`: removes nothing. */
bool store_retire(const struct sys *, const char *url, const char *before, bool only_look,
                  struct buffer *to, struct error *);

/* Moves a run that no process advances, byte for byte: marks it in its old place, so that no
 * process can advance it there; copies its journal and the blobs with these digests; then makes it
 * a run in its new place. `known_as` is what the old place calls the new one. If that fails, the
 * run stays in its old place. Where it is not known whether the run has arrived, and where the
 * machine dies meanwhile, it is in neither place until store_move_settle. The inbox must be empty.
 */
bool store_move(const struct sys *, const char *from, const char *to, const char *known_as,
                const char *const *digests, size_t count, struct error *);

/* A run that left its place. */
struct departure {
  bool ended; /* it is in its new place, else that is not known */
  char run_id[65];
  char known_as[PATH_MAX]; /* its new place; "": no run left */
};

/* What is said of a run whose departure has not ended: a format for `known_as`. */
#define UNFINISHED "its move to %.200s is not finished"

bool store_departed(const struct sys *, const char *url, struct departure *, struct error *);

/* Ends a move that was not finished: looks whether the run has arrived at `to`. If it has, the move
 * is finished, else the run is in its old place again. `stays`: also where that cannot be found
 * out, or `to` is NULL. */
bool store_move_settle(const struct sys *, const char *from, const char *to, bool stays,
                       bool *arrived, struct error *);

/* Sets the path of the module with PostgreSQL (skillrt/postgres.so); copied. To be called on the
 * main thread before a URL of PostgreSQL is opened. */
void store_module(const char *path);
bool store_needs_module(const char *url); /* true until store_module was called */

/* Calls `each`, as read does, for every payload before the first bad place of a journal that
 * store_open refused, including those of an incomplete batch. Changes nothing. */
void store_salvage(const struct sys *, const char *url,
                   bool (*each)(void *data, const struct record *, struct error *), void *data);

/* Whether a name in a run's folder belongs to the store, so that no view may have it. */
bool store_owns(const char *name);

enum { STORE_HOLDER = 256 };
/* Whether a process advances the run now; `line` gets "<pid> <host> <start>". */
bool store_holder(const struct sys *, const char *url, char line[STORE_HOLDER]);

#endif
