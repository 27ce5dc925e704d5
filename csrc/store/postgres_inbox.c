/* postgres_inbox.c: the inbox of a run in PostgreSQL: a row for each arrival; on the connection of
 * its process.
 *
 * A row stays after it was taken, so that an arrival sent again with the same key is recognized.
 * Must not know what an arrival says. Called by store.c through struct kind. */
#include "store/postgres.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GIVEN_MAX = 64 << 20, PORTION = 1000 };

struct rows {
  struct inbox inbox; /* first: an inbox is cast to this */
  const struct sys *sys;
  struct url url;
  struct commits *commits;
  struct buffer given; /* int64_t: arrivals that must not be given again */
  PGresult *look;      /* of the last look; NULL: look anew */
  int next;            /* the next row of it */
  PGresult *text;      /* what was taken last */
  char name[24];
};

static PGresult *ask(struct rows *r, const char *statement, int count, const struct value *values,
                     struct error *e) {
  struct link *l = commits_enter(r->commits, &r->url, e);
  PGresult *result = l ? link_ask(l, statement, count, values, e) : NULL;
  if (l) commits_leave(r->commits);
  return result;
}

static bool put(struct inbox *inbox, const char *key, struct span text, bool durable,
                char name[ARRIVAL_NAME], struct error *e) {
  struct rows *r = (struct rows *)inbox;
  struct value values[] = {
      TEXT(r->url.run), {.data = key, .length = -1, .is_null = !key}, BYTES(text)};
  (void)durable; /* a commit is */
  if (text.length > ARRIVAL_MAX)
    return error_set(e, ERROR_LIMIT, "%s: an arrival of %zu bytes", r->url.whole, text.length);
  PGresult *result = ask(r,
                         "with put as (insert into skillrt.inbox (run, key, text)"
                         " values ($1, $2, $3) on conflict do nothing returning arrival)"
                         " select arrival, pg_notify('skillrt_inbox', $1)::text from put"
                         " union all select arrival, '' from skillrt.inbox"
                         " where run = $1 and key = $2",
                         3, values, e);
  bool good = result && PQntuples(result) > 0;
  if (good) snprintf(name, ARRIVAL_NAME, "%" PRId64, cell_number(result, 0, 0));
  if (result && !good) /* another process inserts the same at this moment */
    error_set(e, ERROR_SYSTEM, "%s: the arrival \"%.80s\" is put by somebody else right now",
              r->url.whole, key ? key : "");
  PQclear(result);
  return good;
}

static bool was_given(const struct rows *r, int64_t arrival) {
  const int64_t *all = (const int64_t *)(void *)r->given.data;
  for (size_t i = 0; i < r->given.length / sizeof arrival; i++)
    if (all[i] == arrival) return true;
  return false;
}

static void forget(struct rows *r, int64_t arrival) {
  int64_t *all = (int64_t *)(void *)r->given.data;
  size_t count = r->given.length / sizeof arrival;
  for (size_t i = 0; i < count; i++)
    if (all[i] == arrival) {
      all[i] = all[count - 1];
      r->given.length -= sizeof arrival;
      return;
    }
}

static void forget_look(struct rows *r) {
  PQclear(r->look);
  r->look = NULL;
  r->next = 0;
}

static bool look(struct rows *r, struct error *e) {
  struct value values[] = {TEXT(r->url.run), NUMBER(PORTION)};
  r->look = ask(r,
                "select arrival, (extract(epoch from came) * 1000)::bigint"
                " from skillrt.inbox where run = $1 and fate = 'waits'"
                " order by arrival limit $2",
                2, values, e);
  return r->look != NULL;
}

/* False where another process took it meanwhile, or where it cannot be read now (`to->again`). */
static bool read_one(struct rows *r, int64_t arrival, struct arrival *to) {
  struct value values[] = {NUMBER(arrival)};
  PQclear(r->text);
  r->text = ask(r, "select text from skillrt.inbox where arrival = $1", 1, values, NULL);
  snprintf(r->name, sizeof r->name, "%" PRId64, arrival);
  to->name = r->name;
  if (!r->text) {
    to->problem = "the database does not answer";
    to->again = true;
    return true;
  }
  if (PQntuples(r->text) != 1) return false;
  to->text = cell_bytes(r->text, 0, 0);
  return true;
}

