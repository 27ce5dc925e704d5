/* postgres.c: a run in PostgreSQL, as store.h has it: opens, appends and closes it.
 *
 * append makes a batch ready, sync waits until it is committed, with those of other runs. Knows
 * no rows. Called by store.c through struct kind. */
#include "store/postgres.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "store/blob.h"

enum { BATCH_MAX = 256 << 20, FENCES = 16 };

struct postgres {
  struct store store; /* first: a store is cast to this */
  const struct sys *sys;
  struct url url;
  struct commits *commits;
  struct lease *lease;  /* NULL: only read */
  struct taking taking; /* of this run by this store */
  struct claim *claim;  /* by which this store took it, until it is open; NULL: by none */
  uint64_t openings;    /* link_openings before it was last seen that the run is held */
  bool taken;           /* the lease holds the run since */
  bool doubtful;        /* or may hold it: nobody knows */
  char run_id[JOURNAL_RUN_ID + 1];
  struct rows_end end;       /* after the last append */
  struct journal_chain seen; /* the last line of this store that was committed */
  PGresult *all;     /* the rows before the first append, where they are few; NULL: not kept */
  struct buffer out; /* the lines of the last batch */
  struct put put;    /* the last batch */
  bool failed;       /* refuses all batches except last words */
  bool spent;        /* they were written */
  struct error why;  /* of `failed` */
  uint64_t bytes, syncs;
  struct watch *inbox; /* NULL: the run has not asked to watch its inbox */
};

static bool fail(struct postgres *p, const struct error *why, struct error *e) {
  if (!p->failed || why->code == ERROR_LOST) p->why = *why;
  p->failed = true;
  if (e) *e = p->why;
  return false;
}

static bool only_read(const struct postgres *p, struct error *e) {
  return error_set(e, ERROR_INVALID, "%s: was opened for reading only", p->url.whole);
}

static bool is_lost(const struct postgres *p) {
  return p->failed && p->why.code == ERROR_LOST;
}

/* ---- rows ---- */

static struct link *enter(struct postgres *p, struct error *e) {
  return commits_enter(p->commits, &p->url, e);
}

/* Makes the lines in `out` the next batch, which ends so. `is_lazy`: see struct put. */
static void put(struct postgres *p, const struct rows_end *end, bool is_lazy) {
  p->put.before = p->end.chain.crc;
  p->put.is_lazy = is_lazy;
  p->end = *end;
  p->put.url = &p->url;
  p->put.owner = lease_id(p->lease);
  p->put.taking = p->taking.number;
  p->put.batch = p->end.chain.batch;
  p->put.segment = p->end.segment;
  p->put.seq = p->end.chain.seq;
  p->put.records = p->end.records;
  p->put.lines = buffer_span(&p->out);
  commits_put(p->commits, &p->put);
}

static bool forgotten(const struct postgres *p, struct error *e) {
  return error_set(e, ERROR_LOST,
                   "%s: the database has lost what was committed of this run, or that this process "
                   "has it, as a standby may have that was promoted; nothing more is written, and "
                   "what is there is resumed by whoever takes the run",
                   p->url.whole);
}

static bool postgres_sync(struct store *store, struct error *e) {
  struct postgres *p = (struct postgres *)store;
  struct error why = {0};
  if (!commits_wait(p->commits, &p->put)) return true;
  p->syncs++;
  switch (p->put.outcome) {
  case OUTCOME_OURS:
    p->seen = p->end.chain;
    return true;
  case OUTCOME_ANOTHERS:
    error_set(&why, ERROR_LOST,
              "%s: another process has taken this run over, and has written batch %" PRIu32
              "; nothing more is written",
              p->url.whole, p->end.chain.batch);
    break;
  case OUTCOME_GONE:
    forgotten(p, &why);
    break;
  case OUTCOME_NOBODYS:
  case OUTCOME_UNKNOWN:
    why = p->put.why;
    if (why.code == ERROR_NONE)
      error_set(&why, ERROR_SYSTEM, "%s: the database does not answer", p->url.whole);
  }
  return fail(p, &why, e);
}

/* ---- what is asked of a store ---- */

