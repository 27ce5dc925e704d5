/* test_loop.c: the only sleeper, and the timer transport on it: who is turned when, what a
 * host's own loop has to wait for, and what wakes a sleeper. */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
#include <uv.h>

#include "engine/crew.h"
#include "engine/loop.h"
#include "engine/transports.h"
#include "support/check.h"
#include "support/fake_sys.h"

struct actor {
  struct loop_member member;
  int turns, again;
  struct actor *leaves, *nested;
};

static struct fake_sys world;
static struct loop *loop;
static struct error error;
static char order[64];

static void setup(void) {
  fake_sys_init(&world);
  order[0] = 0;
  CHECK(loop_open(&world.sys, &loop, &error));
}

static void teardown(void) {
  loop_close(loop);
  CHECK(world.live == 0);
}

static void turned(struct loop_member *member) {
  struct actor *a = (struct actor *)member;
  a->turns++;
  if (strlen(order) < 60) strcat(order, a->again ? "a" : "b");
  if (a->again > 0) {
    a->again--;
    loop_ready(member);
  }
  if (a->leaves) loop_leave(&a->leaves->member);
  if (a->nested) {
    loop_ready(&a->nested->member);
    a->nested = NULL;
    loop_turn(loop, true);
  }
}

/* Begins to wait for a pipe when it is turned. */
struct reader {
  struct loop_member member;
  int ends[2];
  uv_poll_t poll;
  bool has_read;
};

static void is_readable(uv_poll_t *poll, int status, int events) {
  struct reader *reader = poll->data;
  (void)status, (void)events;
  uv_poll_stop(poll);
  reader->has_read = true;
}

static void begins_to_read(struct loop_member *member) {
  struct reader *reader = (struct reader *)member;
  CHECK(uv_poll_init(loop_uv(loop), &reader->poll, reader->ends[0]) == 0);
  reader->poll.data = reader;
  CHECK(uv_poll_start(&reader->poll, UV_READABLE, is_readable) == 0);
}

static double now_ms(void) {
  return (double)world.sys.mono_ns(&world.sys) / 1e6;
}

static void members(void) {
  TEST("who asked is turned once, in the order of asking, and nobody else") {
    setup();
    static struct actor actors[1000];
    memset(actors, 0, sizeof actors);
    for (int i = 0; i < 1000; i++)
      loop_join(loop, &actors[i].member, turned);
    CHECK(loop_members(loop) == 1000);
    loop_ready(&actors[7].member);
    actors[3].again = 1;
    loop_ready(&actors[3].member);
    loop_ready(&actors[7].member);
    CHECK(loop_timeout_ms(loop) == 0);
    loop_turn(loop, true);
    CHECK_STR(order, "ba");
    CHECK(loop_timeout_ms(loop) == 0); /* 3 asked again, for next time */
    loop_turn(loop, true);
    CHECK_STR(order, "bab");
    CHECK(loop_timeout_ms(loop) == -1);
    int turns = 0;
    for (int i = 0; i < 1000; i++)
      turns += actors[i].turns;
    CHECK(turns == 3);
    for (int i = 0; i < 1000; i++)
      loop_leave(&actors[i].member);
    CHECK(loop_members(loop) == 0);
    teardown();
  }
  TEST("who leaves is not turned any more, also when it asked or was signaled, also meanwhile") {
    setup();
    struct actor a = {0}, b = {0}, c = {0};
    loop_join(loop, &a.member, turned);
    loop_join(loop, &b.member, turned);
    loop_join(loop, &c.member, turned);
    a.leaves = &b;
    loop_ready(&a.member);
    loop_ready(&b.member);
    loop_signal(&c.member);
    loop_leave(&c.member);
    loop_leave(&c.member);
    loop_signal(&c.member);
    loop_turn(loop, false);
    loop_turn(loop, false);
    CHECK(a.turns == 1 && b.turns == 0 && c.turns == 0);
    loop_leave(&a.member);
    teardown();
  }
  TEST("a member may turn the loop itself and is not turned inside its own turn") {
    setup();
    struct actor a = {0}, b = {0};
    loop_join(loop, &a.member, turned);
    loop_join(loop, &b.member, turned);
    a.nested = &b;
    loop_ready(&a.member);
    loop_turn(loop, true);
    CHECK(a.turns == 1 && b.turns == 1);
    loop_leave(&a.member);
    loop_leave(&b.member);
    teardown();
  }
}

