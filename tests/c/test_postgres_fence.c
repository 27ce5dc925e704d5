/* test_postgres_fence.c: a run in PostgreSQL has one writer, whatever is lost on the way: a taken
 * place, a lapsed lease, a connection that is cut at every message, and an answer that is lost. */
#include "support/cutting_proxy.h"
#include "support/postgres.h"
#include "support/store_kit.h"

static struct server server;

/* What psql prints of a statement, up to a line. */
static const char *query(const char *statement) {
  static char line[256];
  char command[1024];
  snprintf(command, sizeof command, "psql -X -q -A -t '%s' -c \"%s\"", server.database, statement);
  FILE *pipe = popen(command, "re");
  line[0] = '\0';
  if (pipe && fgets(line, sizeof line, pipe)) line[strcspn(line, "\n")] = '\0';
  if (pipe) pclose(pipe);
  return line;
}

static bool open_at(struct kit *k, const char *url, enum store_open mode) {
  k->options.mode = mode;
  k->store = NULL;
  error_clear(&k->error);
  return store_open(k->sys, url, &k->options, &k->store, &k->report, &k->error);
}

/* A process has one lease for a URL of a database: another URL is as good as another process. */
static const char *other_url(const char *run) {
  static char url[512];
  snprintf(url, sizeof url, "%s&keepalives=1", server_run(&server, run));
  return url;
}

static void test_fence(void) {
  struct kit a, b;
  struct scratch s = {"/nowhere"};
  kit_init(&a, &s);
  kit_init(&b, &s);
  TEST("a second holder is refused, and told who the first one is") {
    char line[STORE_HOLDER];
    CHECK(open_at(&a, server_run(&server, "busy"), STORE_CREATE) && kit_put(&a, 0, 1));
    CHECK(!open_at(&b, other_url("busy"), STORE_RESUME) && b.error.code == ERROR_BUSY);
    CHECK(strstr(b.error.text, "held by process") != NULL);
    CHECK(!open_at(&b, server_run(&server, "busy"), STORE_RESUME) && b.error.code == ERROR_BUSY);
    CHECK(store_holder(a.sys, other_url("busy"), line) && atoi(line) == getpid());
    kit_close(&a);
    CHECK(!store_holder(a.sys, other_url("busy"), line));
    CHECK(open_at(&b, other_url("busy"), STORE_RESUME) && kit_count(&b) == 1 && kit_put(&b, 1, 1));
    kit_close(&b);
  }
  TEST("a commit is waited for as the durability of its run asks") {
    query("create table seen (setting text);"
          " create function see() returns trigger language plpgsql as 'begin"
          " insert into seen values (current_setting(''synchronous_commit'')); return new; end';"
          " create trigger see before insert on skillrt.journal for each row"
          " execute function see()");
    for (int power = 0; power < 2; power++) {
      a.options.durability = power ? DURABILITY_POWER : DURABILITY_PROCESS;
      CHECK(open_at(&a, server_run(&server, power ? "power" : "process"), STORE_CREATE));
      query("delete from seen");
      CHECK(kit_put(&a, 0, 1));
      CHECK_STR(query("select string_agg(distinct setting, ' ') from seen"), power ? "on" : "off");
      kit_close(&a);
    }
    query("drop trigger see on skillrt.journal; drop function see; drop table seen");
  }
  TEST("who lost the run finds the place of its batch taken, and writes nothing more") {
    CHECK(open_at(&a, server_run(&server, "taken"), STORE_CREATE) && kit_put(&a, 0, 2));
    CHECK(kit_append(&a, 2, 1, APPEND_WHOLE));
    query("delete from skillrt.worker"); /* as who finds it lapsed does */
    CHECK(open_at(&b, other_url("taken"), STORE_RESUME) && kit_count(&b) == 2);
    CHECK(!kit_sync(&a));
    CHECK(a.error.code == ERROR_LOST && strstr(a.error.text, "nothing more is written"));
    CHECK(!kit_append(&a, 2, 1, APPEND_WHOLE) && a.error.code == ERROR_LOST);
    CHECK(!kit_append(&a, 2, 1, APPEND_LAST_WORDS) && a.error.code == ERROR_LOST);
    CHECK(!kit_view(&a, "context/a.json", "{}\n") && a.error.code == ERROR_LOST);
    kit_close(&a);
    CHECK(kit_put(&b, 2, 1) && kit_count(&b) == 3);
    kit_close(&b);
    CHECK(open_at(&b, other_url("taken"), STORE_READ) && kit_count(&b) == 3 && !b.report.unclean);
    kit_close(&b);
    CHECK_STR(query("select owner is null from skillrt.run where run = 'taken'"), "t");
  }
  TEST(
      "a batch that was under way when the run was taken is in it, before the new holder's first") {
    CHECK(open_at(&a, server_run(&server, "late"), STORE_CREATE) && kit_put(&a, 0, 1));
    CHECK(kit_append(&a, 1, 1, APPEND_WHOLE));
    query("delete from skillrt.worker");
    CHECK(kit_sync(&a));
    CHECK(open_at(&b, other_url("late"), STORE_RESUME) && kit_count(&b) == 2);
    CHECK(!kit_put(&a, 2, 1) && a.error.code == ERROR_LOST);
    kit_close(&a);
    CHECK(kit_put(&b, 2, 1) && kit_count(&b) == 3);
    kit_close(&b);
  }
}

