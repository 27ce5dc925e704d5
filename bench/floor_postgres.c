/* floor_postgres.c: what a step costs at least that is a commit in PostgreSQL: inserts the same
 * bytes, one row and one commit a step, by libpq alone.
 *
 * Usage: floor_postgres URL STEPS BYTES [key|journal [RUNS]]. With "key" the table has a primary
 * key (run, batch), with "journal" it is the fleet's own, and a row is not added where its key is
 * taken; else it has none. With RUNS each statement inserts a row for each of so many runs (not
 * into the journal). Prints the nanoseconds a step took. bench/rows compare with it. */
#include <arpa/inet.h>
#include <libpq-fe.h>
#include <stdint.h>
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

/* As many elements of an array in the server's own form; `at` gets where they end. */
static char *array(char *at, uint32_t type, int count) {
  const uint32_t head[] = {htonl(1), 0, htonl(type), htonl((uint32_t)count), htonl(1)};
  memcpy(at, head, sizeof head);
  return at + sizeof head;
}

static char *element(char *at, const void *bytes, size_t size) {
  uint32_t length = htonl((uint32_t)size);
  memcpy(at, &length, sizeof length);
  memcpy(at + sizeof length, bytes, size);
  return at + sizeof length + size;
}

/* One row for each run, in one statement. */
static int put_all(PGconn *c, const char *run, int batch, const char *bytes, int size, int runs,
                   char *room) {
  char name[48];
  uint32_t number = htonl((uint32_t)batch);
  char *ends[4] = {room, array(room, 25, runs)};
  for (int i = 0; i < runs; i++)
    ends[1] = element(ends[1], name, (size_t)snprintf(name, sizeof name, "%s-%d", run, i));
  ends[2] = array(ends[1], 23, runs);
  for (int i = 0; i < runs; i++)
    ends[2] = element(ends[2], &number, sizeof number);
  ends[3] = array(ends[2], 17, runs);
  for (int i = 0; i < runs; i++)
    ends[3] = element(ends[3], bytes, (size_t)size);
  const char *values[] = {ends[0], ends[1], ends[2]};
  const int lengths[] = {(int)(ends[1] - ends[0]), (int)(ends[2] - ends[1]),
                         (int)(ends[3] - ends[2])};
  const int formats[] = {1, 1, 1};
  return check(c, PQexecPrepared(c, "put", 3, values, lengths, formats, 1));
}

int main(int count, char **args) {
  if (count < 4) {
    fprintf(stderr, "usage: floor_postgres URL STEPS BYTES [key|journal [RUNS]]\n");
    return 2;
  }
  int steps = atoi(args[2]), size = atoi(args[3]);
  PGconn *c = PQconnectdb(args[1]);
  char *bytes = malloc((size_t)size + 1), run[32], batch[16];
  snprintf(run, sizeof run, "%d", (int)getpid());
  if (!bytes || PQstatus(c) != CONNECTION_OK) return 1;
  memset(bytes, 'x', (size_t)size);
  int is_journal = count > 4 && strcmp(args[4], "journal") == 0;
  const char *table = count > 4 ? "floor_key" : "floor_plain";
  char text[200];
  snprintf(text, sizeof text, "create table if not exists %s (run text, batch int, lines bytea%s)",
           table, count > 4 ? ", primary key (run, batch)" : "");
  if (!check(c, PQexec(c, "set client_min_messages = error")) || !check(c, PQexec(c, text)))
    return 1;
  int runs = count > 5 ? atoi(args[5]) : 0;
  char *room = malloc((size_t)(runs + 1) * ((size_t)size + 80));
  if (!room) return 1;
  snprintf(text, sizeof text,
           runs ? "insert into %s select * from unnest($1::text[], $2::int[], $3::bytea[])"
           : is_journal
               ? "insert into skillrt.journal (run, batch, segment, seq, records, lines)"
                 " values ($1, $2, 0, 0, 1, $3) on conflict do nothing returning run, batch"
               : "insert into %s values ($1, $2, $3)",
           table);
  if (!check(c, PQprepare(c, "put", text, 0, NULL))) return 1;
  long long start = now();
  for (int i = 0; runs && i < steps; i++)
    if (!put_all(c, run, i, bytes, size, runs, room)) return 1;
  for (int i = 0; !runs && i < steps; i++) {
    const char *values[] = {run, batch, bytes};
    const int lengths[] = {0, 0, size}, formats[] = {0, 0, 1};
    snprintf(batch, sizeof batch, "%d", i);
    if (!check(c, PQexecPrepared(c, "put", 3, values, lengths, formats, 1))) return 1;
  }
  printf("%lld\n", (now() - start) / (steps > 0 ? steps : 1) / (runs ? runs : 1));
  PQfinish(c);
  free(bytes);
  free(room);
  return 0;
}
