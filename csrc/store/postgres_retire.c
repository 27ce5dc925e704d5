/* postgres_retire.c: drops the months of a database whose runs are finished.
 * Called by store.c through struct kind. */
#include "store/postgres.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* A run that nobody advances any more, here; `moved`: it went to another place. */
#define FINISHED                                                                                   \
  "owner is null and (status in ('completed', 'failed', 'aborted')"                                \
  " or status = 'moved' and stood is null)"

/* The parts of the journal for months, and what `run` has of each: all its runs, those that are not
 * finished, and one of them. */
static const char months[] =
    "select m.month, count(r.run), count(r.run) filter (where not (" FINISHED ")),"
    " coalesce(min(r.run) filter (where not (" FINISHED ")), ''), m.next"
    " from (select substr(c.relname, 9) as month,"
    "  to_char(to_date(substr(c.relname, 9), 'YYYYMM') + interval '1 month', 'YYYYMM') as next"
    "  from pg_inherits i join pg_class c on c.oid = i.inhrelid"
    "  where i.inhparent = 'skillrt.journal'::regclass and c.relname ~ '^journal_[0-9]{6}$') m"
    " left join skillrt.run r on r.run >= m.month and r.run < m.next"
    " where m.month < $1 group by m.month, m.next order by m.month";

/* The rows of finished runs are removed first: who resumes one of them meanwhile waits for that,
 * and finds no run. Returns how many are left; -1: it failed. */
static int drop(struct link *l, const char *month, const char *next, struct error *e) {
  struct value range[] = {TEXT(month), TEXT(next)};
  char statement[80];
  if (link_do(l, "savepoint month", 0, NULL, e) < 0 ||
      link_do(l, "delete from skillrt.run where run >= $1 and run < $2 and " FINISHED, 2, range,
              e) < 0)
    return -1;
  int left = link_do(l, "select 1 from skillrt.run where run >= $1 and run < $2", 2, range, e);
  if (left != 0) return left > 0 && link_do(l, "rollback to month", 0, NULL, e) < 0 ? -1 : left;
  snprintf(statement, sizeof statement, "drop table skillrt.journal_%.6s", month);
  bool good =
      link_do(l, "delete from skillrt.inbox where run >= $1 and run < $2", 2, range, e) >= 0 &&
      link_do(l, "update skillrt.slot set run = null where run >= $1 and run < $2", 2, range, e) >=
          0 &&
      link_do(l, statement, 0, NULL, e) >= 0;
  return good ? 0 : -1;
}

static bool each_month(struct link *l, const char *before, bool only_look, struct buffer *to,
                       struct error *e) {
  PGresult *result = link_ask(l, months, 1, (struct value[]){TEXT(before)}, e);
  bool good = result != NULL;
  for (int row = 0; good && row < PQntuples(result); row++) {
    const char *month = PQgetvalue(result, row, 0), *next = PQgetvalue(result, row, 4);
    int64_t runs = cell_number(result, row, 1), left = cell_number(result, row, 2);
    if (left == 0 && !only_look) left = drop(l, month, next, e);
    good = left >= 0 && buffer_format(to, e, "%s %" PRId64 " %" PRId64 " %s\n", month, runs, left,
                                      PQgetvalue(result, row, 3));
  }
  PQclear(result);
  return good;
}

bool postgres_retire(const struct sys *sys, const char *at, const char *before, bool only_look,
                     struct buffer *to, struct error *e) {
  struct url url;
  struct link l;
  if (!url_read(at, false, &url, e)) return false;
  link_init(&l, sys, &url);
  bool good = link_open(&l, e) && link_do(&l, "begin", 0, NULL, e) >= 0 &&
              each_month(&l, before, only_look, to, e) && link_do(&l, "commit", 0, NULL, e) >= 0;
  link_close(&l);
  return good;
}