static void test_takings(void) {
  struct kit a, b;
  struct scratch s = {"/nowhere"};
  kit_init(&a, &s);
  kit_init(&b, &s);
  TEST("a run that a store has lost stays taken where a later store of the process has it") {
    CHECK(open_at(&a, server_run(&server, "again"), STORE_CREATE) && kit_put(&a, 0, 1));
    query("update skillrt.run set owner = null where run = 'again'");
    CHECK(open_at(&b, server_run(&server, "again"), STORE_RESUME));
    CHECK(!kit_put(&a, 1, 1) && a.error.code == ERROR_LOST);
    kit_close(&a);
    CHECK_STR(query("select owner is null from skillrt.run where run = 'again'"), "f");
    CHECK(kit_put(&b, 1, 1) && kit_count(&b) == 2);
    kit_close(&b);
    CHECK_STR(query("select owner is null from skillrt.run where run = 'again'"), "t");
  }
  TEST("two processes that take a run at the same end write rows that differ") {
    char first[64];
    CHECK(open_at(&a, server_run(&server, "same"), STORE_CREATE) && kit_put(&a, 0, 1));
    kit_close(&a);
    CHECK(open_at(&a, server_run(&server, "same"), STORE_RESUME));
    kit_close(&a); /* adds one more row */
    const char *row = "select md5(lines) from skillrt.journal where run = 'same' and batch = 3";
    snprintf(first, sizeof first, "%.60s", query(row));
    query("delete from skillrt.journal where run = 'same' and batch >= 3");
    CHECK(open_at(&b, other_url("same"), STORE_RESUME) && strlen(first) == 32);
    CHECK(strlen(query(row)) == 32 && strcmp(first, query(row)) != 0);
    CHECK(kit_put(&b, 1, 1) && kit_count(&b) == 2);
    kit_close(&b);
  }
}

/* ---- a run that another process begins meanwhile ---- */

static int64_t slept_ns;
static bool sleeps; /* where the row that fences is about to be sent */

static int64_t boot_of_sleeper(const struct sys *sys) {
  (void)sys;
  return sys_real()->boot_ns(sys_real()) + slept_ns;
}

/* Another process finds the lease lapsed, begins the run, and ends it. */
static int64_t mono_of_sleeper(const struct sys *sys) {
  struct kit b;
  struct scratch s = {"/nowhere"};
  (void)sys;
  if (sleeps) {
    sleeps = false;
    kit_init(&b, &s);
    query("delete from skillrt.worker");
    CHECK(open_at(&b, other_url("beginning"), STORE_CREATE) && kit_put(&b, 0, 2));
    kit_close(&b);
  }
  return sys_real()->mono_ns(sys_real());
}

static void test_second_beginning(void) {
  struct kit a;
  struct scratch s = {"/nowhere"};
  struct sys sys = *sys_real();
  sys.boot_ns = boot_of_sleeper;
  sys.mono_ns = mono_of_sleeper;
  TEST("who sleeps through its lease while it begins a run writes no beginning behind that of the "
       "next holder") {
    for (int knows = 0; knows < 2; knows++) {
      query("delete from skillrt.journal where run = 'beginning'");
      query("delete from skillrt.run where run = 'beginning'");
      kit_init(&a, &s);
      a.sys = &sys;
      sleeps = true;
      slept_ns = knows * 3600ll * 1000000000;
      CHECK(!open_at(&a, server_run(&server, "beginning"), STORE_CREATE) && !sleeps);
      CHECK(a.error.code == ERROR_EXISTS || a.error.code == ERROR_LOST);
      kit_close(&a);
      CHECK_STR(query("select count(*) from skillrt.journal where run = 'beginning'"), "3");
      a.sys = sys_real();
      CHECK(open_at(&a, other_url("beginning"), STORE_RESUME) && kit_count(&a) == 2);
      kit_close(&a);
    }
  }
}

