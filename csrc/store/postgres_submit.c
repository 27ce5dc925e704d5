/* postgres_submit.c: a run that others perform, as store.h has it: there with its label, its first
 * records and the end of its journal, or not at all.
 *
 * One statement adds all its rows. No lease has the run meanwhile, and no row is changed later.
 * Called by postgres.c. */
#include "store/postgres.h"

#include <stdio.h>
#include <string.h>

enum { BATCH_MAX = 256 << 20, ROWS = 3 };

struct submission {
  struct store store; /* first: a store is cast to this */
  const struct sys *sys;
  struct url url;
  struct commits *commits;
  char run_id[JOURNAL_RUN_ID + 1], queue[QUEUE_NAME + 1], key[QUEUE_NAME + 1];
  struct label label; /* no queue: none */
  struct journal_chain chain;
  uint64_t bytes;
  bool tried; /* its batch has come */
};

/* ---- the statement ---- */

/* The journal gets the line that begins it, the batch, and the line that says "closed". */
static const char add_all[] =
    "with new as (insert into skillrt.run (run, id, status, due, about, queue, prio, limit_key,"
    " limit_most, limit_rate, limit_ms) values ($1, $2, $3, $4::bigint, $5, $6,"
    " coalesce($7::bigint, 0), $8, $9::bigint, coalesce($10::bigint, 0), coalesce($11::bigint, 0))"
    " on conflict do nothing returning run),"
    " rows as (insert into skillrt.journal (run, batch, segment, seq, records, lines)"
    " select new.run, r.* from new, (values (0, 1, 0, 0, $12::bytea),"
    " (1, 1, $13::bigint - 1, $14::bigint, $15::bytea),"
    " (2, 1, $13::bigint, $14::bigint, $16::bytea)) as r returning batch)"
    " select new.run, pg_notify('skillrt_queue', '') from new";

enum { VALUES = 16 };

/* 1: it is there; 0: another run is; -1: it failed, and perhaps it is there all the same. */
static int try_to_add(struct link *l, const struct value *values, bool again, struct error *e) {
  struct value ours[] = {values[0], values[11]};
  int rows = link_do(l, add_all, VALUES, values, e);
  if (rows != 0 || !again) return rows;
  return link_do(l, "select 1 from skillrt.journal where run = $1 and batch = 0 and lines = $2", 2,
                 ours, e);
}

static bool add(struct submission *s, const struct value *values, struct error *e) {
  int64_t until = link_until(s->sys);
  bool broken = false;
  do {
    struct link *l = commits_enter(s->commits, &s->url, e);
    if (!l) return false;
    int rows = try_to_add(l, values, broken, e);
    broken = rows < 0 && link_broken(l);
    commits_leave(s->commits);
    if (rows == 0)
      return error_set(e, ERROR_EXISTS, "%s: holds a run already; resume it or choose another name",
                       s->url.whole);
    if (rows > 0) return true;
  } while (broken && s->sys->mono_ns(s->sys) < until);
  return false;
}

static bool write_lines(struct submission *s, const struct batch *batch, struct buffer lines[ROWS],
                        struct error *e) {
  char own[JOURNAL_OWN_MAX];
  uint64_t number = 0; /* so that no other submission has the same first line */
  int failed = s->sys->random(s->sys, &number, sizeof number);
  if (failed < 0) return error_system(e, -failed, "%s: no random number", s->url.whole);
  struct span first = {own, journal_segment_payload(own, s->run_id, 1, 0, number >> 1)};
  bool good = journal_line_add(&lines[0], &s->chain, JOURNAL_LAST, first, e) &&
              journal_batch_add(&lines[1], &s->chain, s->url.whole, batch, NULL, e) &&
              journal_batch_add(&lines[2], &s->chain, s->url.whole, NULL, &batch->header, e);
  for (int i = 0; i < ROWS; i++)
    s->bytes += lines[i].length;
  return good;
}

