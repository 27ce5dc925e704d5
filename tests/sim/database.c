/* database.c: libpq and a server for the simulator: the tables of skillrt with one run, and a
 * network that loses, delays and repeats statements.
 *
 * No rule of skillrt is written here: a statement of csrc/store/postgres*.c is known by how it
 * begins, and does to the tables what PostgreSQL would; of a table's key and a deadline's clock the
 * statement's text decides. What no worker may do is looked at from outside. */
#include "sim/database.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "sim/fleet.h"
#include "sim/image.h"
#include "sim/world.h"
#include "store/postgres.h"

enum { WORKERS_MAX = 128, VALUES_MAX = 8, LATER_MAX = 64, MS = 1000000, TEXT_MAX = 256 };
enum { CELLS_MAX = 6 * 1024, PROCESSES_MAX = 1024 };

struct bytes {
  char *data;
  size_t length;
};

struct journal_row {
  int64_t batch, segment, seq, records;
  struct bytes lines;
};

struct worker_row {
  char id[40], line[STORE_HOLDER], process[200];
  int64_t deadline_ns;
  unsigned of; /* the process that added it */
  bool gone;
};

struct run_row {
  bool there;
  char run[80], id[80], owner[40], status[STORE_STATUS], about[STORE_ABOUT];
  int64_t due, taking, rests_ns; /* until then no worker claims it */
};

struct arrival_row {
  char key[80], fate[16];
  struct bytes text;
  int64_t came_ms;
};

struct blob_row {
  char digest[65];
  struct bytes value;
};

/* A statement that arrives when its sender does not wait for it any more. */
struct later {
  int64_t at_ns;
  const char *text;
  int count, lengths[VALUES_MAX];
  const char *values[VALUES_MAX];
};

/* What the tables held at a time; blobs that were kept are never lost. */
struct kept {
  struct run_row run;
  struct worker_row workers[WORKERS_MAX];
  struct journal_row *journal;
  struct arrival_row *arrivals;
  size_t worker_count, journal_count, arrival_count;
  uint64_t order; /* of the world: what was sent since then is newer */
  bool durable;   /* a statement behind it was to survive a crash of the server */
};

struct database {
  char key[TEXT_MAX]; /* of the journal */
  int64_t version, lease_ms;
  struct run_row run;
  struct journal_row *journal;
  struct worker_row workers[WORKERS_MAX];
  int64_t
      deadlines_ns[PROCESSES_MAX]; /* the latest of each process, also of leases that are gone */
  struct arrival_row *arrivals;
  struct blob_row *blobs;
  size_t journal_count, worker_count, arrival_count, blob_count;
  struct later later[LATER_MAX];
  size_t later_count;
  bool harmed;
  uint64_t statements, harmed_until, restart_at, keep_at;
  bool promotes; /* what restarts is a standby, which lacks what came behind `kept` */
  struct kept *kept;
  struct bytes *lost;
  size_t lost_count;
  unsigned losses, knows[PROCESSES_MAX]; /* which of them a process has had a chance to see */
  int64_t down_until_ns;
  unsigned starts;
};

struct pg_conn {
  bool broken, refused, is_lazy;    /* synchronous_commit is off */
  unsigned starts;                  /* of the server, when it was made */
  const char *prepared[STATEMENTS]; /* by their names: s0, s1 ... */
};

struct cell {
  bool is_null;
  int length;
  char *data;
};

struct pg_result {
  ExecStatusType status;
  int columns, count, changed;
  char changed_text[16];
  struct cell *cells;
};

/* A statement that is performed. */
struct call {
  const char *text;
  const char *const *values;
  const int *lengths;
  PGresult *to;
};

#define DB (world->database)

/* ---- memory of the arena ---- */

static struct bytes kept(const char *data, size_t length) {
  struct bytes to = {arena_calloc(1, length + 1), length};
  memcpy(to.data, data, length);
  return to;
}

/* Room for one more. */
static void *grown(void *rows, size_t count, size_t size) {
  return (count & (count - 1)) == 0 ? arena_realloc(rows, (count ? 2 * count : 1) * size) : rows;
}

/* ---- results: of the memory of the process that asks ---- */

static void add_cell(PGresult *r, const void *data, int length, bool is_null) {
  int count = r->count++;
  r->cells =
      image_alloc(r->cells, (size_t)count * sizeof *r->cells, (size_t)r->count * sizeof *r->cells);
  struct cell *cell = &r->cells[count];
  *cell = (struct cell){.is_null = is_null, .length = length};
  cell->data = image_alloc(NULL, 0, (size_t)length + 1);
  memcpy(cell->data, data, (size_t)length);
  cell->data[length] = '\0';
}

static void add_text(const struct call *a, const char *text) {
  add_cell(a->to, text, (int)strlen(text), false);
}

static void add_null(const struct call *a) {
  add_cell(a->to, "", 0, true);
}