static void test_nothing_written(void) {
  struct kit a;
  struct scratch s = {"/nowhere"};
  kit_init(&a, &s);
  TEST("a process that died before it wrote anything left no run, whoever resumes or begins it") {
    query("insert into skillrt.run (run, id) values ('nothing', 'nothing')");
    CHECK(!open_at(&a, server_run(&server, "nothing"), STORE_RESUME));
    CHECK(a.error.code == ERROR_MISSING && strstr(a.error.text, "contains no run"));
    CHECK(open_at(&a, server_run(&server, "nothing"), STORE_CREATE) && kit_put(&a, 0, 1));
    kit_close(&a);
  }
}

static void test_lost_commits(void) {
  struct kit a;
  struct scratch s = {"/nowhere"};
  kit_init(&a, &s);
  TEST("whose commits a promoted standby has lost drops the run, and says so") {
    CHECK(open_at(&a, server_run(&server, "promoted"), STORE_CREATE));
    CHECK(kit_put(&a, 0, 2) && kit_put(&a, 2, 2));
    query("delete from skillrt.journal where run = 'promoted' and batch ="
          " (select max(batch) from skillrt.journal where run = 'promoted')");
    query("select count(pg_terminate_backend(pid)) from pg_stat_activity"
          " where application_name = 'skillrt'");
    CHECK(!kit_put(&a, 4, 1) && a.error.code == ERROR_LOST);
    CHECK(strstr(a.error.text, "standby") != NULL);
    CHECK(!kit_append(&a, 4, 1, APPEND_LAST_WORDS) && a.error.code == ERROR_LOST);
    kit_close(&a);
    query("delete from skillrt.worker");
    CHECK(open_at(&a, server_run(&server, "promoted"), STORE_RESUME) && kit_count(&a) == 2);
    CHECK(kit_put(&a, 2, 1) && kit_count(&a) == 3);
    kit_close(&a);
  }
  TEST("and the same where another process has written in the place of what was lost") {
    CHECK(open_at(&a, server_run(&server, "replaced"), STORE_CREATE));
    CHECK(kit_put(&a, 0, 1) && kit_put(&a, 1, 1));
    query("update skillrt.journal set lines = (select lines from skillrt.journal"
          " where run = 'replaced' and batch = 1) where run = 'replaced' and batch = 2");
    query("select count(pg_terminate_backend(pid)) from pg_stat_activity"
          " where application_name = 'skillrt'");
    CHECK(!kit_put(&a, 2, 1) && a.error.code == ERROR_LOST);
    kit_close(&a);
    query("delete from skillrt.worker");
  }
}

static void cut_all(void) {
  query("select count(pg_terminate_backend(pid)) from pg_stat_activity"
        " where application_name = 'skillrt'");
}

