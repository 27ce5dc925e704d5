/* store.h: where runs live.
 *
 * A *store* is one run's, for the process that advances it or looks at it: it appends batches of
 * records durably, reads them back, keeps blobs, and writes views. It passes payload bytes and
 * never looks inside them. `sync` alone may be called on another thread, and while it runs no other
 * call on the same store is made. An *inbox* is the same run's, for those who bring it answers and
 * events, and for the process that takes them. store_list says which runs there are.
 *
 * A kind of store is a struct kind in store.c, which kind_of knows by its URL. All that another
 * kind has to answer for is in this header, and in tests/c/test_store_suite.c.
 */
#ifndef SKILLRT_STORE_STORE_H
#define SKILLRT_STORE_STORE_H

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

/* What store_list says of a run whose last batch has it. */
struct header {
  char status[STORE_STATUS]; /* "paused", "completed" ...: a-z; "": not ended */
  int64_t due;               /* UTC ms: it is to be resumed then; 0: not by itself */
  char about[STORE_ABOUT];   /* what lists show: a JSON object; or "" */
};

/* The time by which lists are ordered, UTC ms: an `about` begins with {"at":MS; 0: it does not.
 * `rest`: where its other members begin. */
int64_t header_at(const struct header *, const char **rest);

/* What one append adds to a run, all of it or nothing: records, in order, the values apart that
 * they name by digest, and a header. Keeps its memory from one batch to the next (batch.c). */
struct batch {
  const struct sys *sys;
  struct header header;
  struct buffer bytes; /* the payloads, one behind the other */
  struct buffer ends;  /* size_t per payload: where it ends in `bytes` */
  struct buffer blobs; /* each its digest, its size, its bytes */
};

void batch_init(struct batch *, const struct sys *);
void batch_clear(struct batch *);
void batch_reset(struct batch *);
bool batch_add(struct batch *, const char *payload, size_t size, struct error *);
size_t batch_count(const struct batch *);
struct span batch_at(const struct batch *, size_t index); /* until the batch changes */
void batch_cut(struct batch *, size_t count);             /* forgets all but the first `count` */
/* Copies a value; ERROR_INVALID where `digest` is not 64 lower-case hex digits. */
bool batch_blob(struct batch *, const char *digest, struct span value, struct error *);
/* The blob at `*at`, which goes on to the next; false behind the last one. */
bool batch_next_blob(const struct batch *, size_t *at, char digest[65], struct span *value);

struct record {
  uint64_t seq;
  uint32_t batch;
  struct span payload; /* valid during the call only */
};

struct store;
struct uv_loop_s;

struct store_ops {
  /* Calls `each` for every payload of the journal from the record `from` on, in order (the store's
   * own records are left out). `each` returning false ends the reading and makes read return
   * false. */
  bool (*read)(struct store *, uint64_t from,
               bool (*each)(void *data, const struct record *, struct error *), void *data,
               struct error *);

  /* Appends the payload of the record `seq` to `to`: one that was read or appended, whether synced
   * or not. Costs the same however long the journal is. ERROR_MISSING: no such record, or the
   * store's own; ERROR_CORRUPT: file, offset, record. */
  bool (*record)(struct store *, uint64_t seq, struct buffer *to, struct error *);

  /* Appends a batch: its blobs are durable when the first byte of its records is written, these are
   * once sync returned. A batch may have blobs alone, which are durable when this returns. Its
   * header is listed from the close of the store on, or earlier.
   * A payload must not hold a newline, nor begin with {"t":"journal" (the store's own): such a
   * batch is refused with ERROR_INVALID and the store goes on. On failure (short write, ENOSPC,
   * EIO) the journal has been cut back to its last good offset, and the store takes no more batches
   * except one of last words. ERROR_LOST: the run is not this store's any more (its files were
   * removed or replaced, or another took it): nothing is written any more, no last words, no blob,
   * no view. A record may name blobs of earlier batches. */
  bool (*append)(struct store *, const struct batch *, enum append, struct error *);