static void add_bytes(const struct call *a, struct bytes bytes) {
  add_cell(a->to, bytes.data, (int)bytes.length, false);
}

static void add_number(const struct call *a, int64_t number) {
  unsigned char bytes[8];
  for (int i = 0; i < 8; i++)
    bytes[i] = (unsigned char)((uint64_t)number >> (56 - 8 * i));
  add_cell(a->to, bytes, 8, false);
}

static void columns(const struct call *a, int count) {
  a->to->status = PGRES_TUPLES_OK;
  a->to->columns = count;
}

static const char *text_of(const struct call *a, int parameter) {
  return a->values[parameter - 1] ? a->values[parameter - 1] : "";
}

static int64_t number_of(const struct call *a, int parameter) {
  return strtoll(text_of(a, parameter), NULL, 10);
}

static struct bytes bytes_of(const struct call *a, int parameter) {
  return (struct bytes){(char *)(uintptr_t)a->values[parameter - 1],
                        (size_t)a->lengths[parameter - 1]};
}

static struct worker_row *worker_of(const char *id) {
  for (size_t i = 0; i < DB->worker_count; i++)
    if (!DB->workers[i].gone && strcmp(DB->workers[i].id, id) == 0) return &DB->workers[i];
  return NULL;
}

/* ---- statements ---- */

static void nothing(struct call *a) {
  (void)a;
}

static void one_row(struct call *a) {
  columns(a, 1);
  add_number(a, 1);
}

static void no_row(struct call *a) {
  columns(a, 1);
}

/* A table is not there yet, and there is no standby. */
static void none_is_there(struct call *a) {
  columns(a, 1);
  add_number(a, 0);
}

static void current_setting(struct call *a) {
  columns(a, 1);
  add_text(a, "on");
}

static void create_journal(struct call *a) {
  const char *key = strstr(a->text, "primary key (");
  snprintf(DB->key, sizeof DB->key, "%.*s", key ? (int)strcspn(key, ")") : 0, key ? key : "");
}

static void put_version(struct call *a) {
  DB->version = number_of(a, 1);
  DB->lease_ms = number_of(a, 2);
  a->to->changed = 1;
}

static void version(struct call *a) {
  columns(a, 2);
  if (!DB->version) return;
  add_number(a, DB->version);
  add_number(a, DB->lease_ms);
}

/* The parameter is a duration from now on the server's clock, or a time. */
static int64_t deadline_of(const struct call *a, int parameter) {
  int64_t ms = number_of(a, parameter);
  return strstr(a->text, "clock_timestamp() + ") ? world->now_ns + ms * MS
                                                 : (ms - world->wall_ms) * MS;
}

static void set_deadline(struct worker_row *w, int64_t deadline_ns) {
  assert(w->of < PROCESSES_MAX);
  w->deadline_ns = deadline_ns;
  if (deadline_ns > DB->deadlines_ns[w->of]) DB->deadlines_ns[w->of] = deadline_ns;
}

static void add_worker(struct call *a) {
  struct worker_row *w = DB->workers;
  if (worker_of(text_of(a, 1))) return; /* its key is taken */
  while (w < DB->workers + DB->worker_count && !w->gone)
    w++;
  assert(w < DB->workers + WORKERS_MAX);
  if (w == DB->workers + DB->worker_count) DB->worker_count++;
  w->gone = false;
  snprintf(w->id, sizeof w->id, "%s", text_of(a, 1));
  snprintf(w->line, sizeof w->line, "%s", text_of(a, 2));
  snprintf(w->process, sizeof w->process, "%s", text_of(a, 3));
  w->of = (unsigned)atoi(w->line);
  set_deadline(w, deadline_of(a, 4));
  a->to->changed = 1;
}

static void renew(struct call *a) {
  struct worker_row *w = worker_of(text_of(a, 1));
  if (!w) return;
  set_deadline(w, deadline_of(a, 2));
  a->to->changed = 1;
}

/* Its runs have no owner then. */
static void remove_worker(struct call *a) {
  struct worker_row *w = worker_of(text_of(a, 1));
  bool lapsed = w && w->deadline_ns < world->now_ns;
  if (!w || (strstr(a->text, "deadline <") && !lapsed && number_of(a, 2) != 1)) return;
  w->gone = true;
  a->to->changed = 1;
  if (strcmp(DB->run.owner, w->id) == 0) DB->run.owner[0] = '\0';
}

static void holder(struct call *a) {
  const struct run_row *run = &DB->run;
  const struct worker_row *w = worker_of(run->owner);
  columns(a, 5);
  if (!run->there) return;
  if (run->owner[0])
    add_text(a, run->owner);
  else
    add_null(a);
  if (w) {
    add_text(a, w->line);
    add_text(a, w->process);
    add_number(a, w->deadline_ns < world->now_ns);
  } else {
    for (int i = 0; i < 3; i++)
      add_null(a);
  }
  add_text(a, run->status);
}