static void test_lost_holders(void) {
  struct kit a, other;
  struct scratch s = {"/nowhere"};
  kit_init(&a, &s);
  kit_init(&other, &s);
  query("update skillrt.fleet set lease_ms = 600");
  CHECK(open_at(&other, server_run(&server, "keeps"), STORE_CREATE));
  TEST("a run whose release a promoted standby has lost is released with the lease's renewal, and "
       "what the process has stays its own") {
    CHECK(open_at(&a, server_run(&server, "released"), STORE_CREATE) && kit_put(&a, 0, 1));
    kit_close(&a);
    query("update skillrt.run set owner = (select worker from skillrt.worker)"
          " where run = 'released'");
    cut_all();
    bool is_free = false;
    for (int i = 0; i < 100 && !is_free; i++) {
      usleep(50000);
      is_free =
          strcmp(query("select owner is null from skillrt.run where run = 'released'"), "t") == 0;
    }
    CHECK(is_free);
    CHECK_STR(query("select owner is null from skillrt.run where run = 'keeps'"), "f");
    CHECK(kit_put(&other, 0, 1));
  }
  TEST("a lease whose last renewal it has lost is renewed before something is sent") {
    query("update skillrt.fleet set lease_ms = 15000");
    CHECK(open_at(&a, other_url("renewed"), STORE_CREATE) && kit_put(&a, 0, 1));
    query("update skillrt.worker set deadline = clock_timestamp() - interval '1 hour'");
    cut_all();
    CHECK(kit_put(&a, 1, 1) && a.store->ops->held(a.store, &a.error));
    CHECK_STR(query("select count(*) from skillrt.worker where worker ="
                    " (select owner from skillrt.run where run = 'renewed')"
                    " and deadline > clock_timestamp()"),
              "1");
    kit_close(&a);
    CHECK(kit_put(&other, 1, 1)); /* its connection was cut, too */
  }
  TEST("whoever such a standby does not know as the holder of a run writes nothing more") {
    CHECK(open_at(&a, server_run(&server, "unknown"), STORE_CREATE) && kit_put(&a, 0, 1));
    query("delete from skillrt.run where run = 'unknown'");
    cut_all();
    CHECK(!kit_put(&a, 1, 1) && a.error.code == ERROR_LOST);
    CHECK(strstr(a.error.text, "standby") != NULL);
    kit_close(&a);
  }
  kit_close(&other);
  query("delete from skillrt.worker"); /* the connection that would have done this was cut */
  query("update skillrt.fleet set lease_ms = 15000");
}

/* ---- the lease ---- */

static int64_t later_ns;
static int answer_takes; /* that look at the clock from now on is followed by an hour; 0: none is */
static bool slow_answers; /* each second look is followed by an hour */
static int looks;
static int64_t wrong_ms;

static int64_t later(const struct sys *sys) {
  (void)sys;
  int64_t now = sys_real()->boot_ns(sys_real()) + later_ns;
  if (answer_takes > 0 && --answer_takes == 0) later_ns += 3600ll * 1000000000;
  if (slow_answers && ++looks % 2 == 0) later_ns += 3600ll * 1000000000;
  return now;
}

static int64_t wrong(const struct sys *sys) {
  (void)sys;
  return sys_real()->wall_ms(sys_real()) + wrong_ms;
}

static void test_lease(void) {
  struct kit a;
  struct scratch s = {"/nowhere"};
  struct sys sys = *sys_real();
  sys.boot_ns = later;
  kit_init(&a, &s);
  a.sys = &sys;
  TEST("before something is sent a lease that may have lapsed is renewed: a machine that slept "
       "keeps what nobody took") {
    later_ns = 0;
    CHECK(open_at(&a, server_run(&server, "slept"), STORE_CREATE) && kit_put(&a, 0, 1));
    CHECK(a.store->ops->held(a.store, &a.error));
    query("update skillrt.worker set deadline = clock_timestamp() - interval '1 hour'");
    later_ns = 3600ll * 1000000000;
    CHECK(a.store->ops->held(a.store, &a.error));
    CHECK_STR(query("select deadline > clock_timestamp() from skillrt.worker"), "t");
    kit_close(&a);
  }
  TEST("one that another process found lapsed is not: nothing is sent") {
    later_ns = 0;
    CHECK(open_at(&a, server_run(&server, "lapsed"), STORE_CREATE) && kit_put(&a, 0, 1));
    query("delete from skillrt.worker");
    CHECK(a.store->ops->held(a.store, &a.error)); /* its own clock says that it may */
    later_ns = 3600ll * 1000000000;
    CHECK(!a.store->ops->held(a.store, &a.error) && a.error.code == ERROR_LOST);
    CHECK(!kit_append(&a, 1, 1, APPEND_WHOLE) && a.error.code == ERROR_LOST);
    kit_close(&a);
  }
  TEST("an answer that comes late does not make the lease longer") {
    later_ns = 0;
    CHECK(open_at(&a, server_run(&server, "slow"), STORE_CREATE) && kit_put(&a, 0, 1));
    later_ns = 3600ll * 1000000000;
    answer_takes = 2; /* the first look finds it lapsed, the second is that of the renewal */
    CHECK(a.store->ops->held(a.store, &a.error) && answer_takes == 0); /* it is renewed again */
    later_ns += 3600ll * 1000000000;
    slow_answers = true;
    CHECK(!a.store->ops->held(a.store, &a.error) && a.error.code == ERROR_SYSTEM);
    CHECK(strstr(a.error.text, "lapses before") != NULL);
    slow_answers = false;
    kit_close(&a);
  }
  TEST("a lease is on the clock of the database, whatever time the machine has") {
    for (int sign = -1; sign <= 1; sign += 2) {
      later_ns = 0;
      wrong_ms = sign * 3600000ll;
      sys.wall_ms = wrong;
      CHECK(open_at(&a, server_run(&server, sign < 0 ? "behind" : "ahead"), STORE_CREATE));
      CHECK(kit_put(&a, 0, 1));
      CHECK_STR(query("select deadline > clock_timestamp() and"
                      " deadline < clock_timestamp() + interval '1 minute' from skillrt.worker"),
                "t");
      kit_close(&a);
    }
    sys.wall_ms = sys_real()->wall_ms;
  }
  TEST("the own clock counts less than the lease, from before the renewal was sent") {
    later_ns = 0;
    CHECK(open_at(&a, server_run(&server, "margin"), STORE_CREATE) && kit_put(&a, 0, 1));
    query("delete from skillrt.worker");
    later_ns = 15000ll * 1000000 * 9 / 10; /* a tenth before the database's deadline */
    CHECK(!a.store->ops->held(a.store, &a.error) && a.error.code == ERROR_LOST);
    kit_close(&a);
  }
}