static bool postgres_read(struct store *store, uint64_t from,
                          bool (*each)(void *, const struct record *, struct error *), void *data,
                          struct error *e) {
  struct postgres *p = (struct postgres *)store;
  struct link *l = postgres_sync(store, e) ? enter(p, e) : NULL;
  bool good = l && (p->all ? rows_give(l, p->all, from, each, data, e)
                           : rows_read(l, p->url.run, &p->end, from, each, data, NULL, e));
  if (l) commits_leave(p->commits);
  return good;
}

static bool postgres_record(struct store *store, uint64_t seq, struct buffer *to, struct error *e) {
  struct postgres *p = (struct postgres *)store;
  struct link *l = postgres_sync(store, e) ? enter(p, e) : NULL;
  bool good = l && rows_record(l, p->url.run, &p->end, seq, to, e);
  if (l) commits_leave(p->commits);
  return good;
}

static bool postgres_append(struct store *store, const struct batch *batch, enum append kind,
                            struct error *e) {
  struct postgres *p = (struct postgres *)store;
  struct rows_end end = p->end;
  struct error why = {0};
  if (!p->lease) return only_read(p, e);
  if (p->spent || is_lost(p) || (p->failed && kind != APPEND_LAST_WORDS)) {
    if (e) *e = p->why;
    return false;
  }
  if (!lease_held(p->lease, 0, &why) && why.code == ERROR_LOST) return fail(p, &why, e);
  if (!commits_add_blobs(p->commits, &p->url, batch, &why)) {
    if (why.code != ERROR_INVALID) return fail(p, &why, e);
    if (e) *e = why; /* a digest that is not the value's: the store remains usable */
    return false;
  }
  if (batch_count(batch) == 0) return true;
  PQclear(p->all);
  p->all = NULL;
  p->spent = p->failed;
  buffer_reset(&p->out);
  if (!journal_batch_add(&p->out, &end.chain, p->url.whole, batch, NULL, e)) return false;
  end.records += batch_count(batch);
  end.closed = false;
  end.header = batch->header;
  p->bytes += p->out.length;
  put(p, &end, false);
  return true;
}

/* Behind a new connection there may be a standby that was promoted, and has lost that this process
 * took the run, or what was committed since. False with `*again`: the connection was cut. */
static bool look_again(struct postgres *p, bool *again, struct error *e) {
  uint64_t openings = link_openings();
  struct link *l = enter(p, e);
  int rows = l ? run_is_held(l, p->url.run, lease_id(p->lease), p->taking.number, e) : -1;
  if (rows == 1) rows = commits_has(l, p->url.run, p->seen.batch, p->seen.crc, e);
  *again = rows < 0 && l && link_broken(l);
  if (l) commits_leave(p->commits);
  if (rows == 1) p->openings = openings;
  return rows == 0 ? forgotten(p, e) : rows == 1;
}

/* Looks at the lease last, because a look at the run takes time. */
static bool postgres_held(struct store *store, struct error *e) {
  struct postgres *p = (struct postgres *)store;
  struct error why = {0};
  if (!p->lease) return true;
  int64_t until = link_until(p->sys);
  while (lease_held(p->lease, until, &why)) {
    bool again;
    if (link_openings() == p->openings) return true;
    if (!look_again(p, &again, &why) && !(again && p->sys->mono_ns(p->sys) < until)) break;
  }
  return fail(p, &why, e);
}

static bool postgres_blob_get(struct store *store, const char *digest, struct buffer *to,
                              struct error *e) {
  struct postgres *p = (struct postgres *)store;
  return postgres_sync(store, e) && commits_blob(p->commits, &p->url, digest, to, e);
}

/* Views are not stored: they can be written from the journal at any time. */
static bool postgres_view(struct store *store, const char *name, struct span content,
                          struct error *e) {
  struct postgres *p = (struct postgres *)store;
  (void)name, (void)content;
  if (!p->lease) return only_read(p, e);
  if (is_lost(p) && e) *e = p->why;
  return !is_lost(p);
}