static void find_run(struct call *a) {
  columns(a, 1);
  if (DB->run.there) add_number(a, 1);
}

static void add_run(struct call *a) {
  if (DB->run.there) return;
  DB->run.there = true;
  snprintf(DB->run.run, sizeof DB->run.run, "%s", text_of(a, 1));
  snprintf(DB->run.id, sizeof DB->run.id, "%s", text_of(a, 2));
  strcpy(DB->run.status, "executing");
  a->to->changed = 1;
}

static void take_run(struct call *a) {
  struct run_row *run = &DB->run;
  if (!run->there || run->owner[0] || !worker_of(text_of(a, 2))) return;
  snprintf(run->owner, sizeof run->owner, "%s", text_of(a, 2));
  run->taking = number_of(a, 3);
  strcpy(run->status, "executing");
  run->due = 0;
  run->about[0] = '\0';
  a->to->changed = 1;
}

static bool is_waiting(void) {
  const struct run_row *run = &DB->run;
  bool comes = run->due > 0 && run->due <= world->wall_ms + world->now_ns / MS;
  for (size_t i = 0; i < DB->arrival_count; i++)
    comes = comes || strcmp(DB->arrivals[i].fate, "waits") == 0;
  return run->there && !run->owner[0] && run->rests_ns <= world->now_ns &&
         (strcmp(run->status, "executing") == 0 || (strcmp(run->status, "paused") == 0 && comes));
}

static void next_claims(struct call *a) {
  const struct run_row *run = &DB->run;
  columns(a, 8);
  if (!is_waiting()) return;
  add_text(a, run->run);
  add_text(a, "");
  for (int i = 0; i < 3; i++)
    add_number(a, 0);
  add_text(a, run->status);
  add_number(a, run->due);
  add_text(a, run->about);
}

/* Of a list of one run. */
static void claim_run(struct call *a) {
  struct run_row *run = &DB->run;
  if (!run->there || run->owner[0] || !worker_of(text_of(a, 1))) return;
  snprintf(run->owner, sizeof run->owner, "%s", text_of(a, 1));
  run->taking = strtoll(text_of(a, 3) + 1, NULL, 10);
  strcpy(run->status, "executing");
  run->due = 0;
  run->about[0] = '\0';
  a->to->changed = 1;
}

static void remove_lapsed(struct call *a) {
  for (size_t i = 0; i < DB->worker_count; i++) {
    struct worker_row *w = &DB->workers[i];
    if (w->gone || w->deadline_ns >= world->now_ns) continue;
    w->gone = true;
    a->to->changed++;
    if (strcmp(DB->run.owner, w->id) == 0) DB->run.owner[0] = '\0';
  }
}

static void give_back(struct call *a) {
  struct run_row *run = &DB->run;
  if (!run->owner[0] || strcmp(run->owner, text_of(a, 2)) != 0) return;
  if (run->taking != number_of(a, 6)) return;
  run->owner[0] = '\0';
  snprintf(run->status, sizeof run->status, "%s", text_of(a, 3));
  run->due = number_of(a, 4);
  snprintf(run->about, sizeof run->about, "%s", text_of(a, 5));
  run->rests_ns = number_of(a, 7) > 0 ? world->now_ns + number_of(a, 7) * MS : 0;
  a->to->changed = 1;
}

static void find_owner(struct call *a) {
  const struct run_row *run = &DB->run;
  columns(a, 1);
  if (run->there && strcmp(run->owner, text_of(a, 2)) == 0 && run->taking == number_of(a, 3))
    add_number(a, 1);
}

static void give_back_unknown(struct call *a) {
  struct run_row *run = &DB->run;
  if (!run->owner[0] || strcmp(run->owner, text_of(a, 1)) != 0) return;
  if (run->taking > number_of(a, 2)) return;
  for (const char *at = text_of(a, 3); at; at = strchr(at + 1, ','))
    if (strtoll(at + 1, NULL, 10) == run->taking) return;
  run->owner[0] = '\0';
  a->to->changed = 1;
}

/* ---- the journal ---- */

static const struct journal_row *row_at(int64_t batch) {
  for (size_t i = DB->journal_count; i-- > 0;)
    if (DB->journal[i].batch == batch) return &DB->journal[i];
  return NULL;
}

static bool same_key(const struct journal_row *one, const struct journal_row *other) {
  return (one->batch == other->batch || !strstr(DB->key, "batch")) &&
         (one->segment == other->segment || !strstr(DB->key, "segment")) &&
         (one->seq == other->seq || !strstr(DB->key, "seq"));
}

