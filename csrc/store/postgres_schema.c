/* postgres_schema.c: the tables that runs in PostgreSQL need: makes them, and says what is missing.
 *
 * Their version is one number, and each step takes them to the next. Workers of the program before
 * may be at work meanwhile: a step only adds what they need not know. Called by store.c through
 * struct kind. */
#include "store/postgres.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* Names are compared by their bytes, so that months follow one another in every locale. The default
 * part takes the runs whose names do not begin with a month. */
static const char *const tables[][2] = {
    {"fleet", "create table skillrt.fleet (version int not null, lease_ms bigint not null)"},
    {"worker", "create table skillrt.worker (worker text primary key, line text not null,"
               " process text not null, deadline timestamptz not null)"},
    {"run", "create table skillrt.run (run text collate \"C\" primary key, id text not null,"
            " owner text, status text not null default 'executing', due bigint not null default 0,"
            " about text not null default '')"},
    {"journal", "create table skillrt.journal (run text collate \"C\" not null, batch int not null,"
                " segment int not null, seq bigint not null, records bigint not null,"
                " lines bytea not null, primary key (run, batch)) partition by range (run)"},
    {"journal_rest", "create table skillrt.journal_rest partition of skillrt.journal default"},
    {"queue", "create table skillrt.queue (queue text collate \"C\" primary key,"
              " paused boolean not null)"},
    {"slot", "create table skillrt.slot (key text collate \"C\" not null, slot bigint not null,"
             " run text collate \"C\", primary key (key, slot))"},
    {"rate", "create table skillrt.rate (key text collate \"C\" not null, slot bigint not null,"
             " taken timestamptz, primary key (key, slot))"},
    {"inbox", "create table skillrt.inbox (arrival bigserial primary key,"
              " run text collate \"C\" not null, key text, came timestamptz not null"
              " default clock_timestamp(), fate text not null default 'waits', text bytea not null,"
              " unique (run, key))"},
    {"inbox_waits",
     "create index inbox_waits on skillrt.inbox (run, arrival) where fate = 'waits'"},
    {"run_due", "create index run_due on skillrt.run (due) where due > 0"},
    {"run_ready", "create index run_ready on skillrt.run (queue, prio desc, due, run)"
                  " where queue is not null and status = 'executing' and owner is null"},
    {"run_owner", "create index run_owner on skillrt.run (owner) where owner is not null"},
    {"blob", "create table skillrt.blob (digest text collate \"C\" primary key, value bytea not"
             " null)"},
};

/* What tables of an earlier version lack, and new ones: made behind the table run. */
static const struct {
  int version;
  const char *statement;
} steps[] = {
    /* queue: null, no worker claims it; claimed: no other worker may claim it before */
    {3, "alter table skillrt.run add if not exists about text not null default '',"
        " add if not exists queue text collate \"C\","
        " add if not exists prio bigint not null default 0,"
        " add if not exists limit_key text collate \"C\", add if not exists limit_most bigint,"
        " add if not exists limit_rate bigint not null default 0,"
        " add if not exists limit_ms bigint not null default 0,"
        " add if not exists claimed timestamptz"},
    /* the database itself releases the runs of a lease that is removed */
    {4, "do $$ begin"
        " if not exists (select 1 from pg_constraint where conname = 'run_owner_lease') then"
        "  drop index if exists skillrt.run_waits;"
        "  update skillrt.run r set owner = null where owner is not null"
        "   and not exists (select 1 from skillrt.worker w where w.worker = r.owner);"
        "  alter table skillrt.run add constraint run_owner_lease"
        "   foreign key (owner) references skillrt.worker on delete set null;"
        " end if; end $$"},
    /* which taking of the run made its owner the owner: a statement that is late ends no other */
    {5, "alter table skillrt.run add if not exists taking bigint"},
    /* of a run that is moved away: its status before, until it has arrived, and where it goes */
    {6, "alter table skillrt.run add if not exists stood text, add if not exists away_to text"},
};