static bool postgres_listens(struct store *store, struct uv_loop_s *loop, void (*changed)(void *),
                             void *data, struct error *e) {
  struct postgres *p = (struct postgres *)store;
  return postgres_listen(p->sys, &p->url, loop, changed, data, &p->inbox, e);
}

static uint64_t postgres_seq(const struct store *store) {
  return ((const struct postgres *)store)->end.chain.seq;
}

static uint64_t postgres_bytes(const struct store *store) {
  return ((const struct postgres *)store)->bytes;
}

static uint64_t postgres_syncs(const struct store *store) {
  return ((const struct postgres *)store)->syncs;
}

/* Writes a "closed" line if nothing failed, which need not be durable: the outcome is. */
static bool say_closed(struct postgres *p) {
  if (!postgres_sync(&p->store, NULL) || p->failed || p->end.closed) return false;
  struct rows_end end = p->end;
  buffer_reset(&p->out);
  if (!journal_batch_add(&p->out, &end.chain, p->url.whole, NULL, &end.header, NULL)) return false;
  put(p, &end, true);
  return postgres_sync(&p->store, NULL);
}

/* Another taking of the run, by this process or by another one, is left alone. */
static void give_back(struct postgres *p, const struct header *header) {
  struct link *l = enter(p, NULL);
  bool given = l && run_give_back(l, p->url.run, lease_id(p->lease), p->taking.number, header, 0);
  if (l) commits_leave(p->commits);
  if (!given) lease_release_later(p->lease, p->url.run, p->taking.number, header);
}

static void postgres_close(struct store *store) {
  struct postgres *p = (struct postgres *)store;
  if (p->inbox) p->inbox->close(p->inbox);
  if (p->lease && p->end.segment > 0) {
    bool closed = say_closed(p);
    give_back(p,
              closed ? &p->end.header : NULL); /* a run that was lost may still be this lease's */
  }
  if (p->lease) lease_forgets(p->lease, &p->taking, p->doubtful);
  lease_release(p->lease);
  commits_release(p->commits);
  PQclear(p->all);
  buffer_clear(&p->out);
  sys_free(p->sys, p, sizeof *p);
}

static const struct store_ops ops = {
    .read = postgres_read,
    .record = postgres_record,
    .append = postgres_append,
    .sync = postgres_sync,
    .held = postgres_held,
    .blob_get = postgres_blob_get,
    .view = postgres_view,
    .listen = postgres_listens,
    .seq = postgres_seq,
    .bytes = postgres_bytes,
    .syncs = postgres_syncs,
    .close = postgres_close,
};

/* ---- opening ---- */

/* Adds the first line of the next segment as the next row: a process that held the run before finds
 * the key of its next batch taken. It becomes durable with the first batch behind it, before which
 * nothing is sent; if it was lost by then, the batch does not find it. */
static enum outcome fence(struct postgres *p, struct error *e) {
  char own[JOURNAL_OWN_MAX];
  struct rows_end end = p->end;
  bool first = end.segment == 0;
  end.segment++;
  if (!first) {
    end.chain.seq++;
    end.chain.batch++;
  }
  end.closed = false;
  struct span payload = {own, journal_segment_payload(own, p->run_id, end.segment, end.chain.crc,
                                                      (uint64_t)p->taking.number)};
  buffer_reset(&p->out);
  if (!journal_line_add(&p->out, &end.chain, JOURNAL_LAST, payload, e)) return OUTCOME_UNKNOWN;
  put(p, &end, true);
  commits_wait(p->commits, &p->put);
  p->seen = p->end.chain;
  if (p->put.outcome == OUTCOME_UNKNOWN && e) *e = p->put.why;
  return p->put.outcome;
}

static bool has_batches(struct postgres *p, struct link *l, bool *has, struct error *e) {
  int rows = link_do(l, "select 1 from skillrt.journal where run = $1 limit 1", 1,
                     (struct value[]){TEXT(p->url.run)}, e);
  *has = rows == 1;
  return rows >= 0;
}

static bool read_end(struct postgres *p, struct link *l, struct rows_look *look, struct error *e) {
  const struct claim *claim = look->claim;
  bool good = rows_end(l, p->url.run, look, &p->end, e);
  /* Behind rows that another connection read, a batch is put once they were looked at again. */
  p->put.connection = !claim ? l->opened : claim->link == l ? claim->opened : 0;
  return good;
}