static bool add_row(const struct journal_row *row) {
  int64_t newest = 0;
  for (size_t i = 0; i < DB->journal_count; i++) {
    if (same_key(&DB->journal[i], row)) return false;
    if (DB->journal[i].segment > newest) newest = DB->journal[i].segment;
  }
  if (row->segment < newest)
    world_wrong("batch %ld is of a worker that has lost the run", (long)row->batch);
  DB->journal = grown(DB->journal, DB->journal_count, sizeof *DB->journal);
  DB->journal[DB->journal_count] = *row;
  DB->journal[DB->journal_count++].lines = kept(row->lines.data, row->lines.length);
  return true;
}

static int64_t big_endian(const char *from, size_t size) {
  uint64_t value = 0;
  for (size_t i = 0; i < size; i++)
    value = value << 8 | (unsigned char)from[i];
  return (int64_t)value;
}

/* The next cell of a column: an array in the server's own form. */
static struct bytes next_cell(const char **at) {
  size_t length = (size_t)big_endian(*at, 4);
  struct bytes cell = {(char *)(uintptr_t)*at + 4, length};
  *at += 4 + length;
  return cell;
}

static void add_rows(struct call *a) {
  enum { HEAD = 20 };
  const char *at[6];
  for (int i = 0; i < 6; i++)
    at[i] = a->values[i] + HEAD;
  columns(a, 2);
  for (int64_t count = big_endian(a->values[0] + 12, 4); count > 0; count--) {
    struct bytes run = next_cell(&at[0]), cells[5];
    for (int i = 0; i < 5; i++)
      cells[i] = next_cell(&at[i + 1]);
    struct journal_row row = {big_endian(cells[0].data, 4), big_endian(cells[1].data, 4),
                              big_endian(cells[2].data, 8), big_endian(cells[3].data, 8), cells[4]};
    if (!add_row(&row)) continue;
    add_bytes(a, run);
    add_number(a, row.batch);
  }
}

static void put_row(struct call *a) {
  struct journal_row row = {number_of(a, 2), number_of(a, 3), number_of(a, 4), number_of(a, 5),
                            bytes_of(a, 6)};
  columns(a, 2);
  if (!add_row(&row)) return;
  add_text(a, text_of(a, 1));
  add_number(a, row.batch);
}

static void any_row(struct call *a) {
  columns(a, 1);
  if (DB->journal_count) add_number(a, 1);
}

static void row_lines(struct call *a) {
  const struct journal_row *row = row_at(number_of(a, 2));
  columns(a, 2);
  if (!row) return;
  add_number(a, row->segment);
  add_bytes(a, row->lines);
}

static void row_seq(struct call *a) {
  const struct journal_row *row = row_at(number_of(a, 2));
  columns(a, 1);
  if (row) add_number(a, row->seq);
}

static void add_whole(struct call *a, const struct journal_row *row) {
  add_number(a, row->batch);
  add_number(a, row->segment);
  add_number(a, row->seq);
  add_number(a, row->records);
  add_bytes(a, row->lines);
}

static int64_t last_batch(void) {
  return DB->journal_count ? DB->journal[DB->journal_count - 1].batch : -1;
}

static void rows_backwards(struct call *a) {
  int64_t before = number_of(a, 2), limit = number_of(a, 3);
  columns(a, 5);
  int64_t last = last_batch();
  if (last >= before) last = before - 1;
  for (; last >= 0 && limit > 0; last--, limit--)
    if (row_at(last)) add_whole(a, row_at(last));
}

/* The first row, and those of the end. */
static void rows_of_both_ends(struct call *a) {
  int64_t limit = number_of(a, 2);
  columns(a, 5);
  if (row_at(0)) add_whole(a, row_at(0));
  for (int64_t last = last_batch(); last >= 0 && limit > 0; last--, limit--)
    if (row_at(last)) add_whole(a, row_at(last));
}

static void rows_forwards(struct call *a) {
  int64_t from = number_of(a, 2), to = number_of(a, 3), limit = number_of(a, 4);
  columns(a, 5);
  for (; from <= to && limit > 0 && row_at(from); from++, limit--)
    add_whole(a, row_at(from));
}

/* ---- blobs and the inbox ---- */

static const struct blob_row *blob_of(const char *digest) {
  for (size_t i = 0; i < DB->blob_count; i++)
    if (strcmp(DB->blobs[i].digest, digest) == 0) return &DB->blobs[i];
  return NULL;
}

static void add_blob(struct call *a) {
  struct bytes value = bytes_of(a, 2);
  if (blob_of(text_of(a, 1))) return;
  DB->blobs = grown(DB->blobs, DB->blob_count, sizeof *DB->blobs);
  struct blob_row *row = &DB->blobs[DB->blob_count++];
  snprintf(row->digest, sizeof row->digest, "%s", text_of(a, 1));
  row->value = kept(value.data, value.length);
  a->to->changed = 1;
}

static void find_blob(struct call *a) {
  const struct blob_row *row = blob_of(text_of(a, 1));
  columns(a, 1);
  if (row) add_bytes(a, row->value);
}