static struct loop_member *to_signal;
static void on_signal(int number) {
  (void)number;
  loop_signal(to_signal);
}

static void *later(void *data) {
  usleep(20000);
  if (data)
    kill(getpid(), SIGUSR1);
  else
    loop_wake(loop);
  return NULL;
}

static void *signal_to(void *data) {
  usleep(20000);
  pthread_kill(*(pthread_t *)data, SIGUSR1);
  return NULL;
}

static void waking(void) {
  TEST("a sleeping loop returns when another thread wakes it, or a signal handler") {
    setup();
    struct actor a = {0};
    loop_join(loop, &a.member, turned);
    to_signal = &a.member;
    signal(SIGUSR1, on_signal);
    for (int i = 0; i < 2; i++) {
      pthread_t thread;
      double start = now_ms();
      CHECK(pthread_create(&thread, NULL, later, i ? loop : NULL) == 0);
      loop_turn(loop, true);
      CHECK(now_ms() - start > 15);
      pthread_join(thread, NULL);
    }
    CHECK(a.turns == 1);
    raise(SIGUSR1);
    raise(SIGUSR1);
    CHECK(loop_timeout_ms(loop) == 0);
    loop_turn(loop, true);
    CHECK(a.turns == 2);
    signal(SIGUSR1, SIG_DFL);
    loop_leave(&a.member);
    teardown();
  }
  TEST("who waits for descriptors sleeps in the loop: until one is ready, time passes, a signal") {
    setup();
    int ends[2], file = open("/dev/null", O_RDONLY);
    CHECK(pipe(ends) == 0);
    struct loop_watch watches[] = {{.fd = ends[0]}, {.fd = -1}};
    double start = now_ms();
    CHECK(loop_wait(loop, watches, 2, 30) && !watches[0].ready && now_ms() - start > 29);
    CHECK(write(ends[1], "x", 1) == 1);
    CHECK(loop_wait(loop, watches, 2, -1) && watches[0].ready && !watches[1].ready);
    CHECK(loop_wait(loop, &(struct loop_watch){.fd = file}, 1, -1)); /* no pipe, and never blocks */
    struct actor a = {0};
    loop_join(loop, &a.member, turned);
    to_signal = &a.member;
    signal(SIGUSR1, on_signal);
    pthread_t thread, ours = pthread_self();
    CHECK(pthread_create(&thread, NULL, signal_to, &ours) == 0);
    start = now_ms();
    CHECK(!loop_wait(loop, NULL, 0, -1) && now_ms() - start > 15);
    pthread_join(thread, NULL);
    CHECK(loop_wait(loop, NULL, 0, -1) &&
          a.turns == 1); /* a member that asks is turned meanwhile */
    signal(SIGUSR1, SIG_DFL);
    loop_leave(&a.member);
    CHECK(!loop_reader_gone(ends[1]));
    close(ends[0]);
    CHECK(loop_reader_gone(ends[1]));
    close(ends[1]);
    close(file);
    teardown();
  }
  TEST("the n-th allocation failing opens no loop and leaks nothing") {
    for (size_t n = 1; n <= 4; n++) {
      fake_sys_init(&world);
      world.fail_at = n;
      CHECK(!loop_open(&world.sys, &loop, &error) && error.code == ERROR_MEMORY);
      CHECK(world.live == 0);
    }
    loop_close(NULL);
  }
}

