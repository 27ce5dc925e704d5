/* test_http_faults.c: HTTP when things go wrong: broken replies, limits, deadlines, cancellation,
 * calls that fail. Talks to skillrt/http.so only through transport.h. */
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "support/http_bench.h"

/* --- broken --------------------------------------------------------------------------- */

static void test_broken(void) {
  TEST("a body shorter than announced is broken, what came of it is kept") {
    BENCH(b);
    bench_get(&b, "/half");
    CHECK(b.got.reply.status == REPLY_BROKEN && b.got.reply.code == 200);
    CHECK(b.got.reply.body.length == 50);
    CHECK(strstr(b.got.reply.message, ": the reply broke off after 50 bytes: "));
    bench_close(&b);
  }
  TEST("a chunked body without its end is broken") {
    BENCH(b);
    bench_get(&b, "/cut");
    CHECK(b.got.reply.status == REPLY_BROKEN);
    CHECK_STR(b.got.body, "four");
    bench_close(&b);
  }
  TEST("a reset before a reply says so, not how libcurl waits") {
    BENCH(b);
    bench_get(&b, "/reset-first");
    CHECK(b.got.reply.status == REPLY_BROKEN);
    CHECK(strstr(b.got.reply.message, "reset"));
    bench_close(&b);
  }
  TEST("what may act is sent once where a connection that was kept ends without a word") {
    BENCH(b);
    bench_get(&b, "/echo");
    CHECK(b.got.reply.status == REPLY_OK);
    bench_get(&b, "/nothing"); /* both are POST */
    CHECK(b.got.reply.status == REPLY_BROKEN && b.got.reply.sent);
    CHECK(strstr(b.got.reply.message, ": the connection ended before it answered"));
    CHECK(http_server_counts(b.server).requests == 2);
    bench_method(&b, "GET"); /* reads, and is sent again by libcurl */
    bench_get(&b, "/head");
    bench_get(&b, "/nothing");
    CHECK(http_server_counts(b.server).requests == 5);
    bench_close(&b);
  }
  TEST("a reset in the middle of a body is broken") {
    BENCH(b);
    bench_get(&b, "/reset");
    CHECK(b.got.reply.status == REPLY_BROKEN);
    CHECK(strncmp(b.got.reply.message, b.place, strlen(b.place)) == 0);
    bench_close(&b);
  }
  TEST("a body that ends with the connection is whole only where that was announced") {
    BENCH(b);
    check_reply(&b, "/eof", REPLY_BROKEN,
                "the reply ended with its connection after 10 bytes, and may be incomplete");
    CHECK_STR(b.got.body, "to the end");
    bench_get(&b, "/eof-close");
    CHECK(b.got.reply.status == REPLY_OK);
    CHECK_STR(b.got.body, "to the end");
    bench_get(&b, "/http10");
    CHECK(b.got.reply.status == REPLY_OK);
    CHECK_STR(b.got.body, "to the end");
    bench_close(&b);
  }
  TEST("a connection closed without a byte, or with something else than HTTP, is broken") {
    BENCH(b);
    check_reply(&b, "/nothing", REPLY_BROKEN, "Empty reply from server");
    CHECK(b.got.reply.sent); /* who asked so may have been heard */
    bench_get(&b, "/garbage");
    CHECK(b.got.reply.status == REPLY_BROKEN);
    bench_close(&b);
  }
  TEST("a port where nobody listens is broken and named") {
    BENCH(b);
    http_server_stop(b.server);
    b.server = NULL;
    bench_get(&b, "/");
    CHECK(b.got.reply.status == REPLY_BROKEN && b.got.reply.code == 0);
    CHECK(strncmp(b.got.reply.message, b.place, strlen(b.place)) == 0);
    CHECK(strstr(b.got.reply.message, "connect") && !b.got.reply.sent);
    bench_close(&b);
  }
  TEST("a host that no name service can know is broken") {
    BENCH(b);
    struct error e;
    char url[128] = "http://";
    memset(url + 7, 'a', 70); /* longer than a label may be: no packet is sent */
    CHECK(task_set(&b.task, &b.task.target, url, &e));
    bench_run(&b);
    CHECK(b.got.reply.status == REPLY_BROKEN);
    CHECK(strstr(b.got.reply.message, "resolve") && !b.got.reply.sent);
    bench_close(&b);
  }
}

/* --- limits --------------------------------------------------------------------------- */