static void put_arrival(struct call *a) {
  struct bytes text = bytes_of(a, 3);
  size_t at = a->values[1] ? 0 : DB->arrival_count;
  while (at < DB->arrival_count && strcmp(DB->arrivals[at].key, text_of(a, 2)) != 0)
    at++;
  if (at == DB->arrival_count) {
    DB->arrivals = grown(DB->arrivals, DB->arrival_count, sizeof *DB->arrivals);
    struct arrival_row *row = &DB->arrivals[DB->arrival_count++];
    *row = (struct arrival_row){.fate = "waits",
                                .text = kept(text.data, text.length),
                                .came_ms = world->wall_ms + world->now_ns / MS};
    snprintf(row->key, sizeof row->key, "%s", text_of(a, 2));
  }
  columns(a, 2);
  add_number(a, (int64_t)at + 1);
  add_text(a, "");
}

/* The row of an arrival with this number; NULL: there is none. */
static struct arrival_row *arrival_of(int64_t number) {
  return number > 0 && number <= (int64_t)DB->arrival_count ? &DB->arrivals[number - 1] : NULL;
}

static void waiting_arrivals(struct call *a) {
  bool counts = strstr(a->text, "count(*)");
  int64_t count = 0;
  columns(a, counts ? 1 : 2);
  for (size_t i = 0; i < DB->arrival_count; i++) {
    if (strcmp(DB->arrivals[i].fate, "waits") != 0) continue;
    count++;
    if (counts) continue;
    add_number(a, (int64_t)i + 1);
    add_number(a, DB->arrivals[i].came_ms);
  }
  if (counts) add_number(a, count);
}

static void arrival_text(struct call *a) {
  const struct arrival_row *row = arrival_of(number_of(a, 1));
  columns(a, 1);
  if (row) add_bytes(a, row->text);
}

static void arrival_fate(struct call *a) {
  const struct arrival_row *row = arrival_of(number_of(a, 2));
  columns(a, 1);
  if (row) add_text(a, row->fate);
}

static void arrival_becomes(struct call *a) {
  struct arrival_row *row = arrival_of(number_of(a, 2));
  if (!row) return;
  strcpy(row->fate, strstr(a->text, "'refused'") ? "refused" : "taken");
  a->to->changed = 1;
}

/* By how they begin. */
static const struct {
  const char *begins;
  void (*perform)(struct call *);
} statements[] = {
    {"begin", nothing},
    {"commit", nothing},
    {"rollback", nothing},
    {"with slots as materialized", next_claims},
    {"update skillrt.run r set owner = $1, taking = t.taking", claim_run},
    {"delete from skillrt.worker where deadline < clock_timestamp()", remove_lapsed},
    {"select set_config", one_row},
    {"select version, lease_ms from skillrt.fleet", version},
    {"select pg_advisory_xact_lock", one_row},
    {"select to_regclass", none_is_there},
    {"select count(*) from pg_stat_replication", none_is_there},
    {"select 1 from skillrt.fleet", no_row},
    {"select current_setting", current_setting},
    {"insert into skillrt.fleet", put_version},
    {"create table skillrt.journal (", create_journal},
    {"insert into skillrt.worker", add_worker},
    {"update skillrt.worker set deadline", renew},
    {"delete from skillrt.worker where worker = $1", remove_worker},
    {"select r.owner, w.line, w.process, w.deadline < clock_timestamp(), r.status", holder},
    {"select 1 from skillrt.run where run = $1 and status <> 'moved'", find_run},
    {"select id, coalesce(away_to, '')", no_row},
    {LAZILY "insert into skillrt.run (run, id)", add_run},
    {"update skillrt.run set id = $2 where run = $1 and id <> $2", nothing},
    {LAZILY "update skillrt.run set owner = $2", take_run},
    {LAZILY "update skillrt.run set owner = null, status", give_back},
    {"update skillrt.run set owner = null, claimed = null where owner", give_back_unknown},
    {"select 1 from skillrt.run where run = $1 and owner = $2", find_owner},
    {"insert into skillrt.journal (run, batch, segment, seq, records, lines) values", put_row},
    {"insert into skillrt.journal", add_rows},
    {LAZILY "insert into skillrt.journal", add_rows},
    {"select 1 from skillrt.journal where run = $1 limit 1", any_row},
    {"select segment, lines from skillrt.journal where run = $1 and batch = $2", row_lines},
    {"select seq from skillrt.journal where run = $1 and batch = $2", row_seq},
    {"select batch, segment, seq, records, lines from skillrt.journal where run = $1 and batch = 0",
     rows_of_both_ends},
    {"select batch, segment, seq, records, lines from skillrt.journal where run = $1 and batch <",
     rows_backwards},
    {"select batch, segment, seq, records, lines from skillrt.journal where run = $1 and batch >=",
     rows_forwards},
    {"insert into skillrt.blob", add_blob},
    {"select value from skillrt.blob", find_blob},
    {"with put as (insert into skillrt.inbox", put_arrival},
    {"select arrival, (extract(epoch from came) * 1000)::bigint", waiting_arrivals},
    {"select count(*) from skillrt.inbox", waiting_arrivals},
    {"select text from skillrt.inbox", arrival_text},
    {"select fate from skillrt.inbox", arrival_fate},
    {"update skillrt.inbox set fate", arrival_becomes},
};