/* ---- cut ---- */

enum { BATCHES = 4 };

/* Opens a run and appends to it, through the proxy, whatever is cut: false where it was never
 * opened. */
static bool write_through(struct kit *k, const char *url) {
  bool opened = false;
  for (int i = 0; i < 4 && !opened; i++) {
    opened = open_at(k, url, STORE_CREATE);
    if (opened) break;
    CHECK(k->error.code == ERROR_SYSTEM || k->error.code == ERROR_BUSY);
    if (k->error.code == ERROR_BUSY) query("delete from skillrt.worker");
  }
  if (!opened) return false;
  for (int i = 0; i < BATCHES; i++) {
    bool good = kit_put(k, 2 * i, 2);
    if (!good) printf("# batch %d: %s\n", i, k->error.text);
    CHECK(good);
  }
  kit_close(k);
  return true;
}

static void test_cuts(struct proxy *proxy) {
  struct kit k, other;
  struct scratch s = {"/nowhere"};
  char held[512];
  kit_init(&k, &s);
  kit_init(&other, &s); /* another run of this process, which renews its lease */
  snprintf(held, sizeof held, "postgres://skillrt@/postgres/other?host=%s", proxy->dir);
  CHECK(open_at(&other, held, STORE_CREATE));
  TEST("a connection that is cut at any message, before or behind it, costs no record and adds "
       "none, and the run is given back") {
    int cuts = 0;
    for (int after = 0; after < 2; after++) {
      for (int n = 1, last = 1; n <= last + 1; n++) {
        char run[32], url[512], free_now[128];
        snprintf(run, sizeof run, "cut-%d-%d", after, n);
        snprintf(url, sizeof url, "postgres://skillrt@/postgres/%s?host=%s", run, proxy->dir);
        atomic_store(&proxy->wish->count, 0);
        atomic_store(&proxy->wish->after, after);
        atomic_store(&proxy->wish->cut_at, n);
        CHECK(write_through(&k, url));
        int count = atomic_load(&proxy->wish->count);
        atomic_store(&proxy->wish->cut_at, 0);
        CHECK(open_at(&k, url, STORE_RESUME));
        if (k.store) kit_close(&k);
        snprintf(free_now, sizeof free_now,
                 "select owner is null from skillrt.run where run = '%s'", run);
        CHECK_STR(query(free_now), "t");
        cuts += count >= n;
        if (count > last) last = count;
        CHECK(open_at(&k, server_run(&server, run), STORE_READ));
        CHECK(k.store && kit_count(&k) == 2 * BATCHES);
        if (k.store) kit_close(&k);
      }
    }
    printf("# %d connections cut\n", cuts);
    CHECK(cuts > 2 * (BATCHES + 6));
  }
  kit_close(&other);
}

/* Cuts that many messages of the client, one after another. */
static void cut_next(struct proxy *proxy, int messages) {
  atomic_store(&proxy->wish->count, 0);
  atomic_store(&proxy->wish->to, messages);
  atomic_store(&proxy->wish->cut_at, 1);
}

