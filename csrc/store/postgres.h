/* postgres.h: runs in PostgreSQL: what the files of the module skillrt/postgres.so share.
 *
 *   skillrt.fleet    one row: the version of the tables, and how long a lease is
 *   skillrt.run      a row for each run: who holds it, since which taking of it (a number that no
 *                    other one has), and what the last batch's header said. It changes when a
 *                    process claims or opens the run, and when it gives it back
 *   skillrt.journal  a row for each batch, with the lines that a directory would have. Its key is
 *                    (run, batch), and rows are only added: a process that finds the key of its
 *                    batch taken has lost the run. A process that takes a run first adds a row
 *                    (the first line of a segment), which fences off the previous holder
 *   skillrt.worker   a row for each process that holds runs: its lease, on the database's clock.
 *                    When the row is removed, its runs have no owner any more
 *   skillrt.inbox    a row for each arrival
 *   skillrt.blob     large values, by digest
 *   skillrt.queue    a row for each queue that was ever paused
 *   skillrt.slot     for each key, as many rows as runs with it may run at the same time
 *   skillrt.rate     for each key, as many rows as runs with it may be claimed within its time
 *
 * A step adds one row of the journal; it updates none, locks none and reads none. */
#ifndef SKILLRT_STORE_POSTGRES_H
#define SKILLRT_STORE_POSTGRES_H

#include <libpq-fe.h>
#include <limits.h>

#include "store/journal_lines.h"
#include "store/kind.h"

enum { FLEET_VERSION = 6, LEASE_MS = 15000 };

/* ---- URLs: postgres_url.c ---- */

struct url {
  char whole[PATH_MAX];    /* as it was given; begins messages */
  char database[PATH_MAX]; /* what libpq connects to */
  char run[JOURNAL_RUN_ID + 1];
  size_t before, behind; /* in `whole`: where "/<run>" begins and ends */
};

/* ERROR_INVALID: it is no URL of PostgreSQL, holds a password, or (with `run`) names no run. */
bool url_read(const char *text, bool run, struct url *, struct error *);
/* Makes it the URL of the database alone: so begin messages about what several runs share. */
void url_drop_run(struct url *);
/* The URL of another run of the same database; `to` has PATH_MAX bytes. */
bool url_write(const struct url *, const char *run, char *to);

/* ---- connections: postgres_link.c ---- */

enum { STATEMENTS = 24 };

/* The states of a statement with parameters on a connection. It is prepared when it is performed
 * for the second time: planning it takes the server several times as long as performing it.
 *
 *   from    when                      to
 *   NEW     it is to be performed     SEEN
 *   SEEN    it is to be, once more    PREPARED, or still SEEN where that failed */
enum statement_state { STATEMENT_NEW, STATEMENT_SEEN, STATEMENT_PREPARED };

struct statement {
  const char *text; /* NULL: none; compared by its address */
  char name[8];
  enum statement_state state;
};

struct link {
  const struct sys *sys;
  const struct url *url;
  PGconn *connection; /* NULL: none */
  const char *commit; /* the setting of synchronous_commit; NULL: the server's own, or more */
  bool dropped;       /* the connection is broken, even if libpq has not noticed yet */
  uint64_t opened;    /* how often it was opened */
  int64_t lease_ms;
  bool fresh;   /* may be connected to a database without tables */
  bool at_once; /* link_open does not wait for a server that restarts */
  struct statement statements[STATEMENTS];
};

/* Begins a statement whose commit need not be durable: what follows it in the log of the database
 * will be, and nothing depends on it before. The statement selects from `quick`. */
#define LAZILY "with quick as materialized (select set_config('synchronous_commit', 'off', true)) "

/* A parameter of a statement: text, bytes, or a number where `data` is NULL. */
struct value {
  const char *data;
  int length; /* -1: text */
  int64_t number;
  bool is_null;
};

#define TEXT(from) ((struct value){.data = (from), .length = -1})
#define BYTES(from)                                                                                \
  ((struct value){.data = (from).data ? (from).data : "", .length = (int)(from).length})