static size_t statement_of(const char *text) {
  for (size_t i = 0; i < sizeof statements / sizeof *statements; i++)
    if (strncmp(text, statements[i].begins, strlen(statements[i].begins)) == 0) return i;
  if (!fleet_process()) return 0; /* the tables are prepared, and have all that matters here */
  fprintf(stderr, "the simulated database does not know: %s\n", text);
  abort();
}

/* ---- what a server loses ---- */

static void keep(void) {
  struct kept *to = DB->kept = arena_calloc(1, sizeof *to);
  to->run = DB->run;
  memcpy(to->workers, DB->workers, sizeof to->workers);
  to->worker_count = DB->worker_count;
  to->journal_count = DB->journal_count;
  to->arrival_count = DB->arrival_count;
  to->arrivals = arena_calloc(DB->arrival_count + 1, sizeof *to->arrivals);
  if (DB->arrival_count)
    memcpy(to->arrivals, DB->arrivals, DB->arrival_count * sizeof *DB->arrivals);
  to->order = world->order;
}

/* A server that crashes loses what needed no durable commit, a promoted standby what it had not
 * got yet. What was sent meanwhile is known to nobody then, unless its record is there. */
static void lose(void) {
  const struct kept *from = DB->kept;
  int64_t records = DB->journal_count ? DB->journal[DB->journal_count - 1].records : 0;
  for (size_t i = from->journal_count; i < DB->journal_count; i++) {
    DB->lost = grown(DB->lost, DB->lost_count, sizeof *DB->lost);
    DB->lost[DB->lost_count++] = DB->journal[i].lines;
  }
  world_note("the database loses %lu rows of the journal, and more",
             (unsigned long)(DB->journal_count - from->journal_count));
  DB->run = from->run;
  memcpy(DB->workers, from->workers, sizeof DB->workers);
  DB->worker_count = from->worker_count;
  DB->journal_count = from->journal_count;
  DB->arrival_count = from->arrival_count;
  if (from->arrival_count)
    memcpy(DB->arrivals, from->arrivals, from->arrival_count * sizeof *DB->arrivals);
  DB->later_count = 0;
  DB->losses++;
  if (records > (DB->journal_count ? DB->journal[DB->journal_count - 1].records : 0))
    world_forgotten(from->order);
}

unsigned database_losses(void) {
  return DB->losses;
}

bool database_lost(size_t row, const char **lines, size_t *size) {
  if (!DB || row >= DB->lost_count) return false;
  *lines = DB->lost[row].data;
  *size = DB->lost[row].length;
  return true;
}

/* ---- the server ---- */

static PGresult *new_result(void) {
  PGresult *r = image_alloc(NULL, 0, sizeof *r);
  memset(r, 0, sizeof *r);
  return r;
}

/* What arrives late has arrived by now. */
static void perform_late(void) {
  for (size_t i = 0; i < DB->later_count;) {
    struct later *late = &DB->later[i];
    if (late->at_ns > world->now_ns) {
      i++;
      continue;
    }
    PGresult *result = new_result();
    world_note("arrives late: %.60s", late->text);
    statements[statement_of(late->text)].perform(
        &(struct call){late->text, late->values, late->lengths, result});
    PQclear(result);
    *late = DB->later[--DB->later_count];
  }
}

static void arrive_later(const struct call *a, int count) {
  if (DB->later_count == LATER_MAX) return;
  struct later *late = &DB->later[DB->later_count++];
  *late = (struct later){.at_ns = world->now_ns +
                                  (int64_t)world_draw(world_one_in(3) ? 30000 : 300) * MS,
                         .text = kept(a->text, strlen(a->text)).data,
                         .count = count};
  for (int i = 0; i < count; i++) {
    size_t length = !a->values[i]   ? 0
                    : a->lengths[i] ? (size_t)a->lengths[i]
                                    : strlen(a->values[i]);
    late->lengths[i] = (int)length;
    late->values[i] = a->values[i] ? kept(a->values[i], length).data : NULL;
  }
}

static bool is_down(void) {
  return fleet_process() && world->now_ns < DB->down_until_ns;
}

static PGresult *broken(PGconn *c) {
  c->broken = true;
  PGresult *r = new_result();
  r->status = PGRES_FATAL_ERROR;
  return r;
}

enum harm_of_statement { HARM_NONE, LOST_BEFORE, LOST_AFTER, LATE, TWICE, SLOW };

