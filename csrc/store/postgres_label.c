/* postgres_label.c: labels of runs in PostgreSQL, and queues that pause.
 *
 * A label says who may claim the run and in which order. A key with a limit has as many rows of
 * skillrt.slot as runs may use it at the same time; a key with a rate has as many of skillrt.rate
 * as claims may be made within its time. Called by store.c through struct kind. */
#include "store/postgres.h"

/* Statements that may be repeated, all of them or none. */
struct work {
  bool of_run; /* changes the run's row, which must be there */
  const char *statement;
  int count;
  const struct value *values;
};

static bool try_to_perform(struct link *l, const struct work *all, size_t count, struct error *e) {
  bool begun = link_do(l, "begin", 0, NULL, e) >= 0, good = begun;
  for (size_t i = 0; good && i < count; i++) {
    int rows = link_do(l, all[i].statement, all[i].count, all[i].values, e);
    good = rows > 0 || (rows == 0 && !all[i].of_run);
    if (rows == 0 && all[i].of_run)
      error_set(e, ERROR_MISSING, "%s: contains no run", l->url->whole);
  }
  if (begun && !good) link_do(l, "rollback", 0, NULL, NULL);
  return good && link_do(l, "commit", 0, NULL, e) >= 0;
}

/* Performs them, and once more if the connection is cut. */
static bool perform(const struct sys *sys, const struct url *url, const struct work *all,
                    size_t count, struct error *e) {
  struct commits *c;
  bool good = false, again = true;
  if (!commits_take(sys, url, "", &c, e)) return false;
  for (int i = 0; !good && again && i < 2; i++) {
    struct link *l = commits_enter(c, url, e);
    good = l && try_to_perform(l, all, count, e);
    again = l && link_broken(l);
    if (l) commits_leave(c);
  }
  commits_release(c);
  return good;
}

#define ADD_SLOTS                                                                                  \
  "insert into skillrt.slot (key, slot) select $1, generate_series(1, $2::bigint)"                 \
  " on conflict do nothing"
#define ADD_RATES                                                                                  \
  "insert into skillrt.rate (key, slot) select $1, generate_series(1, $2::bigint)"                 \
  " on conflict do nothing"

bool label_provide(const struct sys *sys, const struct url *url, const struct label *label,
                   struct error *e) {
  struct value slots[] = {TEXT(label->key), NUMBER(label->most)};
  struct value rates[] = {TEXT(label->key), NUMBER(label->rate)};
  const struct work all[] = {{false, ADD_SLOTS, 2, slots}, {false, ADD_RATES, 2, rates}};
  return perform(sys, url, all, sizeof all / sizeof *all, e);
}

bool postgres_label(const struct sys *sys, const char *at, const struct label *label,
                    struct error *e) {
  struct url url;
  if (!url_read(at, true, &url, e)) return false;
  if (label->key && !label_provide(sys, &url, label, e)) return false;
  struct value key = {.data = label->key, .length = -1, .is_null = !label->key};
  struct value run[] = {TEXT(url.run),       TEXT(label->queue),  NUMBER(label->prio),   key,
                        NUMBER(label->most), NUMBER(label->rate), NUMBER(label->rate_ms)};
  const struct work all[] = {
      {true,
       "update skillrt.run set queue = $2, prio = $3, limit_key = $4, limit_most = $5,"
       " limit_rate = $6, limit_ms = $7 where run = $1 and status <> 'moved'",
       7, run},
      {false, "select pg_notify('skillrt_queue', '')", 0, NULL},
  };
  return perform(sys, &url, all, sizeof all / sizeof *all, e);
}

bool postgres_pause(const struct sys *sys, const char *at, const char *queue, bool paused,
                    struct error *e) {
  struct url url;
  struct value values[] = {TEXT(queue), NUMBER(paused)};
  const struct work all[] = {
      {false,
       "insert into skillrt.queue (queue, paused) values ($1, $2::int = 1)"
       " on conflict (queue) do update set paused = excluded.paused",
       2, values},
      {false, "select pg_notify('skillrt_queue', '')", 0, NULL},
  };
  return url_read(at, false, &url, e) && perform(sys, &url, all, sizeof all / sizeof *all, e);
}
