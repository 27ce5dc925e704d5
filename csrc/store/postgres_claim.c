/* postgres_claim.c: claims of runs in PostgreSQL that wait for a process.
 *
 * A claim takes the run for the lease of this process; the store that opens it finds it taken. A
 * slot of a key is free if its run has no process, and none will have it soon; a row of a rate is
 * free again after the rate's time. Called by store.c through struct kind. */
#include "store/postgres.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { CLAIMS = 64, SWEEP_NS = 500000000 };

struct queue {
  struct claims claims; /* first: claims are cast to this */
  const struct sys *sys;
  struct url url;
  struct link link;
  struct lease *lease;
  char name[QUEUE_NAME + 1];
  int64_t swept; /* when expired leases were removed, on the monotonic clock */
};

/* SQL: whether the run in a slot has no process, and was not given back for another one. */
#define SLOT_FREE                                                                                  \
  " (s.run is null or not exists (select 1 from skillrt.run o"                                     \
  " left join skillrt.worker h on h.worker = o.owner where o.run = s.run"                          \
  " and (o.claimed > clock_timestamp() or h.deadline > clock_timestamp())))"

/* SQL: whether a rate's row is free for a claim, which then takes it for `ms`. */
#define RATE_FREE(ms)                                                                              \
  " (t.taken is null or t.taken + " ms " * interval '1 millisecond' <= clock_timestamp())"

/* SQL: no process has it, and none has given it back for a while. */
#define MAY_BE_CLAIMED                                                                             \
  " r.owner is null and (r.claimed is null or r.claimed < statement_timestamp())"

/* SQL: the first free slot of each key; looked up once per key, not per run. */
#define ROOM                                                                                       \
  " (r.limit_key is null or r.limit_most = 0 or exists (select 1 from slots s"                     \
  " where s.key = r.limit_key and s.slot <= r.limit_most))"                                        \
  " and (r.limit_key is null or r.limit_rate = 0 or exists (select 1 from skillrt.rate t where"    \
  " t.key = r.limit_key and t.slot <= r.limit_rate and" RATE_FREE("r.limit_ms") "))"

#define FIRST_ONES " order by r.prio desc, r.due, r.run limit 64"

/* SQL: runs that could be claimed now, found by partial indexes, so that runs which wait or have a
 * process cost nothing. As many as other workers may claim at the same moment. */
static const char asked_next[] =
    "with slots as materialized (select s.key, min(s.slot) as slot from skillrt.slot s"
    " where" SLOT_FREE " group by s.key), ready as ("
    "(select r.run from skillrt.run r where r.queue = $1 and r.status = 'executing' "
    "and" MAY_BE_CLAIMED " and" ROOM FIRST_ONES ") union all "
    "(select r.run from skillrt.run r where r.queue = $1 and r.status = 'paused' and" MAY_BE_CLAIMED
    " and r.due between 1 and"
    " (extract(epoch from statement_timestamp()) * 1000)::bigint and" ROOM FIRST_ONES ") union all "
    "(select r.run from skillrt.run r where r.run in (select i.run from skillrt.inbox i"
    " where i.fate = 'waits') and r.queue = $1 and r.status = 'paused' and" MAY_BE_CLAIMED
    " and" ROOM FIRST_ONES "))"
    " select r.run, coalesce(r.limit_key, ''), r.limit_most, r.limit_rate, r.limit_ms, r.status,"
    " r.due, r.about"
    " from skillrt.run r where r.run in (select run from ready)"
    " and (r.status = 'executing' or r.status = 'paused') and" MAY_BE_CLAIMED
    " and not exists (select 1 from skillrt.queue q where q.queue = $1 and q.paused)"
    " order by r.prio desc, r.due, r.run limit $2 for update of r skip locked";

/* Gives the run a slot; no slot: -1 is an error, 0 is none. */
static int take_slot(struct link *l, const char *run, const char *key, int64_t most,
                     struct error *e) {
  struct value values[] = {TEXT(key), NUMBER(most), TEXT(run)};
  return link_do(l,
                 "update skillrt.slot set run = $3 where key = $1 and slot ="
                 " (select min(s.slot) from skillrt.slot s where s.key = $1 and s.slot <= $2"
                 " and" SLOT_FREE ")",
                 3, values, e);
}

static int take_rate(struct link *l, const char *key, int64_t rate, int64_t ms, struct error *e) {
  struct value values[] = {TEXT(key), NUMBER(rate), NUMBER(ms)};
  return link_do(l,
                 "update skillrt.rate set taken = clock_timestamp() where key = $1 and slot ="
                 " (select min(t.slot) from skillrt.rate t where t.key = $1 and t.slot <= $2"
                 " and" RATE_FREE("$3::bigint") ")",
                 3, values, e);
}