static enum harm_of_statement draw_harm(void) {
  if (!DB->harmed || !fleet_process()) return HARM_NONE;
  uint64_t n = ++DB->statements;
  if (n > DB->harmed_until) return HARM_NONE;
  if (n == DB->keep_at) keep();
  if (n == DB->restart_at && !fleet_is_over() && !world_leaves_out("restart")) {
    DB->starts++;
    if (DB->kept && (DB->promotes || !DB->kept->durable) && !world_leaves_out("loss")) lose();
    DB->down_until_ns = world->now_ns + (int64_t)world_draw_for(40000, "restart") * MS;
    world_note("the database restarts: %ld ms", (long)((DB->down_until_ns - world->now_ns) / MS));
  }
  uint64_t kind = world_draw_for(150, "statement %lu", (unsigned long)n);
  if (kind < 1 || kind > SLOW || world_leaves_out("statement:%lu", (unsigned long)n))
    return HARM_NONE;
  return (enum harm_of_statement)kind;
}

static void travel(void) {
  fleet_sleep(50000 + (int64_t)world_draw(400000));
}

static void note_statement(const struct call *a) {
  const char *from =
      strncmp(a->text, LAZILY, strlen(LAZILY)) == 0 ? a->text + strlen(LAZILY) : a->text;
  world_note("process %u, owner %.6s, %d changed, %d cells: %.70s", fleet_process(), DB->run.owner,
             a->to->changed, a->to->count, from);
}

static PGresult *ask(PGconn *c, const char *text, int count, const char *const *values,
                     const int *lengths) {
  enum harm_of_statement harm = draw_harm();
  size_t which = statement_of(text);
  if (c->broken || c->starts != DB->starts || is_down()) return broken(c);
  struct call a = {text, values, lengths, NULL};
  if (harm)
    world_note("harm %d to statement %lu: %.50s", (int)harm, (unsigned long)DB->statements, text);
  travel();
  if (harm == SLOW) fleet_sleep((int64_t)world_draw(20000) * MS);
  if (harm == LATE) arrive_later(&a, count);
  if (harm == LOST_BEFORE || harm == LATE || is_down() || c->starts != DB->starts) return broken(c);
  perform_late();
  PGresult *r = a.to = new_result();
  statements[which].perform(&a);
  if (world->shows) note_statement(&a);
  if (strstr(text, "skillrt.journal")) DB->knows[fleet_process()] = DB->losses;
  if (strncmp(text, "select set_config('synchronous_commit'", 38) == 0)
    c->is_lazy = values[0] && strcmp(values[0], "off") == 0;
  bool adds = statements[which].perform == add_rows || statements[which].perform == put_row;
  bool changes = r->changed > 0 || (adds && r->count > 0);
  if (DB->kept && changes && !c->is_lazy && strncmp(text, LAZILY, strlen(LAZILY)) != 0)
    DB->kept->durable = true;
  /* A server performs a statement once. What changes nothing the second time is tried twice. */
  bool repeats = statements[which].perform != take_run && statements[which].perform != claim_run &&
                 statements[which].perform != add_worker;
  if (harm == TWICE && repeats) arrive_later(&a, count);
  if (harm == LOST_AFTER) {
    travel();
    PQclear(r);
    return broken(c);
  }
  if (harm == TWICE) fleet_sleep((int64_t)world_draw(5000) * MS); /* or its answer is slow */
  travel();
  return r;
}

struct database *database_new(bool harmed) {
  struct database *db = arena_calloc(1, sizeof *db);
  db->harmed = harmed;
  db->harmed_until = 20 + world_draw_for(400, "statements harmed");
  db->restart_at = world_draw_for(2, "restarts") ? 1 + world_draw_for(300, "restart at") : 0;
  if (world_draw_for(4, "loses") == 0) {
    db->keep_at = 10 + world_draw_for(110, "kept at");
    db->restart_at = db->keep_at + 1 + world_draw_for(30, "statements lost");
  }
  db->promotes = world_draw_for(2, "promotes");
  db->key[0] = '\0';
  return db;
}

/* ---- what is seen from outside ---- */

bool database_sends(const char *label) {
  perform_late();
  assert(fleet_process() < PROCESSES_MAX);
  if (DB->knows[fleet_process()] != DB->losses) return false;
  const struct worker_row *w = worker_of(DB->run.owner);
  if (!w || w->of != fleet_process())
    world_wrong("%s is sent by process %u, which has lost the run", label, fleet_process());
  else if (w->deadline_ns <= world->now_ns)
    world_wrong("%s is sent by process %u, %ld ms after its deadline", label, fleet_process(),
                (long)((world->now_ns - w->deadline_ns) / MS));
  return true;
}