static void cut_no_more(struct proxy *proxy) {
  atomic_store(&proxy->wish->cut_at, 0);
  atomic_store(&proxy->wish->to, 0);
}

/* A server that crashes again and again. */
static void test_crashes(struct proxy *proxy) {
  struct kit k;
  struct scratch s = {"/nowhere"};
  char url[512];
  kit_init(&k, &s);
  snprintf(url, sizeof url, "postgres://skillrt@/postgres/crashes?host=%s", proxy->dir);
  TEST("a connection that is cut again and again while it is made is made all the same") {
    cut_next(proxy, 9);
    CHECK(open_at(&k, url, STORE_CREATE));
    CHECK(atomic_load(&proxy->wish->count) > 9);
    cut_no_more(proxy);
    CHECK(k.store && kit_put(&k, 0, 1));
  }
  TEST("one that is cut so while a lease is renewed, and while it is looked whether the run is "
       "still held, costs no run") {
    for (int messages = 1; k.store && messages < 16; messages++) {
      cut_all();
      CHECK(kit_put(&k, messages, 1)); /* connects anew */
      cut_next(proxy, messages);
      CHECK(k.store->ops->held(k.store, &k.error));
      CHECK(atomic_load(&proxy->wish->count) > messages);
      cut_no_more(proxy);
    }
    if (k.store) kit_close(&k);
  }
}

/* Time that passes where somebody waits, and takes none. */
static int64_t passed_ns;

static int64_t passing(const struct sys *sys) {
  (void)sys;
  return sys_real()->mono_ns(sys_real()) + passed_ns;
}

static void pass(const struct sys *sys, int ms) {
  (void)sys;
  passed_ns += (int64_t)ms * 1000000;
}

static void test_gone(struct proxy *proxy) {
  struct kit k, first;
  struct scratch s = {"/nowhere"};
  struct sys sys = *sys_real();
  char url[512];
  sys.mono_ns = passing;
  sys.pause = pass;
  kit_init(&k, &s);
  kit_init(&first, &s);
  k.sys = first.sys = &sys;
  snprintf(url, sizeof url, "postgres://skillrt@/postgres/first?keepalives=1&host=%s", proxy->dir);
  CHECK(open_at(&first, url, STORE_CREATE));
  snprintf(url, sizeof url, "postgres://skillrt@/postgres/gone?keepalives=1&host=%s", proxy->dir);
  TEST("a process waits 30 s for a server that is gone, and not again for each of its runs, and "
       "says nothing of one to another") {
    CHECK(open_at(&k, url, STORE_CREATE) && kit_put(&k, 0, 1));
    cut_all();
    CHECK(kit_put(&k, 1, 1)); /* connects anew: what has the lease does not know yet */
    cut_next(proxy, INT_MAX);
    for (int run = 0; run < 3; run++) {
      int64_t from = passed_ns;
      CHECK(!k.store->ops->held(k.store, &k.error) && k.error.code == ERROR_SYSTEM);
      int64_t waited_s = (passed_ns - from) / 1000000000;
      CHECK(!strstr(k.error.text, "/first"));
      CHECK(run == 0 ? waited_s >= 29 && waited_s < 32 : waited_s < 1);
    }
    cut_no_more(proxy);
    CHECK(k.store->ops->held(k.store, &k.error));
    kit_close(&k);
  }
  kit_close(&first);
}

static int64_t open_takes_ms(struct kit *k, const char *database) {
  char url[512];
  int64_t from = sys_real()->mono_ns(sys_real());
  snprintf(url, sizeof url, "%s?host=%s", database, server.dir);
  CHECK(!open_at(k, url, STORE_CREATE) && k->error.code == ERROR_SYSTEM);
  return (sys_real()->mono_ns(sys_real()) - from) / 1000000;
}

