/* test_proxy.c: the network of a program that has a list: what goes through its proxy, what does
 * not, and what is told of it. The sockets are here on the machine's own loopback; that a program
 * has nothing else is proven by test_jail_escapes.c. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <unistd.h>

#include "support/check.h"
#include "support/exchanges.h"
#include "support/http_server.h"
#include "transport/proxy_inside.h"

static struct http_server *server;
static char here[32]; /* 127.0.0.1:PORT of the server */

/* ---- places and heads ---- */

static bool grants(const char *entry, const char *asked) {
  struct proxy_list list = {0};
  struct proxy_place place;
  struct error e;
  return proxy_list_add(&list, entry, &e) && proxy_place_read(asked, strlen(asked), 0, &place) &&
         proxy_list_grants(&list, &place);
}

static void test_places(void) {
  TEST("a place is a name and a port, in capitals or not, with a dot behind it or not") {
    CHECK(grants("api.example.com:8080", "api.example.com:8080"));
    CHECK(grants("API.example.com", "api.Example.COM.:443"));
    CHECK(grants("[2001:DB8::1]:443", "[2001:db8:0::1]:443"));
    CHECK(grants("10.1.2.3:80", "10.1.2.3:80"));
    CHECK(grants("registries", "registry.npmjs.org:443"));
  }
  TEST("another port, another name and what only looks the same are other places") {
    CHECK(!grants("api.example.com", "api.example.com:80"));
    CHECK(!grants("example.com", "api.example.com:443"));
    CHECK(!grants("example.com", "example.com.evil.org:443"));
    CHECK(!grants("example.com", "evilexample.com:443"));
    CHECK(!grants("registries", "registry.npmjs.org:80"));
    CHECK(!grants("127.0.0.1:80", "[::ffff:127.0.0.1]:80"));
    CHECK(!grants("127.0.0.1:80", "127.1:80") && !grants("127.0.0.1:80", "2130706433:80"));
  }
  TEST("a star stands for the names below, and for no address") {
    CHECK(grants("*.example.com", "a.b.example.com:443"));
    CHECK(!grants("*.example.com", "example.com:443") &&
          !grants("*.example.com", "aexample.com:443"));
    CHECK(grants("*:80", "anything.org:80") && grants("*", "anything.org:443"));
    CHECK(!grants("*:80", "10.0.0.1:80") && !grants("*:80", "[::1]:80"));
    CHECK(!grants("*.1:80", "127.0.0.1:80"));
  }
  TEST("what is no place is refused where it is granted") {
    static const char *const bad[] = {
        "",     ":80",    "a:0", "a:65536", "a:80x",   "a b", "http://a", "a/b",           "a@b:80",
        "[::1", "[a]:80", "*a",  "a.*:80",  "a:80:80", "-a",  ".a",       "ex\303\244mple"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
      struct proxy_list list = {0};
      struct error e;
      CHECK(!proxy_list_add(&list, bad[i], &e));
      CHECK(strstr(e.text, "is not a place"));
    }
  }
}

static enum proxy_read reads(const char *head, struct proxy_head *to) {
  memset(to, 0, sizeof *to);
  return proxy_head_read(head, strlen(head), to);
}