void database_leash(int64_t until_ns) {
  int64_t deadline_ns = DB->deadlines_ns[fleet_process()];
  if (until_ns > deadline_ns)
    world_wrong("programs of process %u may live %ld ms longer than its lease", fleet_process(),
                (long)((until_ns - deadline_ns) / MS));
}

/* ---- watches: a run that is performed looks at its inbox without one (runtime.c) ---- */

bool postgres_listen(const struct sys *sys, const struct url *url, struct uv_loop_s *loop,
                     void (*changed)(void *), void *data, struct watch **watch, struct error *e) {
  (void)sys, (void)url, (void)loop, (void)changed, (void)data, (void)watch;
  return error_set(e, ERROR_MISSING, "the simulated database notifies nobody");
}

bool postgres_watch_claims(const struct sys *sys, const struct url *url, struct uv_loop_s *loop,
                           void (*changed)(void *), void *data, struct watch **watch,
                           struct error *e) {
  return postgres_listen(sys, url, loop, changed, data, watch, e);
}

bool postgres_watch(const struct sys *sys, const char *at, struct uv_loop_s *loop,
                    void (*changed)(void *), void *data, struct watch **watch, struct error *e) {
  (void)at;
  return postgres_listen(sys, NULL, loop, changed, data, watch, e);
}

/* ---- libpq ---- */

void PQreset(PGconn *c) {
  c->starts = DB->starts;
  c->broken = c->refused = is_down();
}

PGconn *PQconnectdbParams(const char *const *names, const char *const *values, int expand) {
  (void)names, (void)values, (void)expand;
  PGconn *c = image_alloc(NULL, 0, sizeof *c);
  memset(c, 0, sizeof *c);
  travel();
  PQreset(c);
  return c;
}

PGVerbosity PQsetErrorVerbosity(PGconn *c, PGVerbosity verbosity) {
  (void)c, (void)verbosity;
  return PQERRORS_DEFAULT;
}

int PQconnectionNeedsPassword(const PGconn *c) {
  (void)c;
  return 0;
}

ConnStatusType PQstatus(const PGconn *c) {
  return c->broken ? CONNECTION_BAD : CONNECTION_OK;
}

const char *PQerrorMessage(const PGconn *c) {
  return c->refused ? "FATAL:  57P03: the database system is starting up"
                    : "server closed the connection unexpectedly";
}

void PQsetNoticeProcessor(PGconn *c, void (*f)(void *, const char *), void *data) {
  (void)c, (void)f, (void)data;
}

void PQfinish(PGconn *c) {
  image_alloc(c, sizeof *c, 0);
}

PGresult *PQexecParams(PGconn *c, const char *statement, int count, const Oid *types,
                       const char *const *values, const int *lengths, const int *formats,
                       int format) {
  (void)types, (void)formats, (void)format;
  return ask(c, statement, count, values, lengths);
}

PGresult *PQprepare(PGconn *c, const char *name, const char *statement, int count,
                    const Oid *types) {
  (void)count, (void)types;
  c->prepared[atoi(name + 1)] = statement;
  return new_result();
}

PGresult *PQexecPrepared(PGconn *c, const char *name, int count, const char *const *values,
                         const int *lengths, const int *formats, int format) {
  (void)formats, (void)format;
  return ask(c, c->prepared[atoi(name + 1)], count, values, lengths);
}

ExecStatusType PQresultStatus(const PGresult *r) {
  return r->status;
}

const char *PQresultErrorMessage(const PGresult *r) {
  (void)r;
  return "server closed the connection unexpectedly";
}

const char *PQresultErrorField(const PGresult *r, int field) {
  (void)r, (void)field;
  return NULL;
}

char *PQcmdTuples(PGresult *r) {
  snprintf(r->changed_text, sizeof r->changed_text, "%d", r->changed);
  return r->changed_text;
}

int PQntuples(const PGresult *r) {
  return r->columns ? r->count / r->columns : 0;
}

char *PQgetvalue(const PGresult *r, int row, int column) {
  return r->cells[row * r->columns + column].data;
}

int PQgetlength(const PGresult *r, int row, int column) {
  return r->cells[row * r->columns + column].length;
}

int PQgetisnull(const PGresult *r, int row, int column) {
  return r->cells[row * r->columns + column].is_null;
}

PGresult *PQcopyResult(const PGresult *r, int flags) {
  PGresult *copy = new_result();
  (void)flags;
  copy->status = r->status;
  copy->columns = r->columns;
  for (int i = 0; i < r->count; i++)
    add_cell(copy, r->cells[i].data, r->cells[i].length, r->cells[i].is_null);
  return copy;
}

void PQclear(PGresult *r) {
  if (!r) return;
  for (int i = 0; i < r->count; i++)
    image_alloc(r->cells[i].data, (size_t)r->cells[i].length + 1, 0);
  image_alloc(r->cells, (size_t)r->count * sizeof *r->cells, 0);
  image_alloc(r, sizeof *r, 0);
}