#define NUMBER(from) ((struct value){.number = (int64_t)(from)})

void link_init(struct link *, const struct sys *, const struct url *);
/* Connects if it is not connected; waits for a server that is out of reach (10 s, once in this
 * process) or restarts (30 s). ERROR_MISSING: there are no tables; ERROR_NEWER. */
bool link_open(struct link *, struct error *);
/* Until when, on the monotonic clock, a process that has runs tries to reach their server: for 30 s
 * from when it began to, whichever of the runs asks. */
int64_t link_until(const struct sys *);
/* The same as link_open; tries at least until this time of the monotonic clock. */
bool link_open_until(struct link *, int64_t until_ns, struct error *);
void link_close(struct link *);
bool link_broken(const struct link *);
/* How many connections this process has made. Behind a new one there may be another server: a
 * standby that was promoted. */
uint64_t link_openings(void);
/* Performs a statement; one with parameters is a constant of the program. The result is to be
 * cleared by PQclear. NULL: it failed. */
PGresult *link_ask(struct link *, const char *statement, int count, const struct value *,
                   struct error *);
/* The same; returns the number of rows that it changed or returned; -1: it failed. */
int link_do(struct link *, const char *statement, int count, const struct value *, struct error *);
int64_t cell_number(const PGresult *, int row, int column);
struct span cell_bytes(const PGresult *, int row, int column);
void cell_text(const PGresult *, int row, int column, char *to, size_t room); /* "": NULL */

/* ---- blobs: postgres_blob.c ---- */

/* Appends the value; ERROR_CORRUPT: it is missing, or not what its digest says. */
bool blob_find(struct link *, const char *digest, struct buffer *to, struct error *);
/* Adds it, unless it is there already. */
bool blob_keep(struct link *, const char *digest, struct span value, struct error *);

/* ---- commits: postgres_commit.c ---- */

struct commits;

enum outcome { OUTCOME_OURS, OUTCOME_NOBODYS, OUTCOME_ANOTHERS, OUTCOME_GONE, OUTCOME_UNKNOWN };

/* The states of a batch:
 *
 *   from      when                             to
 *   IDLE      commits_put                      WAITS
 *   WAITS     what became of it is known       SETTLED
 *   SETTLED   its store has heard of it        IDLE */
enum put_state { PUT_IDLE, PUT_WAITS, PUT_SETTLED };

/* A batch that is to be committed; its store has one at a time. */
struct put {
  struct put *next;
  const struct url *url;
  uint32_t batch, segment;
  uint64_t seq, records; /* as in struct bundle */
  uint32_t before;       /* the crc of the line before it */
  bool is_lazy;          /* a record of the store's own: needs no durable commit */
  struct span lines;
  const char *owner; /* who has the run, and since which taking */
  int64_t taking;
  uint64_t connection; /* link.opened when the batch before it was seen */
  enum put_state state;
  enum outcome outcome; /* once settled */
  struct error why;     /* of OUTCOME_UNKNOWN */
};

/* The connection of this process to a database, with this setting of synchronous_commit ("": the
 * server's own, or more); shared by all who take it. */
bool commits_take(const struct sys *, const struct url *, const char *setting, struct commits **,
                  struct error *);
void commits_release(struct commits *); /* NULL is fine */
/* Its connection, for nobody else until commits_leave; messages name `url`. NULL: there is no
 * server. Never between the two: commits_wait, and what calls it. */
struct link *commits_enter(struct commits *, const struct url *, struct error *);
void commits_leave(struct commits *);
/* Reads a blob, as blob_find does; small ones are kept. */
bool commits_blob(struct commits *, const struct url *, const char *digest, struct buffer *,
                  struct error *);