static void test_heads(void) {
  static struct proxy_head head;
  TEST("a head says where it goes in its first line") {
    CHECK(reads("CONNECT a.org:443 HTTP/1.1\r\nHost: b.org\r\n\r\nmore", &head) == PROXY_WHOLE);
    CHECK(head.tunnel && head.to.port == 443 && head.answer_length == 0);
    CHECK_STR(head.to.name, "a.org");
    CHECK(reads("GET http://a.org?x HTTP/1.1\r\nHost: b.org\r\nA: 1\r\nproxy-Authorization: "
                "x\r\nConnection: keep-alive\r\n\r\n",
                &head) == PROXY_WHOLE);
    CHECK(head.to.port == 80);
    head.answer[head.answer_length] = 0;
    CHECK_STR(head.answer, "GET /?x HTTP/1.1\r\nHost: a.org\r\nConnection: close\r\nA: 1\r\n\r\n");
    CHECK(reads("GET http://a.org/ HTTP/1.1\r\n", &head) == PROXY_MORE);
  }
  TEST("a head that could be read in two ways is not read") {
    static const char *const bad[] = {
        "GET / HTTP/1.1\r\nHost: a.org\r\n\r\n",
        "GET https://a.org/ HTTP/1.1\r\n\r\n",
        "GET http://a.org@b.org/ HTTP/1.1\r\n\r\n",
        "GET http://a.org\\@b.org/ HTTP/1.1\r\n\r\n",
        "GET http://a.org/ b HTTP/1.1\r\n\r\n",
        "GET  http://a.org/ HTTP/1.1\r\n\r\n",
        "GET http://a.org/\tHTTP/1.1\r\n\r\n",
        "GET http://a.org/ HTTP/2.0\r\n\r\n",
        "CONNECT a.org HTTP/1.1\r\n\r\n",
        "CONNECT a.org:443/x HTTP/1.1\r\n\r\n",
        "CONNECT http://a.org:443 HTTP/1.1\r\n\r\n",
        "CONNECT a.org:44\n3 HTTP/1.1\r\n\r\n",
        "CONNECT a.org:443 HTTP/1.1\nHost: b\r\n\r\n",
        "GET http://a.org/ HTTP/1.1\r\nA: 1\nHost: b.org\r\n\r\n",
        "GET http://a.org/ HTTP/1.1\r\n Host: b.org\r\n\r\n",
        "GET http://a.org/ HTTP/1.1\r\nHost : b.org\r\n\r\n",
        "GET http://a.org/ HTTP/1.1\r\nno field\r\n\r\n",
        "\r\n\r\n",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
      if (reads(bad[i], &head) != PROXY_BAD) printf("#   %s\n", bad[i]);
      CHECK(reads(bad[i], &head) == PROXY_BAD);
    }
  }
}

/* ---- a proxy on this loop ---- */

struct bench {
  uv_loop_t loop;
  struct world world;
  struct proxy *proxy;
  struct strings words, env;
  int ports[PROXY_LISTENERS];
  size_t count;
};

static int listen_here(int *port) {
  struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t size = sizeof at;
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (bind(fd, (struct sockaddr *)&at, size) < 0 || listen(fd, 64) < 0) abort();
  getsockname(fd, (struct sockaddr *)&at, &size);
  *port = ntohs(at.sin_port);
  return fd;
}

static void bench_open_words(struct bench *b, const struct transport_owner *owner, const char *one,
                             const char *two, const char *three) {
  const char *const words[] = {one, two, three};
  struct strings list = {0}, env = {0};
  struct error e;
  int fds[PROXY_LISTENERS];
  memset(b, 0, sizeof *b);
  world_init(&b->world);
  uv_loop_init(&b->loop);
  for (int i = 0; i < 3 && words[i]; i++)
    strings_add(&list, sys_real(), words[i], strlen(words[i]), &e);
  strings_add(&env, sys_real(), "A=1", 3, &e);
  strings_add(&env, sys_real(), "HTTPS_PROXY=http://corporate", 28, &e);
  if (!proxy_open(&b->world.sys, &b->loop, owner, &list, &b->proxy, &e)) printf("#   %s\n", e.text);
  CHECK(b->proxy && proxy_tell(b->proxy, &env, &b->words, &b->env, &e));
  b->count = b->words.count;
  for (size_t i = 0; i < b->count; i++)
    fds[i] = listen_here(&b->ports[i]);
  CHECK(proxy_listen(b->proxy, fds, b->count, &e));
  strings_clear(&list, sys_real());
  strings_clear(&env, sys_real());
}

/* Of up to three places. */
static void bench_open(struct bench *b, const char *one, const char *two, const char *three) {
  const char *const places[] = {one, two, three};
  char words[3][300];
  for (int i = 0; i < 3; i++)
    snprintf(words[i], sizeof words[i], "reach %s", places[i] ? places[i] : "");
  bench_open_words(b, NULL, words[0], two ? words[1] : NULL, three ? words[2] : NULL);
}