static void test_limits(void) {
  TEST("a body beyond its maximum stops the exchange; the first bytes are kept") {
    BENCH(b);
    b.task.max_body = 1000;
    check_reply(&b, "/huge?bytes=10000000", REPLY_TOO_LARGE, "more than 1000 bytes in the reply");
    CHECK(b.got.reply.body.length == 1000);
    bench_get(&b, "/huge?bytes=1000");
    CHECK(b.got.reply.status == REPLY_OK && b.got.reply.body.length == 1000);
    bench_close(&b);
  }
  TEST("a compressed reply counts unpacked") {
    BENCH(b);
    b.task.max_body = 100000;
    check_reply(&b, "/bomb?bytes=50000000", REPLY_TOO_LARGE, "more than 100000 bytes in the reply");
    bench_close(&b);
  }
  TEST("headers beyond their maximum stop the exchange") {
    BENCH(b);
    check_reply(&b, "/headers?bytes=10000000", REPLY_TOO_LARGE,
                "more than 262144 bytes of headers");
    b.task.max_extra = 1000;
    check_reply(&b, "/headers?bytes=2000", REPLY_TOO_LARGE, "more than 1000 bytes of headers");
    bench_close(&b);
  }
  TEST("one endless header line stops the exchange") {
    BENCH(b);
    bench_get(&b, "/line?bytes=10000000");
    CHECK(b.got.reply.status == REPLY_TOO_LARGE);
    bench_close(&b);
  }
  TEST("a server that never answers is given up after the idle deadline") {
    BENCH(b);
    b.task.idle_ms = 120;
    check_reply(&b, "/silence", REPLY_TIMEOUT, "silent for 120 ms");
    CHECK(b.got.reply.sent);
    CHECK(b.got.reply.elapsed_ms >= 119 && b.got.reply.elapsed_ms < PATIENCE_MS);
    bench_close(&b);
  }
  TEST("a server that falls silent in the middle is given up after the idle deadline") {
    BENCH(b);
    b.task.idle_ms = 120;
    check_reply(&b, "/stall", REPLY_TIMEOUT, "silent for 120 ms");
    CHECK(b.got.reply.body.length == 50);
    bench_close(&b);
  }
  TEST("slow is not silent: a trickle is waited for, up to the total deadline") {
    BENCH(b);
    b.task.idle_ms = 600;
    bench_get(&b, "/trickle?ms=140&count=5");
    CHECK(b.got.reply.status == REPLY_OK && b.got.reply.body.length == 20);
    b.task.total_ms = 200;
    check_reply(&b, "/trickle?ms=50&count=100", REPLY_TIMEOUT, "no complete reply after 200 ms");
    bench_close(&b);
  }
  TEST("slow headers are waited for") {
    BENCH(b);
    bench_get(&b, "/slow?ms=100");
    CHECK_STR(b.got.body, "slow");
    CHECK(b.got.reply.elapsed_ms >= 99);
    bench_close(&b);
  }
}