static bool take(struct inbox *inbox, struct arrival *to, struct error *e) {
  struct rows *r = (struct rows *)inbox;
  if (!r->look && !look(r, e)) return false;
  while (r->next < PQntuples(r->look)) {
    int row = r->next++;
    int64_t arrival = cell_number(r->look, row, 0);
    *to = (struct arrival){.came = cell_number(r->look, row, 1)};
    if (was_given(r, arrival) || !read_one(r, arrival, to)) continue;
    return to->again || buffer_append(&r->given, &arrival, sizeof arrival, e);
  }
  *to = (struct arrival){.name = NULL};
  forget_look(r);
  return true;
}

static bool becomes(struct rows *r, const char *name, const char *statement, struct error *e) {
  int64_t arrival = strtoll(name, NULL, 10);
  struct value values[] = {TEXT(r->url.run), NUMBER(arrival)};
  PGresult *result = ask(r, statement, 2, values, e);
  if (!result) return false;
  PQclear(result);
  forget(r, arrival);
  return true;
}

static bool acknowledge(struct inbox *inbox, const char *name, struct error *e) {
  return becomes((struct rows *)inbox, name,
                 "update skillrt.inbox set fate = 'taken', text = ''"
                 " where run = $1 and arrival = $2",
                 e);
}

static bool refuse(struct inbox *inbox, const char *name, struct error *e) {
  return becomes((struct rows *)inbox, name,
                 "update skillrt.inbox set fate = 'refused' where run = $1 and arrival = $2", e);
}

static bool fate(struct inbox *inbox, const char *name, enum arrival_fate *to, struct error *e) {
  struct rows *r = (struct rows *)inbox;
  struct value values[] = {TEXT(r->url.run), NUMBER(strtoll(name, NULL, 10))};
  PGresult *result =
      ask(r, "select fate from skillrt.inbox where run = $1 and arrival = $2", 2, values, e);
  if (!result) return false;
  const char *word = PQntuples(result) == 1 ? PQgetvalue(result, 0, 0) : "taken";
  *to = strcmp(word, "waits") == 0     ? ARRIVAL_WAITS
        : strcmp(word, "refused") == 0 ? ARRIVAL_REFUSED
                                       : ARRIVAL_TAKEN;
  PQclear(result);
  return true;
}

static bool waiting(struct inbox *inbox, size_t *count, struct error *e) {
  struct rows *r = (struct rows *)inbox;
  struct value values[] = {TEXT(r->url.run)};
  PGresult *result =
      ask(r, "select count(*) from skillrt.inbox where run = $1 and fate = 'waits'", 1, values, e);
  if (!result) return false;
  *count = (size_t)cell_number(result, 0, 0);
  PQclear(result);
  return true;
}

static void close_inbox(struct inbox *inbox) {
  struct rows *r = (struct rows *)inbox;
  forget_look(r);
  PQclear(r->text);
  commits_release(r->commits);
  buffer_clear(&r->given);
  sys_free(r->sys, r, sizeof *r);
}

bool postgres_inbox(const struct sys *sys, const char *at, struct inbox **inbox, struct error *e) {
  static const struct inbox_ops ops = {put, take, acknowledge, refuse, fate, waiting, close_inbox};
  struct rows *r = sys_alloc(sys, sizeof *r);
  if (!r) return error_set(e, ERROR_MEMORY, "%.200s: out of memory", at);
  r->inbox.ops = &ops;
  r->sys = sys;
  buffer_init(&r->given, sys, GIVEN_MAX);
  if (!url_read(at, true, &r->url, e) || !commits_take(sys, &r->url, "", &r->commits, e)) {
    close_inbox(&r->inbox);
    return false;
  }
  *inbox = &r->inbox;
  return true;
}
