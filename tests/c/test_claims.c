/* test_claims.c: which runs of a folder a worker is given, and in which order. */
#include <sys/wait.h>
#include <unistd.h>

#include "store/store.h"
#include "support/store_kit.h"

static struct scratch s;
static char taken[256];
static int64_t wall_ms, boot_ns;
static int pauses, last_pause; /* behind so many a process lets go of its queue */
static int let_go, gone;       /* what it reads until then, and what ends with it */

static int64_t set_wall_ms(const struct sys *sys) {
  (void)sys;
  return wall_ms;
}
static int64_t set_boot_ns(const struct sys *sys) {
  (void)sys;
  return boot_ns;
}

static void pass_ms(const struct sys *sys, int ms) {
  (void)sys;
  boot_ns += (int64_t)ms * 1000000;
  if (++pauses != last_pause) return;
  char byte;
  close(let_go);
  CHECK(read(gone, &byte, 1) == 0);
}

/* The real world with clocks that the test sets. */
static const struct sys *world(void) {
  static struct sys sys;
  sys = *sys_real();
  sys.wall_ms = set_wall_ms;
  sys.boot_ns = set_boot_ns;
  sys.pause = pass_ms;
  return &sys;
}

/* A run that `status` says something of, as its last process left it. */
static void leave(const char *name, const char *status, int64_t due, const struct label *label) {
  struct kit k;
  struct batch batch;
  struct error error = {0};
  kit_init(&k, &s);
  k.sys = world();
  snprintf(k.path, sizeof k.path, "%.4000s/%s", s.path, name);
  CHECK(kit_open(&k, STORE_CREATE));
  batch_init(&batch, k.sys);
  CHECK(batch_add(&batch, "{}", 2, NULL));
  snprintf(batch.header.status, sizeof batch.header.status, "%s", status);
  batch.header.due = due;
  CHECK(k.store->ops->append(k.store, &batch, APPEND_WHOLE, &k.error) && kit_sync(&k));
  batch_clear(&batch);
  kit_close(&k);
  if (label) CHECK(store_label(world(), k.path, label, &error));
}

static bool note(void *data, const char *url) {
  (void)data;
  size_t used = strlen(taken);
  snprintf(taken + used, sizeof taken - used, "%s%s", used ? " " : "", strrchr(url, '/') + 1);
  return true;
}

/* The names of the runs that a take gives. */
static const char *take(struct claims *claims, int64_t most) {
  struct error error = {0};
  taken[0] = '\0';
  CHECK(claims->ops->take(claims, most, note, NULL, &error));
  return taken;
}

static const char *url_of(const char *name) {
  static char url[PATH_MAX];
  snprintf(url, sizeof url, "%.4000s/%s", s.path, name);
  return url;
}

static struct claims *queue(const char *name) {
  struct claims *claims = NULL;
  struct error error = {0};
  CHECK(claims_open(world(), s.path, name, &claims, &error));
  return claims;
}

static void begin(void) {
  scratch_empty(&s);
  wall_ms = 1000000;
  boot_ns = 0;
}

static void test_which(void) {
  TEST("what was interrupted or is due is taken, of its own queue, where no process holds it") {
    struct label other = {.queue = "other"};
    struct kit held;
    begin();
    leave("interrupted", "executing", 0, NULL);
    leave("due", "paused", 1000000, NULL);
    leave("later", "paused", 1000001, NULL);
    leave("waits", "paused", 0, NULL);
    leave("over", "completed", 0, NULL);
    leave("others", "executing", 0, &other);
    leave("held", "executing", 0, NULL);
    kit_init(&held, &s);
    snprintf(held.path, sizeof held.path, "%s", url_of("held"));
    CHECK(kit_open(&held, STORE_RESUME));
    struct claims *claims = queue("default"), *of_others = queue("other");
    CHECK_STR("interrupted due", take(claims, 9));
    CHECK_STR("", take(claims, 9));
    CHECK_STR("others", take(of_others, 9));
    kit_close(&held);
    CHECK_STR("held", take(claims, 9));
    wall_ms++;
    CHECK_STR("later", take(claims, 9));
    claims_close(&claims);
    claims_close(&of_others);
  }
}

static void test_again(void) {
  TEST("a run that was given back is taken again: at once, or after 15 s where it was refused") {
    begin();
    leave("a", "executing", 0, NULL);
    struct claims *claims = queue("default");
    CHECK_STR("a", take(claims, 1));
    claims->ops->settle(claims, url_of("a"), false);
    CHECK_STR("a", take(claims, 1));
    claims->ops->settle(claims, url_of("a"), true);
    boot_ns = 14999999999;
    CHECK_STR("", take(claims, 1));
    boot_ns = 15000000000;
    CHECK_STR("a", take(claims, 1));
    claims_close(&claims);
  }
}