static bool add_batch(struct submission *s, const struct batch *batch, struct error *e) {
  struct buffer lines[ROWS];
  for (int i = 0; i < ROWS; i++)
    buffer_init(&lines[i], s->sys, BATCH_MAX);
  bool good = write_lines(s, batch, lines, e);
  const struct label *label = &s->label;
  struct value none = {.length = -1, .is_null = true};
  struct value values[VALUES] = {TEXT(s->run_id),
                                 TEXT(s->run_id),
                                 TEXT(batch->header.status[0] ? batch->header.status : "executing"),
                                 NUMBER(batch->header.due),
                                 TEXT(batch->header.about),
                                 label->queue ? TEXT(label->queue) : none,
                                 NUMBER(label->prio),
                                 label->key ? TEXT(label->key) : none,
                                 NUMBER(label->most),
                                 NUMBER(label->rate),
                                 NUMBER(label->rate_ms),
                                 BYTES(buffer_span(&lines[0])),
                                 NUMBER(s->chain.seq),
                                 NUMBER(batch_count(batch)),
                                 BYTES(buffer_span(&lines[1])),
                                 BYTES(buffer_span(&lines[2]))};
  values[0] = TEXT(s->url.run);
  good = good && add(s, values, e);
  for (int i = 0; i < ROWS; i++)
    buffer_clear(&lines[i]);
  return good;
}

/* ---- what is asked of a store ---- */

static bool submission_append(struct store *store, const struct batch *batch, enum append kind,
                              struct error *e) {
  struct submission *s = (struct submission *)store;
  (void)kind;
  if (s->tried) return error_set(e, ERROR_INVALID, "%s: is submitted with one batch", s->url.whole);
  if (!commits_add_blobs(s->commits, &s->url, batch, e)) return false;
  if (batch_count(batch) == 0) return true;
  s->tried = true;
  return add_batch(s, batch, e);
}

static bool submission_read(struct store *store, uint64_t from,
                            bool (*each)(void *, const struct record *, struct error *), void *data,
                            struct error *e) {
  (void)store, (void)from, (void)each, (void)data, (void)e;
  return true;
}

static bool submission_record(struct store *store, uint64_t seq, struct buffer *to,
                              struct error *e) {
  (void)seq, (void)to;
  return error_set(e, ERROR_MISSING, "%s: is only submitted here",
                   ((struct submission *)store)->url.whole);
}

static bool submission_blob_get(struct store *store, const char *digest, struct buffer *to,
                                struct error *e) {
  struct submission *s = (struct submission *)store;
  return commits_blob(s->commits, &s->url, digest, to, e);
}

static bool submission_sync(struct store *store, struct error *e) {
  (void)store, (void)e;
  return true;
}

static bool submission_view(struct store *store, const char *name, struct span content,
                            struct error *e) {
  (void)store, (void)name, (void)content, (void)e;
  return true;
}

static uint64_t submission_seq(const struct store *store) {
  return ((const struct submission *)store)->chain.seq;
}

static uint64_t submission_bytes(const struct store *store) {
  return ((const struct submission *)store)->bytes;
}

static uint64_t submission_syncs(const struct store *store) {
  return ((const struct submission *)store)->tried;
}

static void submission_close(struct store *store) {
  struct submission *s = (struct submission *)store;
  commits_release(s->commits);
  sys_free(s->sys, s, sizeof *s);
}

static const struct store_ops ops = {
    .read = submission_read,
    .record = submission_record,
    .append = submission_append,
    .sync = submission_sync,
    .blob_get = submission_blob_get,
    .view = submission_view,
    .seq = submission_seq,
    .bytes = submission_bytes,
    .syncs = submission_syncs,
    .close = submission_close,
};

/* ---- opening ---- */

static void copy_label(struct submission *s, const struct label *label) {
  s->label = *label;
  snprintf(s->queue, sizeof s->queue, "%s", label->queue);
  snprintf(s->key, sizeof s->key, "%s", label->key ? label->key : "");
  s->label.queue = s->queue;
  s->label.key = label->key ? s->key : NULL;
}

static bool prepare(struct submission *s, const struct store_options *o, struct error *e) {
  if (!journal_run_id_valid(o->run_id))
    return error_set(e, ERROR_INVALID, "run id \"%.80s\": 1 to 64 of A-Z a-z 0-9 . _ -",
                     o->run_id ? o->run_id : "");
  strcpy(s->run_id, o->run_id);
  if (o->label) copy_label(s, o->label);
  if (!commits_take(s->sys, &s->url, "", &s->commits, e)) return false;
  return !s->label.key || label_provide(s->sys, &s->url, &s->label, e);
}

bool postgres_submit(const struct sys *sys, const struct url *url, const struct store_options *o,
                     struct store **store, struct store_report *report, struct error *e) {
  struct submission *s = sys_alloc(sys, sizeof *s);
  if (!s) return error_set(e, ERROR_MEMORY, "%s: out of memory", url->whole);
  *s = (struct submission){.store.ops = &ops, .sys = sys, .url = *url};
  if (!prepare(s, o, e)) {
    submission_close(&s->store);
    return false;
  }
  strcpy(report->run_id, s->run_id);
  *store = &s->store;
  return true;
}