/* A listener whose queue is full: further connections hang, as behind a silent firewall. */
static int full_listener(int *port, int queue[4]) {
  struct sockaddr_in at = {.sin_family = AF_INET};
  socklen_t size = sizeof at;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (bind(fd, (struct sockaddr *)&at, size) < 0 || listen(fd, 0) < 0) abort();
  getsockname(fd, (struct sockaddr *)&at, &size);
  *port = ntohs(at.sin_port);
  for (int i = 0; i < 4; i++) {
    queue[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    connect(queue[i], (struct sockaddr *)&at, size);
  }
  return fd;
}

static void test_connect(void) {
  TEST("a connection that does not come about is given up after the connect deadline") {
    BENCH(b);
    int port, queue[4], listener = full_listener(&port, queue);
    snprintf(b.place, sizeof b.place, "127.0.0.1:%d", port);
    b.task.http.connect_ms = 150;
    b.task.idle_ms = 50; /* counts only once connected */
    check_reply(&b, "/", REPLY_TIMEOUT, "not connected after 150 ms");
    CHECK(!b.got.reply.sent);
    CHECK(b.got.reply.elapsed_ms >= 149 && b.got.reply.elapsed_ms < PATIENCE_MS);
    bench_close(&b);
    for (int i = 0; i < 4; i++)
      close(queue[i]);
    close(listener);
  }
}

/* --- the end -------------------------------------------------------------------------- */

static void cancel_after(const char *path, int ms) {
  BENCH(b);
  bench_path(&b, path);
  bench_send(&b);
  if (ms > 0) loop_spend(&b.loop, ms);
  CHECK(b.got.replies == 0);
  b.transport->ops->cancel(b.transport, &b.got.exchange, false);
  CHECK(b.got.replies == 1 && b.got.reply.status == REPLY_CANCELED);
  CHECK(b.got.reply.sent == (ms > 0));
  loop_spend(&b.loop, 10);
  bench_close(&b);
  CHECK(b.got.replies == 1);
}

static void test_cancel(void) {
  int before = open_descriptors();
  TEST("an exchange can be canceled before it started") {
    cancel_after("/say/x", 0);
  }
  TEST("an exchange can be canceled while the server is silent") {
    cancel_after("/silence", 50);
  }
  TEST("an exchange can be canceled in the middle of its body") {
    cancel_after("/stall", 50);
  }
  TEST("closing with exchanges under way cancels them") {
    BENCH(b);
    bench_path(&b, "/silence");
    bench_send(&b);
    loop_spend(&b.loop, 30);
    b.transport->ops->close(b.transport);
    b.transport = NULL;
    CHECK(b.got.replies == 1 && b.got.reply.status == REPLY_CANCELED);
    bench_close(&b);
  }
  TEST("done may close the transport, with idle connections in it") {
    BENCH(b);
    bench_get(&b, "/say/x");
    b.got.closes = true;
    bench_get(&b, "/say/y");
    CHECK_STR(b.got.body, "y");
    b.transport = NULL;
    bench_close(&b);
  }
  TEST("a canceled name lookup does not hold anybody up") {
    int64_t best = INT64_MAX; /* of a few: other programs may hold the processor */
    for (int i = 0; i < 8 && best >= 100; i++) {
      BENCH(b);
      struct error e;
      CHECK(task_set(&b.task, &b.task.target, "http://localhost:1/", &e));
      bench_send(&b);
      uv_run(&b.loop, UV_RUN_NOWAIT);
      int64_t start = now_ms();
      b.transport->ops->cancel(b.transport, &b.got.exchange, true);
      int64_t took = now_ms() - start;
      best = took < best ? took : best;
      bench_close(&b);
    }
    CHECK(best < 100);
  }
  TEST("nothing is left open") {
    CHECK(open_descriptors() == before);
  }
}

static int refuse_socket(const struct sys *sys, int domain, int type, int protocol) {
  const struct world *w = sys->self;
  return world_refuses(sys) ? -w->refuse : sys_real()->socket(sys, domain, type, protocol);
}

/* Two requests with the n-th allocation failing; true once n was never reached. */
static bool survives(long alloc) {
  struct error e;
  BENCH(b);
  b.world.allocs = 0;
  b.world.fail_alloc = alloc;
  for (int i = 0; i < 2; i++) {
    bench_path(&b, i ? "/sse?count=2" : "/say/x");
    capture_clear(&b.got);
    capture_init(&b.got, b.transport);
    bool sent = b.transport->ops->send(b.transport, &b.got.exchange, &b.task, &e);
    if (sent) capture_wait(&b.got, &b.loop);
    CHECK(b.got.replies == (sent ? 1 : 0));
    CHECK(sent || e.code == ERROR_MEMORY);
    if (sent && b.got.reply.status != REPLY_OK)
      CHECK(b.got.reply.status == REPLY_BROKEN && strstr(b.got.reply.message, "out of memory"));
  }
  bool reached = b.world.allocs >= alloc;
  if (!reached) CHECK(b.got.reply.status == REPLY_OK && b.got.chunks == 2);
  bench_close(&b);
  return !reached;
}

static void test_failures(void) {
  TEST("the n-th allocation failing gives a clear reply and leaks nothing") {
    long n = 1;
    while (n < 60 && !survives(n))
      n++;
    CHECK(n > 5 && n < 60);
  }
  TEST("a socket that cannot be opened is broken, and told as that; the next one works") {
    BENCH(b);
    char wanted[256];
    b.world.sys.socket = refuse_socket;
    b.world.fail_call = 1;
    bench_get(&b, "/say/x");
    CHECK(b.got.reply.status == REPLY_BROKEN);
    snprintf(wanted, sizeof wanted, "%s: no socket: Too many open files", b.place);
    CHECK_STR(b.got.reply.message, wanted);
    bench_get(&b, "/say/x");
    CHECK(b.got.reply.status == REPLY_OK);
    CHECK(b.world.calls == 2);
    bench_close(&b);
  }
}

/* Where no descriptor is left, a name cannot be looked up either. */
static void test_descriptors(void) {
  TEST("a name that cannot be looked up for want of descriptors is told as that") {
    BENCH(b);
    struct error e;
    struct rlimit before, few = {0};
    CHECK(task_set(&b.task, &b.task.target, "http://localhost.invalid:1/", &e));
    CHECK(getrlimit(RLIMIT_NOFILE, &before) == 0);
    few = before;
    few.rlim_cur = 0;
    CHECK(setrlimit(RLIMIT_NOFILE, &few) == 0);
    CHECK(b.transport->ops->send(b.transport, &b.got.exchange, &b.task, &e));
    capture_wait(&b.got, &b.loop);
    CHECK(setrlimit(RLIMIT_NOFILE, &before) == 0);
    CHECK(b.got.reply.status == REPLY_BROKEN);
    CHECK_STR(b.got.reply.message, "localhost.invalid:1: no socket: Too many open files");
    bench_close(&b);
  }
}

int main(void) {
  if (!load()) return 1;
  test_broken();
  test_limits();
  test_connect();
  test_cancel();
  test_failures();
  test_descriptors();
  return check_finish();
}
