/* test_http.c: what HTTP tasks send and what of a reply comes back: methods, headers, redirects,
 * events. Talks to skillrt/http.so only through transport.h. */
#include "support/http_bench.h"

/* --- requests ------------------------------------------------------------------------- */

static void test_requests(void) {
  TEST("a task's body is posted with its headers and nothing of libcurl's own (R63, R193)") {
    BENCH(b);
    struct error e;
    add(&b.task.http.headers, "Content-Type: application/json");
    add(&b.task.http.headers, "Idempotency-Key: k-1");
    add(&b.task.http.headers, "X-Empty:");
    CHECK(buffer_string(&b.task.body, "{\"a\":1}", &e));
    bench_get(&b, "/head");
    CHECK(b.got.reply.status == REPLY_OK && b.got.reply.code == 200);
    char head[1024];
    snprintf(head, sizeof head,
             "POST /head HTTP/1.1\r\nHost: %s\r\nUser-Agent: skillrt/" SKILLRT_VERSION
             "\r\nAccept: */*\r\nAccept-Encoding: ",
             b.place);
    CHECK(strncmp(b.got.body, head, strlen(head)) == 0);
    CHECK(strstr(b.got.body, "\r\nContent-Type: application/json\r\nIdempotency-Key: k-1\r\n"
                             "X-Empty:\r\nContent-Length: 7\r\n"));
    CHECK(!strstr(b.got.body, "Expect"));
    bench_get(&b, "/echo");
    CHECK_STR(b.got.body, "{\"a\":1}");
    CHECK(http_server_counts(b.server).keys == 1);
    bench_close(&b);
  }
  TEST("a large body arrives whole, without an Expect") {
    BENCH(b);
    struct error e;
    size_t size = 3 << 20;
    memset(buffer_room(&b.task.body, size, &e), 'z', size);
    b.task.body.length = size;
    bench_get(&b, "/echo");
    CHECK(b.got.reply.status == REPLY_OK && b.got.reply.body.length == size);
    bench_close(&b);
  }
  TEST("other methods are sent as named, with a body only where there is one") {
    BENCH(b);
    struct error e;
    bench_method(&b, "GET");
    bench_get(&b, "/head");
    CHECK(strncmp(b.got.body, "GET /head", 9) == 0 && !strstr(b.got.body, "Content-"));
    bench_method(&b, "DELETE");
    bench_get(&b, "/head");
    CHECK(strncmp(b.got.body, "DELETE /head", 12) == 0 && !strstr(b.got.body, "Content-"));
    bench_method(&b, "HEAD");
    bench_get(&b, "/say/x");
    CHECK(b.got.reply.status == REPLY_OK && b.got.reply.body.length == 0);
    CHECK(buffer_string(&b.task.body, "p", &e));
    bench_method(&b, "PUT");
    bench_get(&b, "/head");
    CHECK(strncmp(b.got.body, "PUT /head", 9) == 0 && strstr(b.got.body, "Content-Length: 1\r\n"));
    bench_close(&b);
  }
  TEST("three requests share one connection") {
    BENCH(b);
    for (int i = 0; i < 3; i++) {
      bench_get(&b, "/say/x");
      CHECK_STR(b.got.body, "x");
    }
    CHECK(http_server_counts(b.server).requests == 3);
    CHECK(http_server_counts(b.server).connections == 1);
    bench_close(&b);
  }
  TEST("thirty requests at once each get their own reply") {
    BENCH(b);
    struct task tasks[30];
    struct capture got[30];
    struct error e;
    for (int i = 0; i < 30; i++) {
      char url[128];
      snprintf(url, sizeof url, "http://%s/say/%d", b.place, i);
      task_init(&tasks[i], sys_real());
      CHECK(task_set(&tasks[i], &tasks[i].target, url, &e));
      capture_init(&got[i], b.transport);
      CHECK(b.transport->ops->send(b.transport, &got[i].exchange, &tasks[i], &e));
    }
    for (int i = 0; i < 30; i++) {
      capture_wait(&got[i], &b.loop);
      CHECK(got[i].replies == 1 && atoi(got[i].body) == i);
      capture_clear(&got[i]);
      task_clear(&tasks[i]);
    }
    bench_close(&b);
  }
  TEST("a proxy of the environment is never used for loopback") {
    setenv("http_proxy", "http://127.0.0.1:1", 1);
    BENCH(b);
    bench_get(&b, "/say/direct");
    CHECK_STR(b.got.body, "direct");
    bench_close(&b);
    unsetenv("http_proxy");
  }
}