enum { TABLES = sizeof tables / sizeof *tables, STEPS = sizeof steps / sizeof *steps, MONTHS = 12 };
enum { PATIENCE_S = 30, AGAIN_MS = 100 };

static bool is_there(struct link *l, const char *name, bool *there, struct error *e) {
  char full[80];
  snprintf(full, sizeof full, "skillrt.%s", name);
  PGresult *result =
      link_ask(l, "select to_regclass($1) is not null", 1, (struct value[]){TEXT(full)}, e);
  *there = result && cell_number(result, 0, 0);
  PQclear(result);
  return result != NULL;
}

/* A thing that a statement makes where it is missing. */
static bool provide(struct link *l, const struct store_setup *setup, const char *name,
                    const char *statement, struct buffer *missing, struct error *e) {
  bool there;
  if (!is_there(l, name, &there, e)) return false;
  if (there) return true;
  if (setup->only_check) return buffer_format(missing, e, "skillrt.%s is missing\n", name);
  return link_do(l, statement, 0, NULL, e) >= 0;
}

/* Runs are named by the time at which they began, as a rule: each month has a part of the journal,
 * which can be dropped as a whole. */
static bool provide_months(struct link *l, const struct store_setup *setup, struct buffer *missing,
                           struct error *e) {
  time_t now = (time_t)(l->sys->wall_ms(l->sys) / 1000);
  struct tm day;
  gmtime_r(&now, &day);
  for (int i = 0; i < MONTHS; i++) {
    char name[40], statement[300];
    int month = (day.tm_year + 1900) * 12 + day.tm_mon + i, next = month + 1;
    snprintf(name, sizeof name, "journal_%04d%02d", month / 12, month % 12 + 1);
    snprintf(statement, sizeof statement,
             "create table skillrt.%s partition of skillrt.journal"
             " for values from ('%04d%02d') to ('%04d%02d')",
             name, month / 12, month % 12 + 1, next / 12, next % 12 + 1);
    if (setup->only_check && i > 1) return true; /* this month and the next */
    if (!provide(l, setup, name, statement, missing, e)) return false;
  }
  return true;
}

static bool provide_version(struct link *l, const struct store_setup *setup, struct error *e) {
  struct value lease[] = {NUMBER(setup->lease_ms)};
  struct value values[] = {NUMBER(FLEET_VERSION),
                           NUMBER(setup->lease_ms ? setup->lease_ms : LEASE_MS)};
  int rows = link_do(l, "select 1 from skillrt.fleet", 0, NULL, e);
  if (rows == 0)
    return link_do(l, "insert into skillrt.fleet (version, lease_ms) values ($1, $2)", 2, values,
                   e) == 1;
  if (rows < 0 || link_do(l, "update skillrt.fleet set version = $1", 1, values, e) != 1)
    return false;
  return !setup->lease_ms || link_do(l, "update skillrt.fleet set lease_ms = $1", 1, lease, e) == 1;
}

/* The version of the tables; 0: there are none, or they are not whole; -1: it cannot be read. */
static int64_t version_of(struct link *l, struct error *e) {
  bool there;
  if (!is_there(l, "fleet", &there, e)) return -1;
  PGresult *result = there ? link_ask(l, "select version from skillrt.fleet", 0, NULL, e) : NULL;
  int64_t version = result && PQntuples(result) == 1 ? cell_number(result, 0, 0) : 0;
  bool good = result || !there;
  PQclear(result);
  return good ? version : -1;
}

static bool take_steps(struct link *l, int64_t version, struct error *e) {
  for (size_t i = 0; i < STEPS; i++)
    if (version < steps[i].version && link_do(l, steps[i].statement, 0, NULL, e) < 0) return false;
  return true;
}