/* Claims with a key are made one after the other, so that each sees what the one before changed. */
static int take_limits(struct link *l, const PGresult *next, int row, const char *run,
                       const char *key, struct error *e) {
  struct value locked[] = {TEXT(key)};
  int64_t most = cell_number(next, row, 2), rate = cell_number(next, row, 3);
  if (link_do(l, "select pg_advisory_xact_lock(7236554, hashtext($1))", 1, locked, e) < 0)
    return -1;
  int rows = most > 0 ? take_slot(l, run, key, most, e) : 1;
  return rows == 1 && rate > 0 ? take_rate(l, key, rate, cell_number(next, row, 4), e) : rows;
}

/* Removes expired leases; their processes lose their runs. */
static const char asked_lapsed[] = "delete from skillrt.worker where deadline < clock_timestamp()";

static bool sweep(struct queue *q, struct error *e) {
  int64_t now = q->sys->mono_ns(q->sys);
  if (q->swept && now - q->swept < SWEEP_NS) return true;
  q->swept = now;
  return link_do(&q->link, asked_lapsed, 0, NULL, e) >= 0;
}

static PGresult *ask_next(struct queue *q, int64_t count, struct error *e) {
  return link_ask(&q->link, asked_next, 2, (struct value[]){TEXT(q->name), NUMBER(count)}, e);
}

struct batch_of_claims {
  int count, taken; /* the first ones are */
  struct claim *all[CLAIMS];
};

/* Takes the runs for the lease that are not taken yet, or none: their rows are locked where the
 * database locks rows. */
static bool take_rest(struct queue *q, struct batch_of_claims *some, struct error *e) {
  char runs[CLAIMS * (JOURNAL_RUN_ID + 1) + 2] = "{", takings[CLAIMS * 21 + 2] = "{";
  size_t at = 1, to = 1;
  int wanted = some->count - some->taken;
  for (int i = some->taken; i < some->count; i++) {
    const char *more = i + 1 < some->count ? "," : "}";
    at += (size_t)snprintf(runs + at, sizeof runs - at, "%s%s", some->all[i]->run, more);
    to += (size_t)snprintf(takings + to, sizeof takings - to, "%" PRId64 "%s",
                           some->all[i]->taking.number, more);
  }
  if (wanted == 0) return true;
  some->taken = some->count;
  struct value values[] = {TEXT(lease_id(q->lease)), TEXT(runs), TEXT(takings)};
  int rows = link_do(&q->link,
                     "update skillrt.run r set owner = $1, taking = t.taking, status = 'executing',"
                     " due = 0, about = '' from unnest($2::text[], $3::bigint[]) as t (run, taking)"
                     " where r.run = t.run and r.owner is null",
                     3, values, e);
  return rows == wanted ||
         (rows >= 0 && error_set(e, ERROR_BUSY,
                                 "%s: another process takes its runs now; nothing "
                                 "was claimed",
                                 q->url.whole));
}

static bool add_claim(struct queue *q, const PGresult *next, int row, const char *run,
                      struct batch_of_claims *to, struct error *e) {
  struct header header = {.due = cell_number(next, row, 6)};
  cell_text(next, row, 5, header.status, sizeof header.status);
  cell_text(next, row, 7, header.about, sizeof header.about);
  to->all[to->count] = lease_claim(q->lease, run, &header);
  if (!to->all[to->count]) return error_set(e, ERROR_MEMORY, "%s: out of memory", q->url.whole);
  to->count++;
  return true;
}

/* Claims up to `most` runs, of which those with a key have the same one: whoever waits for the lock
 * of a second key may hold that of a first one for which another waits. */
static bool claim_some(struct queue *q, int64_t most, struct batch_of_claims *to, struct error *e) {
  char run[JOURNAL_RUN_ID + 1], key[QUEUE_NAME + 1], first[QUEUE_NAME + 1] = "";
  PGresult *next = ask_next(q, most, e);
  int rows = next ? 1 : -1;
  for (int i = 0; rows >= 0 && i < PQntuples(next); i++) {
    cell_text(next, i, 0, run, sizeof run);
    cell_text(next, i, 1, key, sizeof key);
    if (key[0] && first[0] && strcmp(key, first) != 0) continue;
    if (key[0]) strcpy(first, key);
    rows = key[0] ? take_limits(&q->link, next, i, run, key, e) : 1;
    if (rows == 0) continue; /* its key has no room */
    bool good = rows > 0 && add_claim(q, next, i, run, to, e);
    if (good && key[0]) good = take_rest(q, to, e); /* it counts for the next one with the key */
    if (!good) rows = -1;
  }
  PQclear(next);
  return rows >= 0 && take_rest(q, to, e);
}