static void test_refusals(void) {
  struct kit k;
  struct scratch s = {"/nowhere"};
  kit_init(&k, &s);
  TEST("what a wait does not change is said at once, in the server's words alone") {
    CHECK(open_takes_ms(&k, "postgres://skillrt@/nowhere/refused") < 5000);
    CHECK(strstr(k.error.text, "FATAL:  database \"nowhere\" does not exist") != NULL);
    CHECK(!strstr(k.error.text, "LOCATION") && !strstr(k.error.text, "tried for"));
    CHECK(open_takes_ms(&k, "postgres://stranger@/postgres/refused") < 5000);
  }
  TEST("a server that has too many connections is waited for") {
    query("create role few login connection limit 0; grant usage on schema skillrt to few");
    query("grant select, insert, update, delete on all tables in schema skillrt to few");
    char url[512];
    pid_t helper = fork();
    if (helper == 0) {
      usleep(500000);
      query("alter role few connection limit -1");
      _exit(0);
    }
    snprintf(url, sizeof url, "postgres://few@/postgres/many?host=%s", server.dir);
    CHECK(open_at(&k, url, STORE_CREATE) && kit_put(&k, 0, 1));
    if (k.store) kit_close(&k);
    waitpid(helper, NULL, 0);
  }
}

/* Submits a run of two records through the proxy. */
static bool submit_through(struct kit *k, const char *url) {
  static const struct label label = {.queue = "cuts", .prio = 3, .key = "door", .most = 2};
  k->options.label = &label;
  bool good = open_at(k, url, STORE_SUBMIT) && kit_append(k, 0, 2, APPEND_WHOLE);
  if (k->store) kit_close(k);
  k->options.label = NULL;
  return good;
}

static void test_submission(struct proxy *proxy) {
  struct kit k;
  struct scratch s = {"/nowhere"};
  kit_init(&k, &s);
  TEST("a run is submitted as a whole, with its label, or not at all, also where its connection is "
       "cut at any message, and then it may be submitted again") {
    int cuts = 0;
    for (int after = 0; after < 2; after++) {
      for (int n = 1, last = 1; n <= last + 1; n++) {
        char run[32], url[512], label[160];
        snprintf(run, sizeof run, "whole-%d-%d", after, n);
        snprintf(url, sizeof url, "postgres://skillrt@/postgres/%s?host=%s", run, proxy->dir);
        atomic_store(&proxy->wish->count, 0);
        atomic_store(&proxy->wish->after, after);
        atomic_store(&proxy->wish->cut_at, n);
        bool good = submit_through(&k, url);
        int count = atomic_load(&proxy->wish->count);
        atomic_store(&proxy->wish->cut_at, 0);
        if (!good) CHECK(k.error.code == ERROR_SYSTEM);
        bool again = submit_through(&k, url);
        CHECK(again || k.error.code == ERROR_EXISTS);
        CHECK(!(good && again));
        CHECK(open_at(&k, server_run(&server, run), STORE_READ) && kit_count(&k) == 2);
        CHECK(!k.report.unclean);
        kit_close(&k);
        snprintf(label, sizeof label,
                 "select queue || prio || limit_key || limit_most || (owner is null) from"
                 " skillrt.run where run = '%s'",
                 run);
        CHECK_STR(query(label), "cuts3door2true");
        cuts += count >= n;
        if (count > last) last = count;
      }
    }
    printf("# %d connections cut\n", cuts);
    CHECK(cuts > 10);
    CHECK_STR(query("select count(*) from skillrt.slot where key = 'door'"), "2");
  }
}

static bool note_url(void *data, const char *url) {
  (void)url;
  ++*(int *)data;
  return true;
}

static void test_claims(struct proxy *proxy) {
  struct kit other;
  struct scratch s = {"/nowhere"};
  char url[512];
  kit_init(&other, &s);
  query("update skillrt.fleet set lease_ms = 600");
  snprintf(url, sizeof url, "postgres://skillrt@/postgres/claims?host=%s", proxy->dir);
  CHECK(open_at(&other, url, STORE_CREATE)); /* keeps the lease */
  snprintf(url, sizeof url, "postgres://skillrt@/postgres?host=%s", proxy->dir);
  TEST("a run whose claim was cut at any message, before or behind it, is soon claimed again") {
    int cuts = 0;
    query("delete from skillrt.run where queue = 'cuts' and run <> 'whole-0-1'");
    for (int after = 0; after < 2; after++) {
      for (int n = 1, last = 1; n <= last + 1; n++) {
        struct claims *claims = NULL;
        struct error error = {0};
        int claimed = 0;
        atomic_store(&proxy->wish->count, 0);
        atomic_store(&proxy->wish->after, after);
        atomic_store(&proxy->wish->cut_at, n);
        if (claims_open(other.sys, url, "cuts", &claims, &error))
          claims->ops->take(claims, 1, note_url, &claimed, &error);
        int count = atomic_load(&proxy->wish->count);
        atomic_store(&proxy->wish->cut_at, 0);
        for (int i = 0; claimed == 0 && i < 100; i++) {
          claims_close(&claims);
          usleep(50000);
          if (claims_open(other.sys, url, "cuts", &claims, &error))
            claims->ops->take(claims, 1, note_url, &claimed, &error);
        }
        CHECK(claimed == 1);
        snprintf(url, sizeof url, "postgres://skillrt@/postgres/whole-0-1?host=%s", proxy->dir);
        claims->ops->settle(claims, url, false); /* it is as it was before */
        snprintf(url, sizeof url, "postgres://skillrt@/postgres?host=%s", proxy->dir);
        CHECK_STR(
            query("select status || (owner is null) from skillrt.run where run = 'whole-0-1'"),
            "executingtrue");
        claims_close(&claims);
        cuts += count >= n;
        if (count > last) last = count < 30 ? count : 30;
      }
    }
    printf("# %d connections cut\n", cuts);
    CHECK(cuts > 10);
  }
  query("update skillrt.fleet set lease_ms = 15000");
  kit_close(&other);
}