static bool provide_all(struct link *l, const struct store_setup *setup, struct buffer *missing,
                        struct error *e) {
  if (!setup->only_check && (link_do(l, "select pg_advisory_xact_lock(7236553)", 0, NULL, e) < 0 ||
                             link_do(l, "create schema if not exists skillrt", 0, NULL, e) < 0))
    return false;
  int64_t version = version_of(l, e);
  if (version < 0) return false;
  for (size_t i = 0; i < TABLES; i++) {
    if (!provide(l, setup, tables[i][0], tables[i][1], missing, e)) return false;
    bool is_run = strcmp(tables[i][0], "run") == 0;
    if (is_run && !setup->only_check && !take_steps(l, version, e)) return false;
  }
  if (!provide_months(l, setup, missing, e)) return false;
  if (!setup->only_check) return provide_version(l, setup, e);
  return version == 0 || version == FLEET_VERSION ||
         buffer_format(missing, e, "the tables are older than version %d\n", FLEET_VERSION);
}

/* In one transaction. No statement waits long for a lock, so that this never ends a transaction of
 * a worker that waits for another lock of ours: who has to wait starts anew. */
static bool provide_at_once(struct link *l, const struct store_setup *setup, struct buffer *missing,
                            struct error *e) {
  int64_t until = l->sys->mono_ns(l->sys) + (int64_t)PATIENCE_S * 1000000000;
  for (;;) {
    struct error why = {0};
    if (link_do(l, "begin", 0, NULL, &why) >= 0 &&
        link_do(l, "set local lock_timeout = '300ms'", 0, NULL, &why) >= 0 &&
        provide_all(l, setup, missing, &why) && link_do(l, "commit", 0, NULL, &why) >= 0)
      return true;
    if (why.code != ERROR_BUSY || l->sys->mono_ns(l->sys) > until) {
      if (e) *e = why;
      return false;
    }
    link_do(l, "rollback", 0, NULL, NULL);
    l->sys->pause(l->sys, AGAIN_MS);
  }
}

/* Names settings of the server with which a committed row may be lost. */
static bool look_at_settings(struct link *l, struct buffer *missing, struct error *e) {
  static const char *const names[] = {"fsync", "full_page_writes"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    PGresult *result =
        link_ask(l, "select current_setting($1)", 1, (struct value[]){TEXT(names[i])}, e);
    if (!result) return false;
    bool off = strcmp(PQgetvalue(result, 0, 0), "off") == 0;
    PQclear(result);
    if (off && !buffer_format(missing, e,
                              "the server has %s = off: a power cut may lose what was recorded\n",
                              names[i]))
      return false;
  }
  return true;
}

/* Names standbys whose promotion may lose a committed row. A database that only speaks the protocol
 * of PostgreSQL may not know of standbys. */
static bool look_at_standbys(struct link *l, struct buffer *missing, struct error *e) {
  PGresult *result = link_ask(l,
                              "select count(*) from pg_stat_replication"
                              " where current_setting('synchronous_standby_names') = ''",
                              0, NULL, NULL);
  int64_t count = result && PQntuples(result) == 1 ? cell_number(result, 0, 0) : 0;
  PQclear(result);
  return count == 0 || buffer_format(missing, e,
                                     "the server waits for none of its standbys (%" PRId64
                                     "): a promoted one may lack the last commits; set "
                                     "synchronous_standby_names to prevent that\n",
                                     count);
}

/* ERROR_NEWER, where there are tables and they are of a later version. */
static bool check_known(const struct sys *sys, const struct url *url, struct error *e) {
  struct link l;
  struct error why = {0};
  link_init(&l, sys, url);
  bool good = link_open(&l, &why) || why.code == ERROR_MISSING;
  link_close(&l);
  if (!good && e) *e = why;
  return good;
}

bool postgres_prepare(const struct sys *sys, const char *at, const struct store_setup *setup,
                      struct buffer *missing, struct error *e) {
  struct url url;
  struct link l;
  if (!url_read(at, false, &url, e) || !check_known(sys, &url, e)) return false;
  link_init(&l, sys, &url);
  l.fresh = true;
  bool good = link_open(&l, e) && provide_at_once(&l, setup, missing, e) &&
              look_at_settings(&l, missing, e) && look_at_standbys(&l, missing, e);
  link_close(&l);
  return good;
}
