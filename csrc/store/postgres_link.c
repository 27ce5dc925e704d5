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
  RESTART_S = 30,
  SQLSTATE = 5
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

/* A message in one line. */
static bool tell(const struct link *l, enum error_code code, const char *text, struct error *e) {
  char line[300];
  snprintf(line, sizeof line, "%s", text);
  for (char *at = line; *at; at++)
    if (*at == '\n') *at = at[1] ? ' ' : '\0';
  error_set(e, code, "%s: %s", l->url->whole, line);
  if (e) e->number = EIO;
  return false;
}

/* With what the server or libpq says of a statement. */
static bool fail(struct link *l, const PGresult *result, struct error *e) {
  const char *state = result ? PQresultErrorField(result, PG_DIAG_SQLSTATE) : NULL;
  const char *text = result ? PQresultErrorMessage(result) : PQerrorMessage(l->connection);
  if (!state || strncmp(state, "57P", 3) == 0 || strncmp(state, "08", 2) == 0) l->dropped = true;
  if (state && (strcmp(state, "42P01") == 0 || strcmp(state, "3F000") == 0))
    return error_set(e, ERROR_MISSING,
                     "%s: has no tables of skillrt; make them by: skillrt fleet init URL",
                     l->url->whole);
  bool waited = state && strcmp(state, "55P03") == 0; /* for a lock */
  return tell(l, waited ? ERROR_BUSY : ERROR_SYSTEM, text, e);
}

/* ---- connecting ---- */

/* libpq takes the last of several values: those after the URL override it, those before do not. */
static PGconn *connect_to(const struct url *url) {
  const char *const names[] = {"connect_timeout", "tcp_user_timeout", "application_name", "dbname",
                               NULL};
  const char *const values[] = {"10", "10000", "skillrt", url->database, NULL};
  int held[3];
  sys_hold_standard(held);
  PGconn *connection = PQconnectdbParams(names, values, 1);
  sys_release_standard(held);
  return connection;
}

/* Why a connection failed. */
struct refusal {
  char text[300];
  char state[SQLSTATE + 1]; /* of the server's message; "": it sent none */
};

static bool is_state(const char *text, const char *at) {
  return at - text >= 3 && memcmp(at - 3, ":  ", 3) == 0 &&
         strspn(at, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ") == SQLSTATE && at[SQLSTATE] == ':';
}

/* Takes the SQLSTATE and the place in the server's source out of a verbose message. */
static void read_refusal(struct refusal *to, const char *text) {
  size_t length = 0;
  for (const char *at = text; *at && length < sizeof to->text - 1;) {
    if (is_state(text, at)) {
      memcpy(to->state, at, SQLSTATE);
      at += SQLSTATE + 2;
    } else if (strncmp(at, "\nLOCATION:", 10) == 0) {
      at += 1 + strcspn(at + 1, "\n");
    } else {
      to->text[length++] = *at++;
    }
  }
  to->text[length] = '\0';
}

/* Connects once more, verbosely: libpq gives the SQLSTATE of a connection that failed only in the
 * text of a verbose message. */
static void connect_again(struct link *l, struct refusal *to) {
  int held[3];
  read_refusal(to, PQerrorMessage(l->connection));
  PQsetErrorVerbosity(l->connection, PQERRORS_VERBOSE);
  sys_hold_standard(held);
  PQreset(l->connection);
  sys_release_standard(held);
  PQsetErrorVerbosity(l->connection, PQERRORS_DEFAULT);
  const char *text = PQerrorMessage(l->connection);
  if (text[0]) read_refusal(to, text); /* none: libpq made no attempt, the URL being wrong */
}

/* How long to wait for a server that refused so: it may be out of reach, start, end, or have too
 * many connections. A wrong password, URL or name of a database is none of these. */
static int64_t patience_s(const struct link *l, const struct refusal *refusal) {
  const char *state = refusal->state;
  if (strcmp(state, "57P03") == 0) return RESTART_S; /* it cannot connect now */
  if (state[0])
    return strncmp(state, "57P", 3) == 0 || strncmp(state, "08", 2) == 0 ||
                   strncmp(state, "53", 2) == 0
               ? GONE_S
               : 0;
  return PQconnectionNeedsPassword(l->connection) || !PQerrorMessage(l->connection)[0] ? 0 : GONE_S;
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

/* False: it failed, and how long to wait for the server. */
static bool try_to_open(struct link *l, int64_t *patience, struct error *e) {
  struct refusal refusal = {.text = ""};
  *patience = 0;
  link_close(l);
  l->dropped = false;
  memset(l->statements, 0, sizeof l->statements);
  l->connection = connect_to(l->url);
  if (!l->connection) return error_set(e, ERROR_MEMORY, "%s: out of memory", l->url->whole);
  if (link_broken(l) && l->at_once) return fail(l, NULL, e);
  if (link_broken(l)) connect_again(l, &refusal);
  if (link_broken(l)) {
    *patience = patience_s(l, &refusal);
    return tell(l, ERROR_SYSTEM, refusal.text, e);
  }
  PQsetNoticeProcessor(l->connection, ignore, NULL);
  struct value commit = {.data = l->commit, .length = -1, .is_null = !l->commit};
  if (link_do(l, asked_commit, 1, &commit, e) >= 0 && (l->fresh || check_version(l, e))) {
    l->opened++;
    atomic_fetch_add(&openings, 1);
    return true;
  }
  if (link_broken(l) && !l->at_once) *patience = GONE_S;
  link_close(l);
  return false;
}

/* When this process began to wait for a database, on the monotonic clock; 0: it is in reach. One
 * that looks at a database again and again, or has many runs in it, waits for it only once. */
static _Atomic(int64_t) out_of_reach;

uint64_t link_openings(void) {
  return atomic_load(&openings);
}

int64_t link_until(const struct sys *sys) {
  int64_t since = atomic_load(&out_of_reach);
  return (since ? since : sys->mono_ns(sys)) + (int64_t)RESTART_S * 1000000000;
}

bool link_open(struct link *l, struct error *e) {
  return link_open_until(l, 0, e);
}

bool link_open_until(struct link *l, int64_t until_ns, struct error *e) {
  if (!link_broken(l)) return true;
  for (int ms = WAIT_MS;; ms = ms < WAIT_MOST_MS ? ms * 2 : ms) {
    struct error why = {0};
    int64_t patience, none = 0;
    if (try_to_open(l, &patience, &why)) {
      atomic_store(&out_of_reach, 0);
      return true;
    }
    int64_t now = l->sys->mono_ns(l->sys);
    if (why.code == ERROR_SYSTEM && (!l->at_once || until_ns > 0))
      atomic_compare_exchange_strong(&out_of_reach, &none, now);
    int64_t waited = (now - atomic_load(&out_of_reach)) / 1000000000;
    if (why.code != ERROR_SYSTEM || (waited >= patience && now >= until_ns)) {
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