static int replies, canceled;
static int64_t elapsed;
static void done(struct exchange *exchange, const struct reply *reply) {
  CHECK(exchange->handle == NULL);
  replies++;
  canceled += reply->status == REPLY_CANCELED;
  elapsed = reply->elapsed_ms;
}

static struct transport *timer(void) {
  replies = canceled = 0;
  return transports_get(loop_transports(loop), TASK_TIMER, NULL, &error);
}

static void send_timer(struct exchange *exchange, int64_t delay_ms) {
  struct task task;
  task_init(&task, &world.sys);
  task.kind = TASK_TIMER;
  task.timer.delay_ms = delay_ms;
  *exchange = (struct exchange){.done = done};
  struct transport *t = transports_get(loop_transports(loop), TASK_TIMER, NULL, &error);
  CHECK(t->ops->send(t, exchange, &task, &error));
}

static void timers(void) {
  TEST("a timer replies after its delay, from the loop, never from inside send") {
    setup();
    struct exchange x[3];
    CHECK(timer() != NULL);
    send_timer(&x[0], 30);
    send_timer(&x[1], 0);
    send_timer(&x[2], -5);
    CHECK(replies == 0);
    double start = now_ms();
    loop_turn(loop, false);
    CHECK(replies == 2);
    int timeout = loop_timeout_ms(loop);
    CHECK(timeout > 0 && timeout <= 30);
    while (replies < 3)
      loop_turn(loop, true);
    CHECK(now_ms() - start >= 28 && elapsed >= 28);
    CHECK(loop_timeout_ms(loop) == -1);
    teardown();
  }
  TEST("a delay counts from its sending, however long the loop was not turned") {
    setup();
    struct exchange x;
    CHECK(timer() != NULL);
    loop_turn(loop, false);
    usleep(30000);
    send_timer(&x, 20);
    while (replies < 1)
      loop_turn(loop, true);
    CHECK(elapsed >= 18);
    teardown();
  }
  TEST("a canceled timer replies once, at once; ten thousand need no more handles than at once") {
    setup();
    struct exchange x;
    struct transport *t = timer();
    send_timer(&x, 1000);
    t->ops->cancel(t, &x, false);
    size_t live = world.live;
    for (int i = 0; i < 10000; i++) {
      send_timer(&x, 1000);
      t->ops->cancel(t, &x, i % 2);
    }
    CHECK(replies == 10001 && canceled == 10001 && world.live == live);
    loop_turn(loop, false);
    CHECK(loop_timeout_ms(loop) == -1);
    teardown();
  }
  TEST("closing the loop cancels what is under way") {
    setup();
    struct exchange x[3];
    CHECK(timer() != NULL);
    for (int i = 0; i < 3; i++)
      send_timer(&x[i], 100000);
    double start = now_ms();
    teardown();
    CHECK(canceled == 3 && now_ms() - start < 20000);
  }
  TEST("a host waits for one descriptor and one timeout, and misses nothing") {
    setup();
    struct exchange x[2];
    CHECK(timer() != NULL);
    send_timer(&x[0], 10);
    send_timer(&x[1], 25);
    double start = now_ms();
    int rounds = 0;
    while (replies < 2 && rounds++ < 50) {
      struct pollfd fd = {.fd = loop_fd(loop), .events = POLLIN};
      poll(&fd, 1, loop_timeout_ms(loop));
      loop_turn(loop, false);
    }
    CHECK(replies == 2 && now_ms() - start >= 23 && rounds < 20);
    teardown();
  }
  TEST("a host that sleeps hears of what a member has begun to read in the turn before") {
    setup();
    struct reader reader = {0};
    CHECK(pipe(reader.ends) == 0 && write(reader.ends[1], "x", 1) == 1);
    loop_join(loop, &reader.member, begins_to_read);
    loop_ready(&reader.member);
    for (int i = 0; i < 3 && !reader.has_read; i++) { /* a look, a callback, a turn */
      struct pollfd fd = {.fd = loop_fd(loop), .events = POLLIN};
      loop_turn(loop, false);
      int ready = poll(&fd, 1, reader.has_read ? 0 : loop_timeout_ms(loop) < 0 ? 10000 : 0);
      CHECK(ready > 0 || reader.has_read);
    }
    CHECK(reader.has_read);
    loop_leave(&reader.member);
    uv_close((uv_handle_t *)&reader.poll, NULL);
    teardown();
    close(reader.ends[0]);
    close(reader.ends[1]);
  }
}

