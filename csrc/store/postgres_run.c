/* postgres_run.c: the row of a run: who holds it, and what is listed of it.
 *
 * Changed when a run is opened and closed, never in between. Called by the module's other files. */
#include "store/postgres.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- taking ---- */

static bool busy(const struct link *l, const char *line, struct error *e) {
  char pid[32], host[128], start[64];
  if (sscanf(line, "%31s %127s %63s", pid, host, start) != 3)
    return error_set(e, ERROR_BUSY, "%s: held by another process; wait for it or stop it",
                     l->url->whole);
  return error_set(e, ERROR_BUSY,
                   "%s: held by process %s on %s since %s; wait for it or stop it; if it is gone "
                   "without a word, its lease of %" PRId64 " s has to lapse first",
                   l->url->whole, pid, host, start, (l->lease_ms + 999) / 1000);
}

static const char asked_holder[] =
    "select r.owner, w.line, w.process, w.deadline < clock_timestamp(), r.status"
    " from skillrt.run r left join skillrt.worker w on w.worker = r.owner"
    " where r.run = $1";

/* The holder of a run, from its row. */
static PGresult *look_at_holder(struct link *l, const char *run, struct error *e) {
  PGresult *holder = link_ask(l, asked_holder, 1, (struct value[]){TEXT(run)}, e);
  if (!holder) return NULL;
  if (PQntuples(holder) == 1 && strcmp(PQgetvalue(holder, 0, 4), "moved") != 0) return holder;
  error_set(e, ERROR_MISSING, "%s: contains no run", l->url->whole);
  PQclear(holder);
  return NULL;
}

/* False: it has a holder that is not known to be gone. */
static bool is_free(struct link *l, const PGresult *holder, struct error *e) {
  char line[STORE_HOLDER];
  if (PQgetisnull(holder, 0, 1)) return true;
  cell_text(holder, 0, 1, line, sizeof line);
  return busy(l, line, e);
}

/* Removes the lease of a holder that has ended, so that the lease cannot be renewed and its runs
 * have no owner any more. In a transaction of its own: removing a lease locks rows of runs, so this
 * process must hold no such lock. */
static bool remove_holder(struct link *l, const char *run, struct error *e) {
  char process[200], worker[64];
  PGresult *holder = look_at_holder(l, run, e);
  if (!holder) return false;
  cell_text(holder, 0, 0, worker, sizeof worker);
  cell_text(holder, 0, 2, process, sizeof process);
  bool held = !PQgetisnull(holder, 0, 1);
  bool dead = held && lease_is_dead(l->sys, process);
  bool good = dead || !held || cell_number(holder, 0, 3) || is_free(l, holder, e);
  PQclear(holder);
  struct value values[] = {TEXT(worker), NUMBER(dead)};
  return good && (!held || link_do(l,
                                   "delete from skillrt.worker where worker = $1"
                                   " and ($2::int = 1 or deadline < clock_timestamp())",
                                   2, values, e) >= 0);
}

/* False without an error: it is not there, or has an owner. */
static bool take_free(struct link *l, const char *run, const char *owner, int64_t taking,
                      struct error *e) {
  struct value values[] = {TEXT(run), TEXT(owner), NUMBER(taking)};
  return link_do(l,
                 LAZILY
                 "update skillrt.run set owner = $2, taking = $3::bigint, status = 'executing',"
                 " due = 0, about = ''"
                 " from quick where run = $1 and owner is null and status <> 'moved'",
                 3, values, e) == 1;
}

/* Why it was not taken. */
static bool refused(struct link *l, const char *run, struct error *e) {
  PGresult *holder = look_at_holder(l, run, e);
  bool good = holder && is_free(l, holder, e);
  PQclear(holder);
  return good && error_set(e, ERROR_BUSY, "%s: another process takes it now", l->url->whole);
}

bool run_take(struct link *l, const char *run, const char *owner, int64_t taking, bool *taken,
              struct error *e) {
  struct error why = {0};
  *taken = take_free(l, run, owner, taking, &why) || why.code != ERROR_NONE;
  if (!*taken && !remove_holder(l, run, e)) return false;
  if (!*taken) *taken = take_free(l, run, owner, taking, &why) || why.code != ERROR_NONE;
  if (!*taken) return refused(l, run, e);
  if (e && why.code != ERROR_NONE) *e = why;
  return why.code == ERROR_NONE;
}