/* Adds the blobs of a batch, each in a commit of its own: before the row that refers to them. */
bool commits_add_blobs(struct commits *, const struct url *, const struct batch *, struct error *);
void commits_put(struct commits *, struct put *);
/* Whether a batch that ends with this crc is still there: a standby that was promoted may lack rows
 * that its primary had committed, and a server that crashed those that were lazy; another process
 * may have written in their place. -1: it is not known. */
int commits_has(struct link *, const char *run, uint32_t batch, uint32_t crc, struct error *);
/* Waits until the batch is settled, and commits what is there if nobody does. False: none was put.
 */
bool commits_wait(struct commits *, struct put *);

/* ---- leases: postgres_lease.c ---- */

struct lease;

/* The lease of this process for a database; begins one where there is none. */
bool lease_take(const struct sys *, const struct url *, struct lease **, struct error *);
void lease_release(struct lease *);
const char *lease_id(const struct lease *);
/* Whether the lease is still valid; renews it where that is not certain, and tries until this time
 * of the monotonic clock, at least once. ERROR_LOST: another process found it expired. */
bool lease_held(struct lease *, int64_t until_ns, struct error *);
/* That a store takes a run: a number that no other taking has. Those of a lease grow. */
struct taking {
  struct taking *next;
  int64_t number;
};

/* Numbers a taking; the lease knows it until lease_forgets. A run that the lease has by another one
 * is given back with a renewal, once the server may have lost or delayed a statement. */
void lease_knows(struct lease *, struct taking *);
/* `doubtful`: the statement that takes the run may still be on its way. */
void lease_forgets(struct lease *, const struct taking *, bool doubtful);
/* A run that a claim took for the lease, and that no store has opened yet. */
struct claim {
  struct claim *next;
  struct taking taking; /* the lease knows it */
  uint64_t openings;    /* link_openings before it was taken */
  char run[JOURNAL_RUN_ID + 1];
  struct header header; /* what lists showed of it before */
  PGresult *rows;       /* of its journal, as rows_end read them first; no process adds any before
                           is opened. NULL: they were not read */
  const struct link *link; /* on this connection */
  uint64_t opened;         /* and then link->opened */
};

/* NULL: out of memory. */
struct claim *lease_claim(struct lease *, const char *run, const struct header *);
struct claim *lease_find_claim(struct lease *, const char *run); /* NULL: there is none */
/* That of a URL, where this process has a lease for the database. */
struct claim *lease_claim_at(const struct url *);
void lease_drop_claim(struct lease *, struct claim *, bool doubtful);
/* A store opens the run: the claim and its taking become the store's. NULL: it was not claimed. */
struct claim *lease_open_claim(struct lease *, const char *run, struct taking *);
void claim_free(const struct sys *, struct claim *); /* NULL is fine */
/* To be called where the database could not be reached when a run was to be released: that is done
 * with the next renewal. */
void lease_release_later(struct lease *, const char *run, int64_t taking, const struct header *);
/* Whether the process that wrote this ran on this machine and has ended. */
bool lease_is_dead(const struct sys *, const char *process);

/* ---- a run's row: postgres_run.c ---- */

/* Makes this lease the holder of the run. ERROR_BUSY, ERROR_MISSING. False with `*taken`: the
 * answer was lost, and it may be the holder, or may become it: give the run back. */
bool run_take(struct link *, const char *run, const char *owner, int64_t taking, bool *taken,
              struct error *);
/* Releases the run if it is held since this taking; lists show this header, that of the last batch,
 * from now on (NULL: none), and no worker claims it for `rest_ms`. False: the database was not
 * reached. */
bool run_give_back(struct link *, const char *run, const char *owner, int64_t taking,
                   const struct header *, int64_t rest_ms);
/* Whether it is held since this taking; -1: it is not known. */
int run_is_held(struct link *, const char *run, const char *owner, int64_t taking, struct error *);
bool postgres_holder(const struct sys *, const char *at, char line[STORE_HOLDER]);
bool postgres_exists(const struct sys *, const char *at);
bool postgres_list(const struct sys *, const char *at,
                   bool (*each)(void *data, const struct listing *), void *data, struct error *);