  /* Makes what was appended last durable. A failure is final: every later append fails too.
   * ERROR_LOST as of append, from a store that hears only now whether the place of the batch was
   * free. */
  bool (*sync)(struct store *, struct error *);

  /* Whether the run is still this store's, asked before anything is sent: ERROR_LOST, or why nobody
   * can tell. Costs a look at a clock, as a rule. NULL: it is as long as appends succeed. */
  bool (*held)(struct store *, struct error *);

  /* Appends the value with this SHA-256 to `to`; checks it (ERROR_CORRUPT). */
  bool (*blob_get)(struct store *, const char *digest, struct buffer *to, struct error *);

  /* Replaces the view `name` ("state.json", "context/a.json": relative, no "..", folders are
   * made) atomically. A view is never fsynced: it can be written again from the journal.
   * "state.json" must hold the place for its digest (see view.h). */
  bool (*view)(struct store *, const char *name, struct span content, struct error *);

  /* From now on `changed` is called from the loop, until the store is closed, when something may
   * have been put into the run's inbox; never from within this call. May be called late or for
   * nothing. NULL: there is no inbox. */
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

/* Closes and forgets: `*store` becomes NULL; NULL is fine. */
void store_close(struct store **store);

enum store_open {
  STORE_CREATE, /* there must be no run (no payload) */
  STORE_RESUME, /* must hold a run; takes it for itself, recovers, seals after an unclean stop */
  STORE_READ    /* looks only: holds nobody up, changes nothing, append and view fail */
};

struct store_options {
  enum store_open mode;
  enum durability durability;
  const char *run_id;     /* STORE_CREATE: [A-Za-z0-9._-]{1,64} */
  uint64_t segment_bytes; /* a journal file is followed by the next at this size; 0: 64 MiB */
  bool accept_edits;      /* a hand-edited state.json is no error */
  bool whole;         /* STORE_READ: check all of the journal; else its end, read checks the rest */
  bool cut;           /* STORE_RESUME: a damaged journal is cut where the damage begins */
  struct span ending; /* report.newest is the last record whose payload ends so; empty: none */
};

/* What was found when the run was opened. */
struct store_report {
  char run_id[65];
  uint64_t records;   /* payloads in the journal; STORE_READ: in what was checked of it */
  uint64_t last;      /* the highest seq */
  uint64_t payload;   /* that of the last payload */
  uint64_t newest;    /* see store_options.ending; 0: there is none */
  uint64_t cut_bytes; /* damaged end moved to `cut_file` */
  bool cut_doubtful;  /* and it may have held what was reported: no kill explains it */
  char cut_file[128]; /* "journal.cut-<time>", or "" */
  bool unclean;       /* the last line of the journal does not say "closed" */
  bool view_missing;  /* state.json is not there, or its end is (never fsynced) */
  bool view_stale;    /* or it shows less than the journal has: its writer died, or could not */
  bool view_edited;   /* state.json's digest does not match its content (accept_edits given) */
  uint64_t view_seq;  /* _skillrt.seq of state.json */
};

struct store {
  const struct store_ops *ops;
  struct store_report report; /* as store_open found it */
};

/* What is opened, by its URL: a path or "file:<path>" is a run's directory, "memory:" a store that
 * keeps nothing but blobs, and those while it is open; "postgres://<user>@<host>/<database>/<run>",
 * with what libpq takes behind a "?", a run in PostgreSQL.
 * Errors: ERROR_EXISTS, ERROR_MISSING, ERROR_BUSY (the message says who holds it), ERROR_CORRUPT
 * (where), ERROR_NEWER, ERROR_EDITED, ERROR_SYSTEM. Nothing is changed where it fails. The report
 * may be NULL. */
bool store_open(const struct sys *, const char *url, const struct store_options *, struct store **,
                struct store_report *, struct error *);

/* ---- the inbox: answers and events that others bring to a run ---- */

enum { ARRIVAL_MAX = 1 << 20, ARRIVAL_NAME = 256 };

struct arrival {
  const char *name; /* until the next take; what acknowledge and refuse take. NULL: none is there */
  int64_t came;     /* UTC ms */
  struct span text; /* until the next take */
  const char *problem; /* why there is no text: it is longer than ARRIVAL_MAX, is no file ... */
  bool again;          /* ... which may pass: it comes again when the inbox is looked at anew */
};

enum arrival_fate {
  ARRIVAL_WAITS,
  ARRIVAL_REFUSED,
  ARRIVAL_TAKEN /* or never put */
};

struct inbox;

struct inbox_ops {
  /* Puts an arrival there, whole or not at all, and gives it a name. `durable`: it survives a power
   * cut when this returns. The key is its sender's: a store that can keeps one arrival for a key;
   * elsewhere the run knows by it what was put twice. NULL: none. */
  bool (*put)(struct inbox *, const char *key, struct span text, bool durable,
              char name[ARRIVAL_NAME], struct error *);
  /* The next arrival that was not taken from this inbox, the oldest first; behind the last one a
   * `name` of NULL, and the call after that looks anew. Another inbox of the run, of a process that
   * comes later, gives it again until it is acknowledged. */
  bool (*take)(struct inbox *, struct arrival *, struct error *);
  /* What it said is durable in the journal: it is removed. */
  bool (*acknowledge)(struct inbox *, const char *name, struct error *);
  /* It cannot be used: it is put aside, for people. */
  bool (*refuse)(struct inbox *, const char *name, struct error *);
  bool (*fate)(struct inbox *, const char *name, enum arrival_fate *, struct error *);
  /* How many arrivals wait. */
  bool (*waiting)(struct inbox *, size_t *count, struct error *);
  void (*close)(struct inbox *);
};

struct inbox {
  const struct inbox_ops *ops;
};

/* The inbox of a run, whether that was begun or not; takes no lock. ERROR_MISSING: a store without
 * one. */
bool inbox_open(const struct sys *, const char *url, struct inbox **, struct error *);
void inbox_close(struct inbox **inbox); /* as store_close */

/* ---- runs from outside ---- */

/* A run, as far as it is known without reading it. */
struct listing {
  const char *url;      /* until `each` returns */
  const char *problem;  /* why no more is known than that there is something; NULL: all is well */
  struct header header; /* "executing": the last batch has none, or its process died since */
  bool is_held; /* a process advances it, and has said so: one whose run is listed as it was closed
                   may be held by a process that has appended nothing since */
};

/* Calls `each` for the runs at a URL (a directory: of runs), until it returns false: first those
 * whose header says no time, in no order, then the others, the newest first. ERROR_MISSING: there
 * is no such place. Costs no more with each run the longer that is. */
bool store_list(const struct sys *, const char *url,
                bool (*each)(void *data, const struct listing *), void *data, struct error *);

/* Whether a run was begun there. */
bool store_exists(const struct sys *, const char *url);

struct watch {
  void (*close)(struct watch *);
};

/* From now on `changed` is called from the loop when something may have been appended to a run,
 * whether that was begun or not; never from within this call, maybe late or for nothing. */
bool store_watch(const struct sys *, const char *url, struct uv_loop_s *, void (*changed)(void *),
                 void *data, struct watch **, struct error *);
/* The same for the runs at a URL: when one may have begun, changed, ended or gone. ERROR_MISSING:
 * nothing tells of that there. */
bool store_watch_runs(const struct sys *, const char *url, struct uv_loop_s *,
                      void (*changed)(void *), void *data, struct watch **, struct error *);
void watch_close(struct watch **watch); /* as store_close; `changed` is not called any more */

/* ---- workers: runs that wait for a process ---- */

enum { QUEUE_NAME = 64, RATE_MAX = 10000 };

/* How a run is to be claimed: said by who submits it. */
struct label {
  const char *queue; /* [A-Za-z0-9._-]{1,64} */
  int64_t prio;      /* higher ones first */
  const char *key;   /* of limits, as a queue is named; NULL: none */
  int64_t most;      /* so many runs with that key at the same time; 0: any number */
  int64_t rate;      /* so many are claimed within any `rate_ms`, up to RATE_MAX; 0: any number */
  int64_t rate_ms;
};

/* Puts the label of a run that is there, in place of the one that it had, and wakes who waits for
 * claims. A run in a directory without one has queue "default"; one in a database is claimed only
 * once it has one. */
bool store_label(const struct sys *, const char *url, const struct label *, struct error *);

/* A queue from which nothing is claimed, until it is no longer paused. `url`: of a place. */
bool store_pause(const struct sys *, const char *url, const char *queue, bool paused,
                 struct error *);

struct claims;

struct claims_ops {
  /* Calls `each` for up to `count` runs of the queue that wait for a process: paused ones that are
   * due, or to which something has come; those whose process is gone. For the time of a lease no
   * other claim gives the same, or until `settle`: the claimant has to open it meanwhile, and who
   * opens a run is decided there alone. */
  bool (*take)(struct claims *, int64_t count, bool (*each)(void *data, const char *url),
               void *data, struct error *);
  /* The process that was begun for this run has closed it. */
  void (*settle)(struct claims *, const char *url);
  /* From now on `changed` may be called from the loop when there may be something to claim. */
  bool (*watch)(struct claims *, struct uv_loop_s *, void (*changed)(void *), void *data,
                struct watch **, struct error *);
  void (*close)(struct claims *);
};

struct claims {
  const struct claims_ops *ops;
};

/* The claims of a worker on a queue of a place. ERROR_BUSY: a folder has one worker for each queue.
 */
bool claims_open(const struct sys *, const char *url, const char *queue, struct claims **,
                 struct error *);
void claims_close(struct claims **claims); /* as store_close; the watch was closed before */

/* ---- databases ---- */

struct store_setup {
  int64_t lease_ms; /* 0: 15 s, or what it is already */
  bool only_check;  /* makes nothing */
};

/* Makes a database fit to hold runs. What is there stays. Appends a line to `missing` for each
 * thing that is not as it has to be; where it is not asked for a check only, those that are left.
 */
bool store_prepare(const struct sys *, const char *url, const struct store_setup *,
                   struct buffer *missing, struct error *);

/* Moves a run that no process advances, to the byte: first no process can advance it in its old
 * place any more; then its journal is copied, and these of its blobs; then it can be in its new
 * place. Where that fails it stays where it was; a machine that dies meanwhile leaves it in its old
 * place, to be moved again. The inbox must be empty. */
bool store_move(const struct sys *, const char *from, const char *to, const char *const *digests,
                size_t count, struct error *);

/* Where the module with PostgreSQL is (skillrt/postgres.so); copied. Until then no URL of it can be
 * opened. On the main thread, before that. */
void store_module(const char *path);
bool store_needs_module(const char *url); /* and does not know yet where it is */

/* Calls `each`, as read does, for every payload in front of the first bad place of a journal that
 * store_open refused; those of a batch that is not whole count, too. Changes nothing. */
void store_salvage(const struct sys *, const char *url,
                   bool (*each)(void *data, const struct record *, struct error *), void *data);

/* Whether a name in a run's folder is the store's own: only the store writes there. */
bool store_owns(const char *name);

enum { STORE_HOLDER = 256 };
/* Whether a process advances the run now: `line` gets who, "<pid> <host> <start>". Takes nothing
 * for longer than the look. */
bool store_holder(const struct sys *, const char *url, char line[STORE_HOLDER]);

#endif