/* If a crash of the server loses this, the connection is cut, and a renewal of the lease releases
 * the run, or it is released with the lease. */
bool run_give_back(struct link *l, const char *run, const char *owner, int64_t taking,
                   const struct header *header, int64_t rest_ms) {
  static const struct header executing = {.status = "executing"};
  if (!header || !header->status[0]) header = &executing;
  struct value values[] = {TEXT(run),           TEXT(owner),         TEXT(header->status),
                           NUMBER(header->due), TEXT(header->about), NUMBER(taking),
                           NUMBER(rest_ms)};
  return link_do(l,
                 LAZILY "update skillrt.run set owner = null, status = $3, due = $4, about = $5,"
                        " claimed = case when $7::bigint > 0 then"
                        " clock_timestamp() + $7::bigint * interval '1 millisecond' end from quick"
                        " where run = $1 and owner = $2 and taking = $6::bigint",
                 7, values, NULL) >= 0;
}

int run_is_held(struct link *l, const char *run, const char *owner, int64_t taking,
                struct error *e) {
  struct value values[] = {TEXT(run), TEXT(owner), NUMBER(taking)};
  return link_do(l,
                 "select 1 from skillrt.run where run = $1 and owner = $2 and taking = $3::bigint",
                 3, values, e);
}

/* ---- looking ---- */

static bool asked(const struct sys *sys, const char *at, const char *statement, struct url *url,
                  struct link *l, PGresult **result) {
  link_init(l, sys, url);
  if (!url_read(at, true, url, NULL) || !link_open(l, NULL)) return false;
  *result = link_ask(l, statement, 1, (struct value[]){TEXT(url->run)}, NULL);
  return *result != NULL;
}

/* SQL: whether the worker in these columns still holds its runs. */
static bool is_live(const struct sys *sys, const PGresult *result, int row, int process,
                    int lapsed) {
  return !PQgetisnull(result, row, process) && !cell_number(result, row, lapsed) &&
         !lease_is_dead(sys, PQgetvalue(result, row, process));
}

bool postgres_holder(const struct sys *sys, const char *at, char line[STORE_HOLDER]) {
  struct url url;
  struct link l;
  PGresult *result = NULL;
  bool held = asked(sys, at, asked_holder, &url, &l, &result) && PQntuples(result) == 1 &&
              is_live(sys, result, 0, 2, 3);
  if (held) cell_text(result, 0, 1, line, STORE_HOLDER);
  PQclear(result);
  link_close(&l);
  return held;
}

bool postgres_exists(const struct sys *sys, const char *at) {
  struct url url;
  struct link l;
  PGresult *result = NULL;
  bool there = asked(sys, at, "select 1 from skillrt.run where run = $1 and status <> 'moved'",
                     &url, &l, &result) &&
               PQntuples(result) == 1;
  PQclear(result);
  link_close(&l);
  return there;
}

static const char asked_list[] =
    "select r.run, r.about, r.status, r.due, w.process, w.deadline < clock_timestamp(), r.away_to"
    " from skillrt.run r left join skillrt.worker w on w.worker = r.owner"
    " where r.status <> 'moved' or r.stood is not null order by"
    " substring(r.about from '^\\{\"at\":([0-9]{1,18})')::bigint desc nulls first, r.run";

bool postgres_list(const struct sys *sys, const char *at,
                   bool (*each)(void *data, const struct listing *), void *data, struct error *e) {
  struct url url;
  struct link l;
  if (!url_read(at, false, &url, e)) return false;
  link_init(&l, sys, &url);
  PGresult *result = link_open(&l, e) ? link_ask(&l, asked_list, 0, NULL, e) : NULL;
  for (int i = 0; result && i < PQntuples(result); i++) {
    char place[PATH_MAX], unfinished[300];
    struct listing run = {.url = place};
    if (!url_write(&url, PQgetvalue(result, i, 0), place)) continue;
    cell_text(result, i, 1, run.header.about, sizeof run.header.about);
    cell_text(result, i, 2, run.header.status, sizeof run.header.status);
    run.header.due = cell_number(result, i, 3);
    run.is_held = is_live(sys, result, i, 4, 5);
    if (strcmp(run.header.status, "moved") == 0) {
      snprintf(unfinished, sizeof unfinished, UNFINISHED, PQgetvalue(result, i, 6));
      run.problem = unfinished;
    }
    if (!each(data, &run)) break;
  }
  bool good = result != NULL;
  PQclear(result);
  link_close(&l);
  return good;
}