/* The end of the journal; of none, a segment 0. */
static bool find_end(struct postgres *p, struct rows_look *look, bool *has, struct error *e) {
  struct link *l = enter(p, e);
  bool good = l && has_batches(p, l, has, e) && (!*has || read_end(p, l, look, e));
  if (good) p->put.connection = l->opened;
  if (l) commits_leave(p->commits);
  if (!good || !*has) p->end = (struct rows_end){.segment = 0};
  return good;
}

static bool exists(const struct postgres *p, struct error *e) {
  return error_set(e, ERROR_EXISTS, "%s: holds a run already; resume it or choose another name",
                   p->url.whole);
}

/* Adds that row after the end. If its place is taken, the previous holder may have written one more
 * batch: then after the new end. Not where that holder has begun the run which was to be created,
 * and not where the next holder wrote it, because this lease has lapsed. */
static bool take_over(struct postgres *p, struct rows_look *look, enum store_open mode,
                      struct error *e) {
  bool has;
  for (int i = 0; i < FENCES; i++) {
    bool known = i == 0 && mode == STORE_RESUME;
    if (!known) look->claim = NULL;
    if (!known && !find_end(p, look, &has, e)) return false;
    if (mode == STORE_CREATE && p->end.records > 0) return exists(p, e);
    enum outcome outcome = fence(p, e);
    if (outcome == OUTCOME_OURS) return true;
    if (outcome == OUTCOME_GONE) return forgotten(p, e);
    if (outcome != OUTCOME_ANOTHERS || !lease_held(p->lease, link_until(p->sys), e)) return false;
  }
  return error_set(e, ERROR_BUSY, "%s: another process keeps writing", p->url.whole);
}

static bool take(struct postgres *p, struct error *e) {
  if (!lease_take(p->sys, &p->url, &p->lease, e)) return false;
  p->claim = lease_open_claim(p->lease, p->url.run, &p->taking);
  if (p->claim) {
    p->openings = p->claim->openings;
    p->taken = true;
    return lease_held(p->lease, link_until(p->sys), e);
  }
  p->openings = link_openings();
  struct link *l = enter(p, e);
  if (!l) return false;
  lease_knows(p->lease, &p->taking);
  bool good = run_take(l, p->url.run, lease_id(p->lease), p->taking.number, &p->taken, e);
  p->doubtful = p->taken && !good;
  commits_leave(p->commits);
  return good;
}

/* A process that died before it wrote the first payload left no run, because it has not reported
 * one. Its first line stays, with its run id. */
static bool check_vacant(struct postgres *p, struct error *e) {
  struct rows_look look = {.run_id = p->run_id};
  bool has;
  if (!find_end(p, &look, &has, e)) return false;
  bool vacant = !has || p->end.records == 0;
  p->end = (struct rows_end){.segment = 0};
  return vacant || exists(p, e);
}

/* How many rows a statement changes or returns; -1: it failed. */
static int perform(struct postgres *p, const char *statement, int count, const struct value *values,
                   struct error *e) {
  struct link *l = enter(p, e);
  int rows = l ? link_do(l, statement, count, values, e) : -1;
  if (l) commits_leave(p->commits);
  return rows;
}

static bool create(struct postgres *p, const struct store_options *o, struct error *e) {
  struct rows_look look = {.run_id = p->run_id};
  struct value values[] = {TEXT(p->url.run), TEXT(o->run_id)};
  if (!journal_run_id_valid(o->run_id))
    return error_set(e, ERROR_INVALID, "run id \"%.80s\": 1 to 64 of A-Z a-z 0-9 . _ -",
                     o->run_id ? o->run_id : "");
  if (!check_vacant(p, e) ||
      perform(p,
              LAZILY "insert into skillrt.run (run, id) select $1, $2 from quick"
                     " on conflict do nothing",
              2, values, e) < 0 ||
      !take(p, e) || !check_vacant(p, e))
    return false;
  if (!p->run_id[0]) strcpy(p->run_id, o->run_id);
  return take_over(p, &look, STORE_CREATE, e) &&
         perform(p, "update skillrt.run set id = $2 where run = $1 and id <> $2", 2, values, e) >=
             0;
}