static struct actor asking;
static void done_asks(struct exchange *exchange, const struct reply *reply) {
  (void)exchange, (void)reply;
  loop_ready(&asking.member);
}

static void asking_inside(void) {
  TEST("who asks from inside a callback is turned at once, not after the next sleep") {
    setup();
    struct exchange x;
    CHECK(timer() != NULL);
    asking = (struct actor){0};
    loop_join(loop, &asking.member, turned);
    for (int i = 0; i < 3; i++) {
      send_timer(&x, i);
      x.done = done_asks;
      while (asking.turns == i)
        loop_turn(loop, true);
    }
    loop_leave(&asking.member);
    teardown();
  }
}

static void opening(void) {
  TEST("HTTP without its module is a clear error that says what to do") {
    setup();
    struct transports *t = loop_transports(loop);
    CHECK(!transports_get(t, TASK_HTTP, NULL, &error) && error.code == ERROR_MISSING);
    CHECK(strstr(error.text, "skillrt/http.so: not found on package.cpath") != NULL);
    CHECK(!transports_get(t, TASK_HTTP, "/nowhere/http.so", &error));
    CHECK(strncmp(error.text, "/nowhere/http.so: cannot be loaded", 34) == 0);
    CHECK(!transports_get(t, TASK_HTTP, "libuv.so.1", &error) && error.code == ERROR_INVALID);
    CHECK(strncmp(error.text, "libuv.so.1: has no skillrt_http_open", 36) == 0);
    teardown();
  }
  TEST("the http module is opened on its first task, once, and stays until the loop is closed") {
    char path[256];
    const char *build = getenv("SKILLRT_BUILD");
    snprintf(path, sizeof path, "./%s/lib/skillrt/http.so", build ? build : "build/release");
    if (access(path, R_OK) == 0) { /* `make test-c` alone does not build it */
      setup();
      struct transports *t = loop_transports(loop);
      struct transport *http = transports_get(t, TASK_HTTP, path, &error);
      CHECK(http != NULL && transports_get(t, TASK_HTTP, NULL, &error) == http);
      loop_turn(loop, false);
      teardown();
    }
  }
  TEST("a kind that is not sent anywhere is refused by name") {
    setup();
    CHECK(!transports_get(loop_transports(loop), TASK_KINDS, NULL, &error));
    CHECK(!transports_get(loop_transports(loop), (enum task_kind)77, NULL, &error));
    CHECK_STR(error.text, "task: there is no kind 77");
    teardown();
  }
}