static void bench_close(struct bench *b) {
  strings_clear(&b->words, &b->world.sys);
  strings_clear(&b->env, &b->world.sys);
  proxy_close(&b->proxy);
  CHECK(b->proxy == NULL);
  uv_run(&b->loop, UV_RUN_DEFAULT);
  CHECK(uv_loop_close(&b->loop) == 0);
  CHECK(b->world.live == 0);
}

static int own_port(const struct bench *b) {
  return b->ports[b->count - 1];
}

static int dial(int port) {
  struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (connect(fd, (struct sockaddr *)&at, sizeof at) < 0) abort();
  return fd;
}

/* All that comes until the other side ends; turns the loop meanwhile. */
static size_t hear(struct bench *b, int fd, char *to, size_t room) {
  size_t used = 0;
  for (int64_t end = now_ms() + PATIENCE_MS; now_ms() < end && used < room - 1;) {
    uv_run(&b->loop, UV_RUN_NOWAIT);
    ssize_t got = recv(fd, to + used, room - 1 - used, MSG_DONTWAIT);
    if (got == 0 || (got < 0 && errno != EAGAIN)) break;
    if (got > 0) used += (size_t)got;
  }
  to[used] = 0;
  return used;
}

static char heard[64 << 10];

/* Until a text comes; NULL: the end. */
static void hear_until(struct bench *b, int fd, const char *text) {
  size_t used = 0;
  for (int64_t end = now_ms() + PATIENCE_MS; now_ms() < end && used < sizeof heard - 1;) {
    uv_run(&b->loop, UV_RUN_NOWAIT);
    ssize_t got = recv(fd, heard + used, sizeof heard - 1 - used, MSG_DONTWAIT);
    if (got == 0 || (got < 0 && errno != EAGAIN)) break;
    if (got > 0) used += (size_t)got;
    heard[used] = 0;
    if (text && strstr(heard, text)) return;
  }
  CHECK(!text);
}

static const char *ask_at(struct bench *b, int port, const char *request) {
  int fd = dial(port);
  if (write(fd, request, strlen(request)) < 0) perror("request");
  shutdown(fd, SHUT_WR); /* the server of tests ends no connection by itself */
  hear(b, fd, heard, sizeof heard);
  close(fd);
  return heard;
}

static const char *get(struct bench *b, const char *url) {
  char request[1000];
  snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", url);
  return ask_at(b, own_port(b), request);
}

static const char *tunnel(struct bench *b, const char *place) {
  char request[1000];
  snprintf(request, sizeof request,
           "CONNECT %s HTTP/1.1\r\n\r\nGET /say/hello HTTP/1.1\r\nHost: x\r\nConnection: "
           "close\r\n\r\n",
           place);
  return ask_at(b, own_port(b), request);
}

static bool is_refused(const char *answer) {
  if (strncmp(answer, "HTTP/1.1 403 ", 13) == 0) return true;
  printf("#   %.300s\n", answer);
  return false;
}

