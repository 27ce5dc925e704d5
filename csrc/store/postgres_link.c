/* postgres_link.c: a connection to a database, and statements on it. Knows no tables but the one
 * that says which version they have. Called by the module's other files. */
#include "store/postgres.h"

#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  VALUES_MAX = 16,
  DIGITS = 24,
  WAIT_MS = 20,
  WAIT_MOST_MS = 500,
  GONE_S = 10,
  RESTART_S = 30
};

void link_init(struct link *l, const struct sys *sys, const struct url *url) {
  *l = (struct link){.sys = sys, .url = url};
}

void link_close(struct link *l) {
  if (l->connection) PQfinish(l->connection);
  l->connection = NULL;
}

bool link_broken(const struct link *l) {
  return !l->connection || l->dropped || PQstatus(l->connection) != CONNECTION_OK;
}

/* The message of the server or libpq, in one line. */
static bool fail(struct link *l, const PGresult *result, struct error *e) {
  const char *state = result ? PQresultErrorField(result, PG_DIAG_SQLSTATE) : NULL;
  const char *text = result ? PQresultErrorMessage(result) : PQerrorMessage(l->connection);
  char line[300];
  if (!state || strncmp(state, "57P", 3) == 0 || strncmp(state, "08", 2) == 0) l->dropped = true;
  if (state && (strcmp(state, "42P01") == 0 || strcmp(state, "3F000") == 0))
    return error_set(e, ERROR_MISSING,
                     "%s: has no tables of skillrt; make them by: skillrt fleet init URL",
                     l->url->whole);
  snprintf(line, sizeof line, "%s", text);
  for (char *at = line; *at; at++)
    if (*at == '\n') *at = at[1] ? ' ' : '\0';
  bool waited = state && strcmp(state, "55P03") == 0; /* for a lock */
  error_set(e, waited ? ERROR_BUSY : ERROR_SYSTEM, "%s: %s", l->url->whole, line);
  if (e) e->number = EIO;
  return false;
}

/* libpq takes the last of several values: those after the URL override it, those before do not. */
#define CONNECTS                                                                                   \
  const char *const names[] = {"connect_timeout", "tcp_user_timeout", "application_name",          \
                               "dbname", NULL};                                                    \
  const char *const values[] = {"10", "10000", "skillrt", url->database, NULL}

static PGconn *connect_to(const struct url *url) {
  CONNECTS;
  int held[3];
  sys_hold_standard(held);
  PGconn *connection = PQconnectdbParams(names, values, 1);
  sys_release_standard(held);
  return connection;
}

static PGPing ping(const struct url *url) {
  CONNECTS;
  int held[3];
  sys_hold_standard(held);
  PGPing answer = PQpingParams(names, values, 1);
  sys_release_standard(held);
  return answer;
}

/* A URL may come from anywhere, and synchronous_commit=off does not survive a power cut. All
 * statements find their rows by an index whatever the values are, so that a prepared one is planned
 * once only. */
static const char asked_commit[] =
    "select set_config('synchronous_commit', coalesce($1, case when"
    " current_setting('synchronous_commit') in ('off', 'local') then 'on'"
    " else current_setting('synchronous_commit') end), false),"
    " set_config('plan_cache_mode', 'force_generic_plan', false)";
static const char asked_version[] = "select version, lease_ms from skillrt.fleet";

static bool check_version(struct link *l, struct error *e) {
  PGresult *result = link_ask(l, asked_version, 0, NULL, e);
  if (!result) return false;
  int64_t version = PQntuples(result) == 1 ? cell_number(result, 0, 0) : 0;
  l->lease_ms = version ? cell_number(result, 0, 1) : 0;
  PQclear(result);
  if (version == FLEET_VERSION) return true;
  if (version > FLEET_VERSION)
    return error_set(e, ERROR_NEWER,
                     "%s: its tables have version %" PRId64 ", and this skillrt knows version %d: "
                     "use a newer skillrt",
                     l->url->whole, version, FLEET_VERSION);
  return error_set(e, ERROR_MISSING,
                   "%s: its tables are not whole, or of an earlier version; make them by: skillrt "
                   "fleet init URL",
                   l->url->whole);
}

/* The caller reports what fails. */
static void ignore(void *data, const char *notice) {
  (void)data, (void)notice;
}

static _Atomic(uint64_t) openings;

static bool try_to_open(struct link *l, struct error *e) {
  link_close(l);
  l->dropped = false;
  memset(l->statements, 0, sizeof l->statements);
  l->connection = connect_to(l->url);
  if (!l->connection) return error_set(e, ERROR_MEMORY, "%s: out of memory", l->url->whole);
  if (link_broken(l)) return fail(l, NULL, e);
  PQsetNoticeProcessor(l->connection, ignore, NULL);
  struct value commit = {.data = l->commit, .length = -1, .is_null = !l->commit};
  if (link_do(l, asked_commit, 1, &commit, e) >= 0 && (l->fresh || check_version(l, e))) {
    l->opened++;
    atomic_fetch_add(&openings, 1);
    return true;
  }
  if (!link_broken(l)) link_close(l);
  return false;
}

/* When this process found a database out of reach, on the monotonic clock; 0: it is in reach. A
 * process that looks at a database again and again waits for it only once. */
static _Atomic(int64_t) out_of_reach;

/* Whether the server ended the connection without a word, as one does that crashes; libpq says no
 * more, and says it in English, as no locale is set here. */
static bool was_cut(const struct link *l) {
  const char *text = l->connection ? PQerrorMessage(l->connection) : "";
  return strstr(text, "closed the connection") || strstr(text, "onnection reset") ||
         strstr(text, "roken pipe");
}