/* Opens the run, which another one of this process keeps the lease for, as often as it is refused:
 * how long that took, in ms; -1: it is refused for good. */
static int64_t open_in_time(struct kit *k, const char *url) {
  int64_t begun = k->sys->mono_ns(k->sys), passed = 0;
  while (!open_at(k, url, STORE_RESUME)) {
    CHECK(k->error.code == ERROR_SYSTEM || k->error.code == ERROR_BUSY);
    passed = (k->sys->mono_ns(k->sys) - begun) / 1000000;
    if (passed > 5000) return -1;
    usleep(2 * PROXY_LATE_US);
  }
  return passed;
}

static void test_late(struct proxy *proxy) {
  struct kit k, other;
  struct scratch s = {"/nowhere"};
  char url[512];
  kit_init(&k, &s);
  kit_init(&other, &s);
  query("update skillrt.fleet set lease_ms = 600");
  snprintf(url, sizeof url, "postgres://skillrt@/postgres/lives?host=%s", proxy->dir);
  CHECK(open_at(&other, url, STORE_CREATE));
  TEST("a statement that the server performs when nobody waits for it any more takes no run away "
       "for longer than a lease, and ends no later taking") {
    int late = 0;
    for (int n = 1, last = 1; n <= last + 1; n++) {
      char run[32];
      snprintf(run, sizeof run, "late-%d", n);
      CHECK(open_at(&k, server_run(&server, run), STORE_CREATE) && kit_put(&k, 0, 1));
      kit_close(&k);
      snprintf(url, sizeof url, "postgres://skillrt@/postgres/%s?host=%s", run, proxy->dir);
      atomic_store(&proxy->wish->count, 0);
      atomic_store(&proxy->wish->late, true);
      atomic_store(&proxy->wish->cut_at, n);
      for (int i = 0; i < 2; i++) { /* it may be late behind the first */
        CHECK(open_in_time(&k, url) >= 0);
        if (i == 0) usleep(2 * PROXY_LATE_US);
        if (k.store) CHECK(kit_put(&k, 1 + i, 1));
        if (k.store) kit_close(&k);
      }
      int count = atomic_load(&proxy->wish->count);
      atomic_store(&proxy->wish->cut_at, 0);
      late += count >= n;
      if (n == 1 || count > last) last = count < 40 ? count : 40;
      usleep(2 * PROXY_LATE_US);
      CHECK(open_in_time(&k, server_run(&server, run)) >= 0 && kit_count(&k) == 3);
      if (k.store) kit_close(&k);
    }
    printf("# %d statements were late\n", late);
    CHECK(late > 10);
  }
  atomic_store(&proxy->wish->late, false);
  query("update skillrt.fleet set lease_ms = 15000");
  kit_close(&other);
}

int main(void) {
  struct proxy proxy;
  if (!server_start(&server, "")) return server_none();
  test_fence();
  test_takings();
  test_second_beginning();
  test_nothing_written();
  test_lost_commits();
  test_lost_holders();
  test_lease();
  test_refusals();
  proxy_start(&proxy, server.dir);
  test_crashes(&proxy);
  test_gone(&proxy);
  test_cuts(&proxy);
  test_submission(&proxy);
  test_claims(&proxy);
  test_late(&proxy);
  proxy_stop(&proxy);
  server_stop(&server);
  return check_finish();
}