static void test_ways(void) {
  char text[200];
  snprintf(text, sizeof text, "http://%s/head", here);
  TEST("what is granted goes through: a tunnel, a request, a port of this machine") {
    struct bench b;
    bench_open(&b, here, NULL, NULL);
    CHECK(b.count == 2);
    CHECK(strstr(tunnel(&b, here), "200 Connection established\r\n\r\nHTTP/1.1 200"));
    CHECK(strstr(heard, "hello"));
    get(&b, text);
    CHECK(strstr(heard, "Host: 127.0.0.1:") && strstr(heard, "Connection: close"));
    CHECK(!strstr(heard, "Host: x"));
    ask_at(&b, b.ports[0], "GET /say/direct HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    CHECK(strstr(heard, "direct"));
    CHECK_STR(proxy_refused(b.proxy), "");
    bench_close(&b);
  }
  TEST("without memory for a word or variable of a program that is said") {
    struct bench b;
    struct strings env = {0}, words = {0}, more = {0};
    struct error e;
    bool told = false;
    bench_open(&b, "example.com", "localhost:1", NULL);
    for (int i = 0; i < 20; i++)
      strings_add(&env, sys_real(), "A=1", 3, &e);
    for (long n = 1; !told && n < 100; n++) {
      b.world.fail_alloc = b.world.allocs + n;
      told = proxy_tell(b.proxy, &env, &words, &more, &e);
      CHECK(told == (b.world.allocs < b.world.fail_alloc) && (told || e.code == ERROR_MEMORY));
      CHECK(!told || (words.count == 2 && more.count == 20 + 9));
      strings_clear(&words, &b.world.sys);
      strings_clear(&more, &b.world.sys);
    }
    CHECK(told);
    strings_clear(&env, sys_real());
    b.world.fail_alloc = 0;
    bench_close(&b);
  }
  TEST("a program is told where its proxy is, instead of another") {
    struct bench b;
    int found = 0;
    bench_open(&b, "example.com", NULL, NULL);
    CHECK(b.count == 1);
    CHECK_STR(b.words.items[0], "listen 3128");
    for (size_t i = 0; i < b.env.count; i++) {
      CHECK(!strstr(b.env.items[i], "corporate"));
      found += strcmp(b.env.items[i], "HTTPS_PROXY=http://127.0.0.1:3128") == 0;
      found += strcmp(b.env.items[i], "A=1") == 0;
    }
    CHECK(found == 2);
    bench_close(&b);
  }
  TEST(
      "a long body comes whole, also where who reads it is slow, and an end of both sides is one") {
    static char long_body[6 << 20];
    struct bench b;
    bench_open(&b, here, NULL, NULL);
    snprintf(text, sizeof text, "GET http://%s/huge?bytes=5000000 HTTP/1.1\r\n\r\n", here);
    int fd = dial(own_port(&b));
    if (write(fd, text, strlen(text)) < 0) perror("request");
    shutdown(fd, SHUT_WR);
    size_t length = hear(&b, fd, long_body, sizeof long_body);
    CHECK(length > 5000000 && length < 5001000);
    close(fd);
    bench_close(&b);
  }
  TEST("a proxy can be closed while connections are open, looked up and half read") {
    struct bench b;
    bench_open(&b, "no-such-host.invalid:80", here, NULL);
    int half = dial(own_port(&b)), looked = dial(own_port(&b)), open = dial(own_port(&b));
    static const char asks[] = "GET http://no-such-host.invalid/ HTTP/1.1\r\n\r\n";
    snprintf(text, sizeof text, "GET http://%s/silence HTTP/1.1\r\n\r\n", here);
    if (write(half, "GET", 3) < 0 || write(looked, asks, sizeof asks - 1) < 0 ||
        write(open, text, strlen(text)) < 0)
      perror("request");
    for (int i = 0; i < 20; i++)
      uv_run(&b.loop, UV_RUN_NOWAIT);
    bench_close(&b);
    close(half);
    close(looked);
    close(open);
  }
}

static void test_lies(void) {
  char text[300];
  int port = http_server_port(server);
  TEST("a place that is not granted is refused, and noted once") {
    struct bench b;
    bench_open(&b, here, "example.com:443", NULL);
    CHECK(is_refused(get(&b, "http://example.com/")));
    CHECK(strstr(heard, "skillrt: example.com:80 is not granted to this program"));
    CHECK(is_refused(tunnel(&b, "example.com:22")));
    CHECK(is_refused(tunnel(&b, "evil.example.com:443")));
    CHECK(is_refused(tunnel(&b, "169.254.169.254:80")));
    CHECK(is_refused(tunnel(&b, "[::1]:80")));
    CHECK(is_refused(tunnel(&b, "[::1]:80")));
    CHECK_STR(proxy_refused(b.proxy), "example.com:80 example.com:22 evil.example.com:443 "
                                      "169.254.169.254:80 [::1]:80");
    bench_close(&b);
  }
  TEST("another port of a machine that is granted is refused") {
    struct bench b;
    bench_open(&b, here, NULL, NULL);
    snprintf(text, sizeof text, "127.0.0.1:%d", port == 65535 ? 1 : port + 1);
    CHECK(is_refused(tunnel(&b, text)));
    bench_close(&b);
  }
  TEST("a name that is granted, and found at a private address, is refused (DNS rebinding)") {
    struct bench b;
    char entry[64];
    snprintf(entry, sizeof entry, "127.1:%d", port); /* a name to us; found at 127.0.0.1 */
    bench_open(&b, entry, "*:9", NULL);
    CHECK(is_refused(tunnel(&b, entry)));
    CHECK(strstr(heard, "is at a private address"));
    CHECK(strstr(proxy_refused(b.proxy), entry) && strstr(proxy_refused(b.proxy), here));
    CHECK(is_refused(tunnel(&b, "2130706433:9")));
    CHECK(is_refused(tunnel(&b, "0x7f.1:9")));
    bench_close(&b);
  }
  TEST("... and goes through where that address is granted, too") {
    struct bench b;
    char entry[64];
    snprintf(entry, sizeof entry, "127.1:%d", port);
    bench_open(&b, entry, here, NULL);
    CHECK(strstr(tunnel(&b, entry), "hello"));
    bench_close(&b);
  }
  TEST("an address stands for no name, and a name for no address") {
    struct bench b;
    char entry[64];
    snprintf(entry, sizeof entry, "localhost:%d", port);
    bench_open(&b, entry, "*:80", NULL);
    CHECK(is_refused(tunnel(&b, here)));
    CHECK(is_refused(tunnel(&b, "10.0.0.1:80")));
    CHECK(is_refused(tunnel(&b, "[fd00::1]:80")));
    CHECK(strstr(tunnel(&b, entry), "hello"));
    bench_close(&b);
  }
  TEST("a redirect leads nowhere else") {
    struct bench b;
    bench_open(&b, here, NULL, NULL);
    snprintf(text, sizeof text, "http://%s/redirect?to=http://127.0.0.1:1/&code=302", here);
    CHECK(strstr(get(&b, text), "302"));
    CHECK(is_refused(get(&b, "http://127.0.0.1:1/")));
    bench_close(&b);
  }
  TEST("a second request on a connection goes where the first went") {
    struct bench b;
    bench_open(&b, here, NULL, NULL);
    int fd = dial(own_port(&b));
    struct http_counts before = http_server_counts(server);
    snprintf(text, sizeof text, "GET http://%s/say/first HTTP/1.1\r\n\r\n", here);
    if (write(fd, text, strlen(text)) < 0) perror("request");
    hear_until(&b, fd, "first");
    static const char second[] = "GET http://example.com/ HTTP/1.1\r\n\r\n";
    if (write(fd, second, sizeof second - 1) < 0) perror("request");
    shutdown(fd, SHUT_WR);
    hear_until(&b, fd, NULL);
    close(fd);
    CHECK(http_server_counts(server).requests == before.requests + 2);
    CHECK_STR(proxy_refused(b.proxy), "");
    bench_close(&b);
  }
  TEST("what is no request of a proxy is answered with 400") {
    struct bench b;
    bench_open(&b, here, NULL, NULL);
    CHECK(strstr(ask_at(&b, own_port(&b), "GET / HTTP/1.1\r\nHost: x\r\n\r\n"), "400 Bad Request"));
    snprintf(text, sizeof text, "GET http://%s@example.com/ HTTP/1.1\r\n\r\n", here);
    CHECK(strstr(ask_at(&b, own_port(&b), text), "400 Bad Request"));
    bench_close(&b);
  }
  TEST("what cannot be found or reached is answered with 502") {
    struct bench b;
    bench_open(&b, "no-such-host.invalid:80", "127.0.0.1:1", NULL);
    CHECK(strstr(get(&b, "http://no-such-host.invalid/"), "502 Bad Gateway"));
    CHECK(strstr(get(&b, "http://127.0.0.1:1/"), "502 Bad Gateway"));
    CHECK_STR(proxy_refused(b.proxy), "");
    bench_close(&b);
  }
}

static void test_bounds(void) {
  TEST("a head of more than 16 KiB is answered with 400") {
    struct bench b;
    static char text[PROXY_HEAD + 1];
    bench_open(&b, here, NULL, NULL);
    memset(text, 'a', PROXY_HEAD);
    CHECK(strstr(ask_at(&b, own_port(&b), text), "400 Bad Request"));
    bench_close(&b);
  }
  TEST("a client that says nothing, or a little now and then, is let go when its time is over") {
    struct bench b;
    bench_open(&b, here, NULL, NULL);
    int fd = dial(own_port(&b));
    for (int64_t end = now_ms() + PATIENCE_MS; !b.proxy->first && now_ms() < end;)
      uv_run(&b.loop, UV_RUN_NOWAIT);
    struct proxy_link *link = b.proxy->first;
    CHECK(link && uv_timer_get_due_in(&link->timer) <= 30000);
    if (link) uv_timer_start(&link->timer, link->timer.timer_cb, 1000000, 0);
    if (write(fd, "GET ", 4) < 0) perror("request");
    for (int64_t end = now_ms() + PATIENCE_MS; link && link->client.length < 4 && now_ms() < end;)
      uv_run(&b.loop, UV_RUN_NOWAIT);
    CHECK(link && link->client.length == 4);
    CHECK(link && uv_timer_get_due_in(&link->timer) > 30000); /* what it said gave it no new time */
    if (link) uv_timer_start(&link->timer, link->timer.timer_cb, 0, 0);
    CHECK(hear(&b, fd, heard, sizeof heard) == 0 && b.proxy->links == 0);
    close(fd);
    bench_close(&b);
  }
  TEST("of more connections than 64 the others wait until one is over") {
    struct bench b;
    int fds[PROXY_LINKS + 1];
    bench_open(&b, here, NULL, NULL);
    for (int i = 0; i < PROXY_LINKS; i++)
      fds[i] = dial(own_port(&b));
    for (int64_t end = now_ms() + PATIENCE_MS; b.proxy->links < PROXY_LINKS && now_ms() < end;)
      uv_run(&b.loop, UV_RUN_NOWAIT);
    CHECK(b.proxy->links == PROXY_LINKS);
    fds[PROXY_LINKS] = dial(own_port(&b));
    for (int i = 0; i < 20; i++)
      uv_run(&b.loop, UV_RUN_NOWAIT);
    CHECK(b.proxy->links == PROXY_LINKS);
    close(fds[0]);
    static const char asks[] = "GET / HTTP/1.1\r\n\r\n";
    if (write(fds[PROXY_LINKS], asks, sizeof asks - 1) < 0) perror("request");
    hear(&b, fds[PROXY_LINKS], heard, sizeof heard);
    CHECK(strstr(heard, "400 Bad Request"));
    for (int i = 1; i <= PROXY_LINKS; i++)
      close(fds[i]);
    bench_close(&b);
  }
  TEST("a list of too many places, and of too many ports of this machine, is refused") {
    struct world world;
    struct strings list = {0};
    struct proxy *proxy = NULL;
    struct error e;
    char word[64];
    uv_loop_t loop;
    world_init(&world);
    uv_loop_init(&loop);
    for (int i = 1; i <= PROXY_PLACES + 1; i++) {
      int length = snprintf(word, sizeof word, "reach %s:%d", i > 16 ? "a" : "localhost", i);
      strings_add(&list, sys_real(), word, (size_t)length, &e);
    }
    CHECK(!proxy_open(&world.sys, &loop, NULL, &list, &proxy, &e) && !proxy);
    CHECK(strstr(e.text, "more than 128 places"));
    list.count = 17;
    CHECK(!proxy_open(&world.sys, &loop, NULL, &list, &proxy, &e) && !proxy);
    CHECK(strstr(e.text, "more than 15 ports of this machine"));
    list.count = PROXY_PLACES + 1;
    strings_clear(&list, sys_real());
    CHECK(uv_loop_close(&loop) == 0 && world.live == 0);
  }
}

/* ---- headers of ours: HTTP is sent by nobody here, and answered as the test says ---- */

static struct {
  struct transport base;
  struct exchange *asked[PROXY_ASKED + 1];
  const struct task *task;
  int count, canceled;
} sender;

static bool sender_send(struct transport *base, struct exchange *exchange, const struct task *task,
                        struct error *e) {
  (void)base, (void)e;
  sender.asked[sender.count++] = exchange;
  sender.task = task;
  exchange->handle = &sender;
  return true;
}

static void sender_answer(struct exchange *exchange, const struct reply *reply) {
  exchange->handle = NULL;
  exchange->done(exchange, reply);
}

static void sender_cancel(struct transport *base, struct exchange *exchange, bool at_once) {
  const struct reply canceled = {.status = REPLY_CANCELED};
  (void)base, (void)at_once;
  sender.canceled++;
  sender_answer(exchange, &canceled);
}

static struct transport *give_sender(void *data, struct error *e) {
  static const struct transport_ops ops = {.send = sender_send, .cancel = sender_cancel};
  (void)data, (void)e;
  sender.base.ops = &ops;
  return &sender.base;
}

static const struct transport_owner with_sender = {.http = give_sender};
static const char keyed[] = "header api.example.com:8443 Authorization: Bearer sesame";

static int ask_keyed(struct bench *b, const char *rest) {
  char request[1000];
  int before = sender.count, fd = dial(own_port(b));
  snprintf(request, sizeof request, "POST http://API.example.com:8443/x?y HTTP/1.1\r\n%s", rest);
  if (write(fd, request, strlen(request)) < 0) perror("request");
  for (int64_t end = now_ms() + PATIENCE_MS; sender.count == before && now_ms() < end;)
    uv_run(&b->loop, UV_RUN_NOWAIT);
  return fd;
}

static void keyed_open(struct bench *b) {
  memset(&sender, 0, sizeof sender);
  bench_open_words(b, &with_sender, keyed, NULL, NULL);
}

static void test_headers(void) {
  TEST("a plain request to a place with a header is sent by TLS, with it and without its own") {
    struct bench b;
    keyed_open(&b);
    int fd = ask_keyed(&b, "Content-Length: 5\r\nAUTHORIZATION: mine\r\nExpect: 100-continue\r\n"
                           "A: 1\r\nAccept-Encoding: gzip\r\n\r\nhello, and more");
    CHECK(sender.count == 1);
    CHECK_STR(sender.task->target, "https://api.example.com:8443/x?y");
    CHECK_STR(sender.task->http.method, "POST");
    CHECK_STR(sender.task->http.addresses, "public");
    CHECK(sender.task->http.max_redirects == 0 && sender.task->http.headers.count == 2);
    CHECK_STR(sender.task->http.headers.items[0], "A: 1");
    CHECK_STR(sender.task->http.headers.items[1], "Authorization: Bearer sesame");
    CHECK_STR(sender.task->body.data, "hello");
    const struct reply fine = {.code = 201,
                               .body = {"made", 4},
                               .extra = {"a: b\ncontent-length: 9\nconnection: keep-alive\n", 45}};
    sender_answer(sender.asked[0], &fine);
    hear(&b, fd, heard, sizeof heard);
    CHECK_STR(heard, "HTTP/1.1 201 Answered\r\na: b\r\nContent-Length: 4\r\nConnection: "
                     "close\r\n\r\nmade");
    close(fd);
    bench_close(&b);
  }
  TEST("an answer that has the header, or its secret, is dropped") {
    static const struct reply told[] = {{.code = 200, .body = {"<sesame>", 8}},
                                        {.code = 200, .extra = {"x: sesame\n", 10}}};
    for (int i = 0; i < 2; i++) {
      struct bench b;
      keyed_open(&b);
      int fd = ask_keyed(&b, "\r\n");
      sender_answer(sender.asked[0], &told[i]);
      hear(&b, fd, heard, sizeof heard);
      CHECK(strstr(heard, "502 Bad Gateway") && !strstr(heard, "sesame"));
      close(fd);
      bench_close(&b);
    }
  }
  TEST("a failure says why, and a proxy that is closed gives up what is under way") {
    struct bench b;
    const struct reply broken = {.status = REPLY_BROKEN, .message = "api.example.com:8443: reset"};
    keyed_open(&b);
    int fd = ask_keyed(&b, "\r\n"), other = ask_keyed(&b, "\r\n");
    sender_answer(sender.asked[0], &broken);
    hear(&b, fd, heard, sizeof heard);
    CHECK(strstr(heard, "skillrt: api.example.com:8443 reset\n"));
    bench_close(&b);
    CHECK(sender.canceled == 1);
    close(fd);
    close(other);
  }
  TEST("of more requests than 8 at once the next is told to come again") {
    struct bench b;
    int fds[PROXY_ASKED];
    keyed_open(&b);
    for (int i = 0; i < PROXY_ASKED; i++)
      fds[i] = ask_keyed(&b, "\r\n");
    CHECK(strstr(get(&b, "http://api.example.com:8443/"), "503 Service Unavailable"));
    CHECK(sender.count == PROXY_ASKED);
    bench_close(&b);
    CHECK(sender.canceled == PROXY_ASKED);
    for (int i = 0; i < PROXY_ASKED; i++)
      close(fds[i]);
  }
  TEST("what is no length, too long, has no length or another method is not sent") {
    static const char *const wrong[][2] = {
        {"Content-Length: 1x\r\n\r\n", " 400 "},
        {"Content-Length: 1\r\nContent-Length: 1\r\n\r\n", " 400 "},
        {"Content-Length: 16777217\r\n\r\n", " 413 "},
        {"Transfer-Encoding: chunked\r\n\r\n", " 411 "}};
    struct bench b;
    char request[400];
    keyed_open(&b);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
      snprintf(request, sizeof request, "GET http://api.example.com:8443/ HTTP/1.1\r\n%s",
               wrong[i][0]);
      CHECK(strstr(ask_at(&b, own_port(&b), request), wrong[i][1]));
    }
    CHECK(strstr(ask_at(&b, own_port(&b), "TRACE http://api.example.com:8443/ HTTP/1.1\r\n\r\n"),
                 " 405 "));
    CHECK(sender.count == 0);
    bench_close(&b);
  }
  TEST("a header that is none, of more than one place, or a second one is refused") {
    static const char *const bad[] = {"header a.org",
                                      "header a.org A",
                                      "header a.org A b: c",
                                      "header a.org Host: b",
                                      "header *.a.org A: b",
                                      "header registries A: b",
                                      "header a.org A: b\nC: d",
                                      "header api.example.com:8443 A: b"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
      struct world world;
      struct strings list = {0};
      struct proxy *proxy = NULL;
      struct error e = {0};
      uv_loop_t loop;
      world_init(&world);
      uv_loop_init(&loop);
      strings_add(&list, sys_real(), keyed, sizeof keyed - 1, &e);
      strings_add(&list, sys_real(), bad[i], strlen(bad[i]), &e);
      CHECK(!proxy_open(&world.sys, &loop, NULL, &list, &proxy, &e) && !proxy);
      CHECK(strstr(e.text, "sandbox: headers: ") && !strstr(e.text, "sesame"));
      strings_clear(&list, sys_real());
      CHECK(uv_loop_close(&loop) == 0 && world.live == 0);
    }
  }
}