static void test_order(void) {
  TEST("the higher priority is first, then who is due earlier, then the name; so many, and no "
       "more") {
    struct label high = {.queue = "default", .prio = 5}, low = {.queue = "default", .prio = -1};
    begin();
    leave("a", "executing", 0, &low);
    leave("b", "paused", 900000, NULL);
    leave("c", "paused", 800000, NULL);
    leave("d", "executing", 0, NULL);
    leave("e", "executing", 0, NULL);
    leave("f", "paused", 1000000, &high);
    struct claims *claims = queue("default");
    CHECK_STR("f d", take(claims, 2));
    CHECK_STR("e c b a", take(claims, 9));
    claims_close(&claims);
  }
}

static void test_limits(void) {
  TEST("of a key so many run at the same time, and so many are taken within a time") {
    struct label most = {.queue = "default", .key = "k", .most = 2};
    struct label rate = {.queue = "default", .key = "r", .rate = 2, .rate_ms = 1000};
    begin();
    leave("a", "executing", 0, &most);
    leave("b", "executing", 0, &most);
    leave("c", "executing", 0, &most);
    struct claims *claims = queue("default");
    CHECK_STR("a b", take(claims, 9));
    CHECK_STR("", take(claims, 9));
    claims->ops->settle(claims, url_of("a"), false);
    CHECK_STR("a", take(claims, 9)); /* one place, and the first of two that wait */
    leave("x", "executing", 0, &rate);
    leave("y", "executing", 0, &rate);
    leave("z", "executing", 0, &rate);
    CHECK_STR("x y", take(claims, 9));
    wall_ms += 999;
    CHECK_STR("", take(claims, 9));
    wall_ms += 1;
    CHECK_STR("z", take(claims, 9));
    claims_close(&claims);
  }
}

static void test_paused(void) {
  TEST("from a paused queue nothing is taken; the other queues are not paused") {
    struct label other = {.queue = "other"};
    struct error error = {0};
    begin();
    leave("a", "executing", 0, NULL);
    leave("b", "executing", 0, &other);
    struct claims *claims = queue("default"), *of_others = queue("other");
    CHECK(store_pause(world(), s.path, "default", true, &error));
    CHECK_STR("", take(claims, 9));
    CHECK_STR("b", take(of_others, 9));
    CHECK(store_pause(world(), s.path, "default", false, &error));
    CHECK(store_pause(world(), s.path, "default", false, &error)); /* it is not paused: fine */
    CHECK_STR("a", take(claims, 9));
    claims_close(&claims);
    claims_close(&of_others);
  }
}

static void test_label(void) {
  TEST("a run whose label cannot be read is not taken") {
    begin();
    leave("a", "executing", 0, NULL);
    leave("b", "executing", 0, NULL);
    scratch_write(&s, "a/label", "default 1 2", 11);
    struct claims *claims = queue("default");
    CHECK_STR("b", take(claims, 9));
    claims_close(&claims);
  }
}

static void test_one_worker(void) {
  TEST("a queue of a folder has one worker") {
    struct claims *second = NULL;
    struct error error = {0};
    begin();
    leave("a", "executing", 0, NULL);
    struct claims *claims = queue("default");
    CHECK(!claims_open(world(), s.path, "default", &second, &error));
    CHECK(error.code == ERROR_BUSY);
    claims_close(&claims);
    claims = queue("default");
    CHECK_STR("a", take(claims, 9));
    claims_close(&claims);
  }
}

/* A worker is killed; its process has the queue until `let_go` is closed. */
static void kill_worker(void) {
  int ready[2], go[2];
  char byte;
  CHECK(pipe(ready) == 0 && pipe(go) == 0);
  pid_t worker = fork();
  if (worker == 0) {
    if (fork() != 0) _exit(read(ready[0], &byte, 1) != 1);
    close(go[1]);
    queue("default");
    if (write(ready[1], "r", 1) == 1 && read(go[0], &byte, 1) == 0) _exit(0);
    _exit(1);
  }
  int status;
  CHECK(waitpid(worker, &status, 0) == worker && status == 0);
  close(ready[1]);
  close(go[0]);
  let_go = go[1];
  gone = ready[0];
}

static void test_killed_worker(void) {
  TEST("the queue of a worker that was killed is waited for until its process ends, for 5 s") {
    struct claims *claims = NULL;
    struct error error = {0};
    begin();
    kill_worker();
    pauses = 0;
    last_pause = 3;
    CHECK(claims_open(world(), s.path, "default", &claims, &error));
    CHECK(pauses == 3);
    claims_close(&claims);
    close(gone);
    kill_worker();
    last_pause = 0;
    CHECK(!claims_open(world(), s.path, "default", &claims, &error) && error.code == ERROR_BUSY);
    CHECK(boot_ns == 60000000 + 5000000000);
    close(let_go);
    close(gone);
  }
}

int main(void) {
  scratch_make(&s);
  test_which();
  test_again();
  test_order();
  test_limits();
  test_paused();
  test_label();
  test_one_worker();
  test_killed_worker();
  scratch_remove(&s);
  return check_finish();
}