/* ---- rows of the journal: postgres_rows.c ---- */

/* The end of a journal, or of one row of it. */
struct rows_end {
  struct journal_chain chain; /* its last line */
  uint32_t segment;
  uint64_t records; /* payloads up to it */
  uint64_t payload; /* the last one's number; 0: there is none */
  bool closed;
  struct header header;
};

/* What to search for, from the end of a journal backwards. */
struct rows_look {
  char *run_id; /* 65 bytes */
  bool present; /* ERROR_MISSING also where the run was moved away */
  struct span ending;
  uint64_t newest;     /* the last payload with that ending; 0: none, or none was searched for */
  struct claim *claim; /* of the run, which is open nowhere yet; NULL: there is none */
  bool keeps;          /* `all` is wanted */
  PGresult *all; /* all rows, where they are few, for rows_give; to be cleared. NULL: too many */
};

/* Reads the end of a journal, as far back as the payload that is searched for. */
bool rows_end(struct link *, const char *run, struct rows_look *, struct rows_end *,
              struct error *);
/* Checks and gives every payload from record `from` to the end; every row where `to` is not NULL.
 */
bool rows_read(struct link *, const char *run, const struct rows_end *, uint64_t from,
               bool (*each)(void *, const struct record *, struct error *), void *data,
               struct receiver *to, struct error *);
/* The same with the rows that rows_end kept. */
bool rows_give(const struct link *, const PGresult *all, uint64_t from,
               bool (*each)(void *, const struct record *, struct error *), void *data,
               struct error *);
bool rows_record(struct link *, const char *run, const struct rows_end *, uint64_t seq,
                 struct buffer *to, struct error *);

/* ---- labels: postgres_label.c ---- */

/* Adds the rows that count the runs with the label's key, where they are not there. */
bool label_provide(const struct sys *, const struct url *, const struct label *, struct error *);
bool postgres_label(const struct sys *, const char *at, const struct label *, struct error *);
bool postgres_pause(const struct sys *, const char *at, const char *queue, bool paused,
                    struct error *);

/* ---- claims: postgres_claim.c ---- */

bool postgres_claims(const struct sys *, const char *at, const char *queue, struct claims **,
                     struct error *);

/* ---- the rest ---- */

bool postgres_open(const struct sys *, const char *at, const struct store_options *,
                   struct store **, struct store_report *, struct error *);
/* Opens a run as STORE_SUBMIT: postgres_submit.c */
bool postgres_submit(const struct sys *, const struct url *, const struct store_options *,
                     struct store **, struct store_report *, struct error *);
bool postgres_hold(const struct sys *, const char *at, struct hold **, struct error *);
bool postgres_inbox(const struct sys *, const char *at, struct inbox **, struct error *);
bool postgres_watch(const struct sys *, const char *at, struct uv_loop_s *, void (*changed)(void *),
                    void *data, struct watch **, struct error *);
/* The same for the inbox; usually without delay. */
bool postgres_listen(const struct sys *, const struct url *, struct uv_loop_s *,
                     void (*changed)(void *), void *data, struct watch **, struct error *);
/* The same for everything that may be claimed in a database. */
bool postgres_watch_claims(const struct sys *, const struct url *, struct uv_loop_s *,
                           void (*changed)(void *), void *data, struct watch **, struct error *);
bool postgres_prepare(const struct sys *, const char *at, const struct store_setup *,
                      struct buffer *missing, struct error *);
bool postgres_retire(const struct sys *, const char *at, const char *before, bool only_look,
                     struct buffer *to, struct error *);
bool postgres_leave(const struct sys *, const char *at, enum leaving, const struct departure *,
                    struct error *);
bool postgres_departed(const struct sys *, const char *at, struct departure *, struct error *);
bool postgres_send(const struct sys *, const char *at, struct receiver *, struct error *);
bool postgres_receive(const struct sys *, const char *at, const char *run_id, struct receiver **,
                      struct error *);

#endif