static void test_same_port(void) {
  static const char *const lists[][2] = {
      {"reach localhost:5432", "reach 127.0.0.1:5432"},
      {"reach 127.0.0.2:5432", "reach 127.0.0.2:5432"},
      {"reach localhost:5432", "reach 127.0.0.2:5432"},
  };
  TEST("two addresses of this machine at one port are refused, unless they are the same") {
    for (int i = 0; i < 3; i++) {
      struct world world;
      struct strings list = {0};
      struct proxy *proxy = NULL;
      struct error e = {0};
      uv_loop_t loop;
      world_init(&world);
      uv_loop_init(&loop);
      for (int n = 0; n < 2; n++)
        strings_add(&list, sys_real(), lists[i][n], strlen(lists[i][n]), &e);
      CHECK(proxy_open(&world.sys, &loop, NULL, &list, &proxy, &e) == (i < 2));
      CHECK(i < 2 || strstr(e.text, "localhost and 127.0.0.2 have one port, 5432"));
      proxy_close(&proxy);
      strings_clear(&list, sys_real());
      CHECK(uv_loop_close(&loop) == 0 && world.live == 0);
    }
  }
}

int main(void) {
  server = http_server_start(NULL, NULL, 0);
  if (!server) return 1;
  snprintf(here, sizeof here, "127.0.0.1:%d", http_server_port(server));
  test_places();
  test_heads();
  test_ways();
  test_lies();
  test_bounds();
  test_headers();
  test_same_port();
  http_server_stop(server);
  return check_finish();
}