static void report_end(const struct postgres *p, const struct rows_look *look,
                       struct store_report *report) {
  memcpy(report->run_id, p->run_id, sizeof report->run_id);
  report->records = p->end.records;
  report->last = p->end.chain.seq;
  report->payload = p->end.payload;
  report->newest = look->newest;
  report->unclean = !p->end.closed;
}

static bool resume(struct postgres *p, const struct store_options *o, struct store_report *report,
                   struct error *e) {
  struct rows_look look = {
      .run_id = p->run_id, .present = o->mode == STORE_READ, .ending = o->ending, .keeps = true};
  if (o->cut)
    return error_set(
        e, ERROR_INVALID,
        "%s: only a journal in a directory is cut; put the database back from a backup",
        p->url.whole);
  if (o->mode == STORE_RESUME && !take(p, e)) return false;
  look.claim = o->mode == STORE_RESUME ? p->claim : lease_claim_at(&p->url);
  struct link *l = enter(p, e);
  bool good = l && read_end(p, l, &look, e);
  if (l) commits_leave(p->commits);
  if (!good) return false;
  report_end(p, &look, report);
  good = o->mode == STORE_READ || take_over(p, &look, STORE_RESUME, e);
  p->all = look.all;
  return good;
}

static bool open_as(struct postgres *p, const struct store_options *o, struct store_report *report,
                    struct error *e) {
  const char *setting = o->durability == DURABILITY_PROCESS ? "off" : "";
  if (!commits_take(p->sys, &p->url, setting, &p->commits, e)) return false;
  if (o->mode != STORE_CREATE) return resume(p, o, report, e);
  if (!create(p, o, e)) return false;
  memcpy(report->run_id, p->run_id, sizeof report->run_id);
  return true;
}

static bool open_run(const struct sys *sys, const struct url *url, const struct store_options *o,
                     struct store **store, struct store_report *report, struct error *e) {
  struct postgres *p = sys_alloc(sys, sizeof *p);
  if (!p) return error_set(e, ERROR_MEMORY, "%s: out of memory", url->whole);
  p->store.ops = &ops;
  p->sys = sys;
  p->url = *url;
  buffer_init(&p->out, sys, BATCH_MAX);
  bool good = open_as(p, o, report, e);
  claim_free(sys, p->claim);
  p->claim = NULL;
  if (good) {
    *store = &p->store;
    return true;
  }
  /* A store that failed to open is freed without a "closed" line. */
  p->end.segment = 0;
  if (p->taken) give_back(p, NULL);
  postgres_close(&p->store);
  return false;
}

bool postgres_open(const struct sys *sys, const char *at, const struct store_options *o,
                   struct store **store, struct store_report *report, struct error *e) {
  struct url url;
  if (!url_read(at, true, &url, e)) return false;
  return o->mode == STORE_SUBMIT ? postgres_submit(sys, &url, o, store, report, e)
                                 : open_run(sys, &url, o, store, report, e);
}

/* ---- between runs ---- */

struct held {
  struct hold hold; /* first: a hold is cast to this */
  const struct sys *sys;
  struct commits *commits;
  struct lease *lease;
};

static void held_close(struct hold *hold) {
  struct held *h = (struct held *)hold;
  lease_release(h->lease);
  commits_release(h->commits);
  sys_free(h->sys, h, sizeof *h);
}

bool postgres_hold(const struct sys *sys, const char *at, struct hold **hold, struct error *e) {
  struct url url;
  if (!url_read(at, false, &url, e)) return false;
  struct held *h = sys_alloc(sys, sizeof *h);
  if (!h) return error_set(e, ERROR_MEMORY, "%.200s: out of memory", at);
  *h = (struct held){.hold.close = held_close, .sys = sys};
  if (commits_take(sys, &url, "", &h->commits, e) && lease_take(sys, &url, &h->lease, e)) {
    *hold = &h->hold;
    return true;
  }
  held_close(&h->hold);
  return false;
}