static void test_bad_requests(void) {
  static const struct {
    const char *url, *message;
  } bad[] = {
      {"", "http task: no URL"},
      {"http://", "http://: not a URL for HTTP: No host part in the URL"},
      {"http://a b/", "http://a b/: not a URL for HTTP: Bad hostname"},
      {"http://x:99999/?key=secret", "http://x:99999/: not a URL for HTTP: Port number was not a "
                                     "decimal number between 0 and 65535"},
      {"ftp://127.0.0.1/x", "ftp://127.0.0.1/x: only http and https URLs are supported"},
      {"file:///etc/passwd", "file:///etc/passwd: only http and https URLs are supported"},
  };
  TEST("a bad URL is refused, and its query is not shown") {
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
      BENCH(b);
      struct error e;
      CHECK(task_set(&b.task, &b.task.target, bad[i].url, &e));
      bench_run(&b);
      CHECK(b.got.reply.status == REPLY_REFUSED);
      CHECK_STR(b.got.reply.message, bad[i].message);
      bench_close(&b);
    }
  }
  TEST("a header that smuggles in another is refused before anything is sent") {
    static const char *const bad_headers[] = {"X: a\r\nY: b", "X: a\nY: b", "no colon",
                                              ": empty",      "X Y: z",     "X: \x01"};
    for (size_t i = 0; i < sizeof bad_headers / sizeof *bad_headers; i++) {
      BENCH(b);
      add(&b.task.http.headers, bad_headers[i]);
      check_reply(&b, "/say/x", REPLY_REFUSED, "header 1 is not \"Name: value\" in one line");
      CHECK(http_server_counts(b.server).connections == 0);
      bench_close(&b);
    }
  }
  TEST("a method that is none is refused") {
    BENCH(b);
    bench_method(&b, "GET / HTTP/1.1\r\nX:");
    bench_get(&b, "/say/x");
    CHECK(b.got.reply.status == REPLY_REFUSED);
    CHECK(strstr(b.got.reply.message, "is not a method"));
    bench_close(&b);
  }
}

/* --- replies -------------------------------------------------------------------------- */

static void test_replies(void) {
  TEST("any status is a reply; its headers come in lower case") {
    BENCH(b);
    bench_get(&b, "/status/503");
    CHECK(b.got.reply.status == REPLY_OK && b.got.reply.code == 503);
    CHECK_STR(b.got.body, "{\"status\":503}");
    CHECK_STR(b.got.extra, "content-length: 14\ncontent-type: application/json\n");
    CHECK_STR(b.got.reply.message, "");
    bench_get(&b, "/status/204");
    CHECK(b.got.reply.status == REPLY_OK && b.got.reply.code == 204);
    bench_close(&b);
  }
  TEST("folded, padded and empty headers are told apart") {
    BENCH(b);
    bench_get(&b, "/fold");
    CHECK_STR(b.got.extra, "content-length: 2\nx-folded: one two\nx-colours: red:green:blue\n"
                           "x-empty: \n");
    bench_close(&b);
  }
  TEST("only the last of several heads counts") {
    BENCH(b);
    bench_get(&b, "/interim");
    CHECK(b.got.reply.code == 200);
    CHECK_STR(b.got.body, "final");
    CHECK_STR(b.got.extra, "content-length: 5\nx-last: b\n");
    bench_close(&b);
  }
  TEST("a chunked reply is put together, its trailer is not believed") {
    BENCH(b);
    bench_get(&b, "/chunked");
    CHECK_STR(b.got.body, "fourtwo");
    bench_get(&b, "/trailer");
    CHECK_STR(b.got.body, "four");
    CHECK_STR(b.got.extra, "transfer-encoding: chunked\n");
    CHECK(b.got.reply.retry_after_ms == -1);
    bench_close(&b);
  }
  TEST("a compressed reply is unpacked") {
    BENCH(b);
    bench_get(&b, "/gzip");
    CHECK_STR(b.got.body, "hello");
    bench_close(&b);
  }
  TEST("Retry-After is read in seconds, as a date, and clamped") {
    BENCH(b);
    bench_get(&b, "/status/429?retry-after=7");
    CHECK(b.got.reply.code == 429 && b.got.reply.retry_after_ms == 7000);
    bench_get(&b, "/status/503?date=Sun,%2006%20Nov%201994%2008:49:37%20GMT&"
                  "retry-after=Sun,%2006%20Nov%201994%2008:50:07%20GMT");
    CHECK(b.got.reply.retry_after_ms == 30000);
    bench_get(&b, "/status/503?retry-after=-5");
    CHECK(b.got.reply.retry_after_ms == 0);
    bench_get(&b, "/status/503?retry-after=99999999999999999999");
    CHECK(b.got.reply.retry_after_ms == 3600000);
    bench_get(&b, "/status/503?retry-after=soon");
    CHECK(b.got.reply.retry_after_ms == -1);
    bench_close(&b);
  }
}

/* --- redirects ------------------------------------------------------------------------ */

