/* floor_postgres.c: what a step costs at least that is a commit in PostgreSQL: inserts the same
 * bytes, one row and one commit a step, by libpq alone.
 *
 * Usage: floor_postgres URL STEPS BYTES [key]. With "key" the table has a primary key (run, batch);
 * else it has none. Prints the nanoseconds a step took. Knows nothing of skillrt; bench/rows
 * compare with it. */
#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static long long now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (long long)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int check(PGconn *connection, PGresult *result) {
  ExecStatusType status = PQresultStatus(result);
  int good = status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;
  if (!good) fprintf(stderr, "%s", PQerrorMessage(connection));
  PQclear(result);
  return good;
}

int main(int count, char **args) {
  if (count < 4) {
    fprintf(stderr, "usage: floor_postgres URL STEPS BYTES [key]\n");
    return 2;
  }
  int steps = atoi(args[2]), size = atoi(args[3]);
  PGconn *c = PQconnectdb(args[1]);
  char *bytes = malloc((size_t)size + 1), run[32], batch[16];
  snprintf(run, sizeof run, "%d", (int)getpid());
  if (!bytes || PQstatus(c) != CONNECTION_OK) return 1;
  memset(bytes, 'x', (size_t)size);
  const char *table = count > 4 ? "floor_key" : "floor_plain";
  char text[200];
  snprintf(text, sizeof text, "create table if not exists %s (run text, batch int, lines bytea%s)",
           table, count > 4 ? ", primary key (run, batch)" : "");
  if (!check(c, PQexec(c, "set client_min_messages = error")) || !check(c, PQexec(c, text)))
    return 1;
  snprintf(text, sizeof text, "insert into %s values ($1, $2, $3)", table);
  if (!check(c, PQprepare(c, "put", text, 0, NULL))) return 1;
  long long start = now();
  for (int i = 0; i < steps; i++) {
    const char *values[] = {run, batch, bytes};
    const int lengths[] = {0, 0, size}, formats[] = {0, 0, 1};
    snprintf(batch, sizeof batch, "%d", i);
    if (!check(c, PQexecPrepared(c, "put", 3, values, lengths, formats, 1))) return 1;
  }
  printf("%lld\n", (now() - start) / (steps > 0 ? steps : 1));
  PQfinish(c);
  free(bytes);
  return 0;
}