static void tasks(void) {
  TEST("a task copies its strings, replaces and frees them; NUL bytes and floods are refused") {
    fake_sys_init(&world);
    struct task task;
    char text[] = "http://127.0.0.1/";
    task_init(&task, &world.sys);
    CHECK(task_set(&task, &task.target, text, &error));
    text[0] = '#';
    CHECK_STR(task.target, "http://127.0.0.1/");
    CHECK(task_set(&task, &task.target, "b", &error) && strcmp(task.target, "b") == 0);
    CHECK(task_set(&task, &task.target, NULL, &error) && !task.target);
    for (int i = 0; i < 1000; i++)
      CHECK(strings_add(&task.process.args, &world.sys, "a: bcd", 4, &error));
    CHECK(task.process.args.count == 1000 && !task.process.args.items[1000]);
    CHECK_STR(task.process.args.items[999], "a: b");
    CHECK(!strings_add(&task.process.args, &world.sys, "a\0b", 3, &error) &&
          error.code == ERROR_INVALID);
    CHECK(buffer_string(&task.body, "body", &error));
    bool ok = true;
    while (ok)
      ok = strings_add(&task.process.env, &world.sys, "A=1", 3, &error);
    CHECK(error.code == ERROR_LIMIT && task.process.env.count == 65536);
    task_clear(&task);
    CHECK(world.live == 0 && task.process.args.count == 0);
    task_clear(&task);
  }
  TEST("a string that finds no memory leaves the task as it was") {
    fake_sys_init(&world);
    struct task task;
    task_init(&task, &world.sys);
    CHECK(task_set(&task, &task.target, "a", &error));
    for (int i = 0; i < 20; i++) {
      world.fail_at = world.allocations + 1;
      CHECK(!task_set(&task, &task.target, "b", &error) && error.code == ERROR_MEMORY);
      world.fail_at = world.allocations + 2;
      bool added = strings_add(&task.process.args, &world.sys, "x", 1, &error);
      CHECK(task.process.args.count <= (size_t)i + 1 && (added || error.code == ERROR_MEMORY));
      if (!added) CHECK(strings_add(&task.process.args, &world.sys, "x", 1, &error));
    }
    CHECK_STR(task.target, "a");
    CHECK(task.process.args.count == 20);
    task_clear(&task);
    CHECK(world.live == 0);
  }
}

struct piece {
  uv_sem_t *gate;
  pthread_t by;
  int done, heard;
};

static void work_at(void *argument) {
  struct piece *p = argument;
  if (p->gate) uv_sem_wait(p->gate);
  p->by = pthread_self();
  p->done++;
}

static void hear(void *argument) {
  ((struct piece *)argument)->heard++;
}

/* Four threads are held up, so that what is given to them next waits. */
static void slow_work(void) {
  TEST("slow work that waits for a thread is done at once where its run is closed; the rest goes "
       "on") {
    enum { HELD = 4, WAITING = 12, PIECES };
    static const int leaving[] = {7, 11, 4, 5, 6, 8, 9}; /* the middle one, the last, the first */
    struct piece pieces[PIECES] = {0};
    struct chore *chores[PIECES];
    uv_sem_t gate;
    setup();
    alarm(20); /* work that is lost would be waited for without end */
    struct crew *crew = loop_crew(loop);
    uv_sem_init(&gate, 0);
    for (int i = 0; i < PIECES; i++) {
      if (i < HELD) pieces[i].gate = &gate;
      CHECK(chore_new(&world.sys, &chores[i], &error));
      if (i < WAITING) crew_do(crew, chores[i], work_at, hear, &pieces[i]);
    }
    for (size_t i = 0; i < sizeof leaving / sizeof *leaving; i++) {
      struct piece *p = &pieces[leaving[i]];
      crew_leave(crew, chores[leaving[i]]);
      chores[leaving[i]] = NULL;
      CHECK(p->done == 1 && p->heard == 1 && pthread_equal(p->by, pthread_self()));
    }
    crew_do(crew, chores[WAITING], work_at, hear, &pieces[WAITING]);
    for (int i = 0; i < HELD; i++)
      uv_sem_post(&gate);
    crew_leave(crew, chores[0]); /* it is waited for */
    chores[0] = NULL;
    CHECK(pieces[0].done == 1 && pieces[0].heard == 1);
    for (int i = 1; i < PIECES; i++) {
      while (!pieces[i].heard)
        uv_run(loop_uv(loop), UV_RUN_ONCE);
      CHECK(pieces[i].done == 1 && pieces[i].heard == 1);
      crew_leave(crew, chores[i]);
    }
    alarm(0);
    uv_sem_destroy(&gate);
    teardown();
  }
}

int main(void) {
  slow_work();
  members();
  waking();
  timers();
  asking_inside();
  opening();
  tasks();
  return check_finish();
}