static void test_redirects(void) {
  TEST("a redirect is refused by default, and says where to") {
    BENCH(b);
    check_reply(&b, "/redirect?to=/echo", REPLY_REFUSED,
                "redirect 307 to /echo refused: redirects are not followed; use that URL if you "
                "trust it");
    CHECK(b.got.reply.code == 307);
    CHECK(http_server_counts(b.server).requests == 1);
    bench_close(&b);
  }
  TEST("within the same origin 307 and 308 repeat the request, headers and all") {
    BENCH(b);
    struct error e;
    b.task.http.max_redirects = 2;
    add(&b.task.http.headers, "Authorization: Bearer s3cret");
    CHECK(buffer_string(&b.task.body, "prompt", &e));
    bench_get(&b, "/redirect?to=/echo&code=308");
    CHECK_STR(b.got.body, "prompt");
    bench_get(&b, "/redirect?to=/head");
    CHECK(b.got.reply.status == REPLY_OK && strncmp(b.got.body, "POST /head", 10) == 0);
    CHECK(strstr(b.got.body, "Authorization: Bearer s3cret"));
    bench_close(&b);
  }
  TEST("303 becomes a GET without the body, 302 of a POST is refused") {
    BENCH(b);
    struct error e;
    b.task.http.max_redirects = 2;
    CHECK(buffer_string(&b.task.body, "prompt", &e));
    bench_get(&b, "/redirect?to=/head&code=303");
    CHECK(strncmp(b.got.body, "GET /head", 9) == 0 && !strstr(b.got.body, "Content-Length"));
    check_reply(&b, "/redirect?to=/head&code=302", REPLY_REFUSED,
                "redirect 302 to /head refused: would lose the request's body");
    bench_close(&b);
  }
  TEST("another origin gets nothing at all: no request, no credential, no prompt") {
    BENCH(b);
    struct http_server *other = http_server_start(NULL, NULL, 0);
    char path[256];
    b.task.http.max_redirects = 5;
    add(&b.task.http.headers, "Authorization: Bearer s3cret");
    snprintf(path, sizeof path, "/redirect?to=http://127.0.0.1:%d/echo", http_server_port(other));
    bench_get(&b, path);
    CHECK(b.got.reply.status == REPLY_REFUSED);
    CHECK(strstr(b.got.reply.message, "refused: to another origin, where nothing is sent"));
    snprintf(path, sizeof path, "/redirect?to=http://localhost:%d/echo",
             http_server_port(b.server));
    bench_get(&b, path);
    CHECK(b.got.reply.status == REPLY_REFUSED);
    bench_get(&b, "/redirect?to=file:///etc/passwd");
    CHECK(b.got.reply.status == REPLY_REFUSED);
    CHECK(http_server_counts(other).connections == 0);
    http_server_stop(other);
    bench_close(&b);
  }
  TEST("redirects in a circle end") {
    BENCH(b);
    b.task.http.max_redirects = 3;
    check_reply(&b, "/loop", REPLY_REFUSED, "redirect 307 to /loop refused: too many redirects");
    CHECK(http_server_counts(b.server).requests == 4);
    bench_close(&b);
  }
}

/* --- events --------------------------------------------------------------------------- */

static void test_events(void) {
  TEST("an event stream is handed on event by event, and kept as it came") {
    BENCH(b);
    bench_get(&b, "/sse?count=3");
    CHECK(b.got.reply.status == REPLY_OK);
    CHECK(b.got.chunks == 3);
    CHECK_STR(b.got.progress, "event 001|event 002|event 003");
    CHECK(strncmp(b.got.body, ": ping\n\ndata: event 001\n\n", 24) == 0);
    bench_close(&b);
  }
  TEST("events whose lines end by CRLF come, too, where pieces of texts are joined") {
    BENCH(b);
    add(&b.task.http.joins, "text");
    bench_get(&b, "/sse?count=3&cr=1");
    CHECK(b.got.reply.status == REPLY_OK);
    CHECK_STR(b.got.progress, "event 001|event 002|event 003");
    bench_close(&b);
  }
  TEST("events come while the stream goes on") {
    BENCH(b);
    bench_path(&b, "/sse?count=50&ms=20");
    bench_send(&b);
    for (int64_t end = now_ms() + PATIENCE_MS;
         b.got.chunks < 2 && !b.got.replies && now_ms() < end;)
      uv_run(&b.loop, UV_RUN_ONCE);
    CHECK(b.got.chunks >= 2 && b.got.replies == 0);
    b.transport->ops->cancel(b.transport, &b.got.exchange, false);
    CHECK(b.got.reply.status == REPLY_CANCELED);
    bench_close(&b);
  }
  TEST("a stream can be canceled from its own event") {
    BENCH(b);
    b.got.cancel_at = 2;
    bench_get(&b, "/sse?count=100&ms=1");
    CHECK(b.got.reply.status == REPLY_CANCELED);
    CHECK(b.got.chunks == 2);
    bench_close(&b);
  }
  TEST("a stream that ends inside an event is broken") {
    BENCH(b);
    check_reply(&b, "/sse-cut", REPLY_BROKEN, "the connection ended inside an event");
    CHECK_STR(b.got.progress, "whole");
    bench_close(&b);
  }
  TEST("other replies have no events") {
    BENCH(b);
    bench_get(&b, "/say/data:%20x%0A%0A");
    CHECK(b.got.chunks == 0);
    bench_close(&b);
  }
}

int main(void) {
  if (!load()) return 1;
  test_requests();
  test_bad_requests();
  test_replies();
  test_redirects();
  test_events();
  return check_finish();
}