/* Whether a run could be claimed; -1: it failed. Most looks find none, and need no transaction. */
static int look(struct queue *q, struct error *e) {
  PGresult *next = ask_next(q, 1, e);
  int rows = next ? PQntuples(next) : -1;
  PQclear(next);
  return rows;
}

/* In one transaction; where that fails, the runs may be taken or not. */
static bool claim_batch(struct queue *q, int64_t most, struct batch_of_claims *some,
                        struct error *e) {
  if (link_do(&q->link, "begin", 0, NULL, e) < 0) return false;
  bool good = claim_some(q, most < CLAIMS ? most : CLAIMS, some, e) &&
              (some->count == 0 || link_do(&q->link, "commit", 0, NULL, e) >= 0);
  if (!good || some->count == 0) link_do(&q->link, "rollback", 0, NULL, NULL);
  for (int i = 0; !good && i < some->count; i++)
    lease_drop_claim(q->lease, some->all[i], true);
  return good;
}

/* A run that was not opened since it was claimed is as it was before. */
static void give_back(struct queue *q, const char *run, bool later) {
  struct claim *claim = lease_find_claim(q->lease, run);
  if (!claim) return;
  int64_t ms = later ? q->link.lease_ms : 0;
  bool given = link_open(&q->link, NULL) && run_give_back(&q->link, run, lease_id(q->lease),
                                                          claim->taking.number, &claim->header, ms);
  if (!given) lease_release_later(q->lease, run, claim->taking.number, &claim->header);
  lease_drop_claim(q->lease, claim, false);
}

/* False: `each` takes no more. */
static bool give_all(struct queue *q, const struct batch_of_claims *some,
                     bool (*each)(void *data, const char *url), void *data) {
  char url[PATH_MAX];
  bool more = true;
  for (int i = 0; i < some->count; i++) {
    more = more && url_write(&q->url, some->all[i]->run, url) && each(data, url);
    if (!more) give_back(q, some->all[i]->run, false);
  }
  return more;
}

/* A lease that another process found expired is replaced. */
static bool hold_lease(struct queue *q, struct error *e) {
  struct error why = {0};
  struct lease *lost = q->lease;
  if (lease_held(lost, 0, &why)) return true;
  if (why.code != ERROR_LOST || !lease_take(q->sys, &q->url, &q->lease, &why)) {
    q->lease = lost;
    if (e) *e = why;
    return false;
  }
  lease_release(lost);
  return true;
}

static bool take(struct claims *claims, int64_t count, bool (*each)(void *data, const char *url),
                 void *data, struct error *e) {
  struct queue *q = (struct queue *)claims;
  while (count > 0) {
    struct batch_of_claims some = {0};
    if (!hold_lease(q, e) || !link_open(&q->link, e) || !sweep(q, e)) return false;
    int waiting = look(q, e);
    if (waiting <= 0) return waiting == 0;
    if (!claim_batch(q, count, &some, e)) return false;
    if (some.count == 0 || !give_all(q, &some, each, data)) return true;
    count -= some.count;
  }
  return true;
}

static void settle(struct claims *claims, const char *url, bool later) {
  struct url run;
  if (url_read(url, true, &run, NULL)) give_back((struct queue *)claims, run.run, later);
}

static bool watch(struct claims *claims, struct uv_loop_s *loop, void (*changed)(void *),
                  void *data, struct watch **to, struct error *e) {
  const struct queue *q = (const struct queue *)claims;
  return postgres_watch_claims(q->sys, &q->url, loop, changed, data, to, e);
}

static void close_queue(struct claims *claims) {
  struct queue *q = (struct queue *)claims;
  link_close(&q->link);
  lease_release(q->lease);
  sys_free(q->sys, q, sizeof *q);
}

bool postgres_claims(const struct sys *sys, const char *at, const char *queue,
                     struct claims **claims, struct error *e) {
  static const struct claims_ops ops = {take, settle, watch, close_queue};
  struct queue *q = sys_alloc(sys, sizeof *q);
  if (!q) return error_set(e, ERROR_MEMORY, "%.200s: out of memory", at);
  q->claims.ops = &ops;
  q->sys = sys;
  snprintf(q->name, sizeof q->name, "%s", queue);
  link_init(&q->link, sys, &q->url);
  q->link.commit = "off"; /* who opens the run commits, and with that what came before */
  if (url_read(at, false, &q->url, e) && lease_take(sys, &q->url, &q->lease, e) &&
      link_open(&q->link, e)) {
    q->link.at_once = true; /* a worker claims again a second later */
    *claims = &q->claims;
    return true;
  }
  close_queue(&q->claims);
  return false;
}