/* Whether a server that restarts would have refused the connection so, and how long to wait for it.
 * Where it does `*answer` and has cut nothing, another reason remains: a password, a database that
 * is not there; or it has restarted meanwhile. */
static int64_t patience_s(const struct link *l, bool *answers) {
  if (l->at_once) return 0;
  if (l->connection && PQstatus(l->connection) == CONNECTION_OK) return GONE_S;
  switch (ping(l->url)) {
  case PQPING_REJECT:
    return RESTART_S;
  case PQPING_NO_RESPONSE:
    return GONE_S;
  case PQPING_OK:
    *answers = true;
    return was_cut(l) ? GONE_S : 0;
  default:
    return 0;
  }
}

uint64_t link_openings(void) {
  return atomic_load(&openings);
}

bool link_open(struct link *l, struct error *e) {
  return link_open_until(l, 0, e);
}

bool link_open_until(struct link *l, int64_t until_ns, struct error *e) {
  if (!link_broken(l)) return true;
  bool answered = false; /* the server did, after a connection had failed */
  for (int ms = WAIT_MS;; ms = ms < WAIT_MOST_MS ? ms * 2 : ms) {
    struct error why = {0};
    if (try_to_open(l, &why)) {
      atomic_store(&out_of_reach, 0);
      return true;
    }
    int64_t none = 0, now = l->sys->mono_ns(l->sys), patience = 0;
    bool before = answered;
    if (why.code == ERROR_SYSTEM) {
      atomic_compare_exchange_strong(&out_of_reach, &none, now);
      patience = patience_s(l, &answered);
    }
    int64_t waited = (now - atomic_load(&out_of_reach)) / 1000000000;
    bool once_more = answered && !before;
    if (why.code != ERROR_SYSTEM || (waited >= patience && now >= until_ns && !once_more)) {
      link_close(l);
      if (patience > 0)
        error_set(e, why.code, "%s (tried for %" PRId64 " s)", why.text, patience);
      else if (e)
        *e = why;
      return false;
    }
    l->sys->pause(l->sys, ms);
  }
}

/* ---- statements ---- */

struct given {
  const char *values[VALUES_MAX];
  int lengths[VALUES_MAX], formats[VALUES_MAX];
  char digits[VALUES_MAX][DIGITS];
};

static void give(struct given *g, int count, const struct value *values) {
  for (int i = 0; i < count; i++) {
    const struct value *value = &values[i];
    snprintf(g->digits[i], DIGITS, "%" PRId64, value->number);
    g->values[i] = value->is_null ? NULL : value->data ? value->data : g->digits[i];
    g->formats[i] = value->data && value->length >= 0;
    g->lengths[i] = g->formats[i] ? value->length : 0;
  }
}

static PGresult *judge(struct link *l, PGresult *result, struct error *e) {
  ExecStatusType status = PQresultStatus(result);
  if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK) return result;
  fail(l, result, e);
  PQclear(result);
  return NULL;
}

/* The statement's entry of this connection; NULL: it has no room for one more. */
static struct statement *entry_of(struct link *l, const char *text) {
  for (int i = 0; i < STATEMENTS; i++) {
    struct statement *entry = &l->statements[i];
    if (entry->text && entry->text != text) continue;
    entry->text = text;
    snprintf(entry->name, sizeof entry->name, "s%d", i);
    return entry;
  }
  return NULL;
}

static bool prepare(struct link *l, struct statement *entry, struct error *e) {
  PGresult *result = judge(l, PQprepare(l->connection, entry->name, entry->text, 0, NULL), e);
  if (result) entry->state = STATEMENT_PREPARED;
  PQclear(result);
  return result != NULL;
}

PGresult *link_ask(struct link *l, const char *statement, int count, const struct value *values,
                   struct error *e) {
  struct given g;
  if (!l->connection) {
    error_set(e, ERROR_SYSTEM, "%s: not connected", l->url->whole);
    return NULL;
  }
  give(&g, count, values);
  struct statement *entry = count > 0 ? entry_of(l, statement) : NULL;
  if (!entry || entry->state == STATEMENT_NEW) {
    if (entry) entry->state = STATEMENT_SEEN;
    return judge(
        l, PQexecParams(l->connection, statement, count, NULL, g.values, g.lengths, g.formats, 1),
        e);
  }
  if (entry->state == STATEMENT_SEEN && !prepare(l, entry, e)) return NULL;
  return judge(
      l, PQexecPrepared(l->connection, entry->name, count, g.values, g.lengths, g.formats, 1), e);
}

static int changed(const PGresult *result) {
  return PQresultStatus(result) == PGRES_TUPLES_OK ? PQntuples(result)
                                                   : atoi(PQcmdTuples((PGresult *)result));
}

int link_do(struct link *l, const char *statement, int count, const struct value *values,
            struct error *e) {
  PGresult *result = link_ask(l, statement, count, values, e);
  int rows = result ? changed(result) : -1;
  PQclear(result);
  return rows;
}

/* ---- cells ---- */

int64_t cell_number(const PGresult *result, int row, int column) {
  const unsigned char *from = (const unsigned char *)PQgetvalue(result, row, column);
  int length = PQgetlength(result, row, column);
  uint64_t value = length > 0 && from[0] & 0x80 && length > 1 ? UINT64_MAX : 0;
  for (int i = 0; i < length; i++)
    value = value << 8 | from[i];
  return (int64_t)value;
}

struct span cell_bytes(const PGresult *result, int row, int column) {
  return (struct span){PQgetvalue(result, row, column), (size_t)PQgetlength(result, row, column)};
}

void cell_text(const PGresult *result, int row, int column, char *to, size_t room) {
  snprintf(to, room, "%s", PQgetvalue(result, row, column));
}
