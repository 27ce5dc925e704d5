/* test_sse.c: Server-Sent Events, every stream fed whole, byte by byte and cut in two anywhere. */
#include "support/check.h"
#include "support/fake_sys.h"

#include <stdlib.h>
#include <string.h>

#include "base/sse.h"

/* Events as text: "event|data|id|retry;" with LF shown as '/'. */
struct heard {
  char text[512];
  size_t length;
  int left; /* events still wanted */
};

static void heard_put(struct heard *h, const char *text, size_t length) {
  for (size_t i = 0; i < length && h->length + 1 < sizeof h->text; i++)
    h->text[h->length++] = text[i] == '\n' ? '/' : text[i] == '\0' ? '0' : text[i];
  h->text[h->length] = '\0';
}

static bool heard_each(void *data, const struct sse_event *event) {
  struct heard *h = data;
  char retry[32];
  int length = snprintf(retry, sizeof retry, "|%lld;", (long long)event->retry_ms);
  heard_put(h, event->event.data, event->event.length);
  heard_put(h, "|", 1);
  heard_put(h, event->data.data, event->data.length);
  heard_put(h, "|", 1);
  heard_put(h, event->id.data, event->id.length);
  heard_put(h, retry, (size_t)length);
  CHECK(event->data.data[event->data.length] == '\0');
  return --h->left > 0;
}

struct stream {
  const char *name, *bytes;
  size_t length; /* 0: strlen */
  const char *want;
  bool unfinished;
};

static const struct stream streams[] = {
    {"an event of one line", "data: hi\n\n", 0, "message|hi||-1;", false},
    {"lines of data are joined by LF", "data: a\ndata: b\ndata:\n\n", 0, "message|a/b/||-1;",
     false},
    {"only one space behind the colon is dropped", "data:  a\ndata:b\n\n", 0, "message| a/b||-1;",
     false},
    {"a field without a colon has no value", "data\n\ndata\ndata\n\n", 0,
     "message|||-1;message|/||-1;", false},
    {"event names hold for one event", "event: add\ndata: 1\n\ndata: 2\n\n", 0,
     "add|1||-1;message|2||-1;", false},
    {"an event without data is not told, and its name is forgotten", "event: add\n\ndata: 2\n\n", 0,
     "message|2||-1;", false},
    {"ids stay until replaced, also by nothing", "id: 1\ndata: a\n\ndata: b\n\nid\ndata: c\n\n", 0,
     "message|a|1|-1;message|b|1|-1;message|c||-1;", false},
    {"an id seen without data counts for the next event", "id: 7\n\ndata: a\n\n", 0,
     "message|a|7|-1;", false},
    {"an id with a NUL is ignored", "id: 1\ndata: a\n\nid: 2\0\ndata: b\n\n", 31,
     "message|a|1|-1;message|b|1|-1;", false},
    {"retry takes digits only", "retry: 250\ndata: a\n\nretry: 3s\nretry:\nretry: -1\ndata: b\n\n",
     0, "message|a||250;message|b||250;", false},
    {"a retry beyond all numbers stays a number", "retry: 99999999999999999999999999\ndata: a\n\n",
     0, "message|a||99999999999999999;", false},
    {"comments and unknown fields are skipped", ": hello\n:\nfoo: bar\ndata: a\nDATA: b\n\n", 0,
     "message|a||-1;", false},
    {"CR, LF and CRLF all end lines", "data: a\r\rdata: b\r\n\r\ndata: c\n\r", 0,
     "message|a||-1;message|b||-1;message|c||-1;", false},
    {"two data lines of one event under CRLF are one event",
     "event: x\r\ndata: a\r\ndata: b\r\n\r\ndata: c\r\n\r\n", 0, "x|a/b||-1;message|c||-1;", false},
    {"CR LF LF is two ends", "data: a\r\n\ndata: b\r\n\r", 0, "message|a||-1;message|b||-1;",
     false},
    {"a byte order mark is dropped at the beginning only",
     "\xEF\xBB\xBF"
     "data: a\n\n\xEF\xBB\xBF"
     "data: b\n\n",
     0, "message|a||-1;", false},
    {"half a byte order mark is none",
     "\xEF\xBB"
     "data: a\n\ndata: b\n\n",
     0, "message|b||-1;", false},
    {"colons in the value stay", "data: {\"a\":1}\ndata::x\n\n", 0, "message|{\"a\":1}/:x||-1;",
     false},
    {"a cut event is not told", "data: a\n\ndata: b\n", 0, "message|a||-1;", true},
    {"a cut line is not told", "data: a\n\ndat", 0, "message|a||-1;", true},
    {"NUL bytes are data", "data: a\0b\n\n", 11, "message|a0b||-1;", false},
    {"an empty stream has no events", "\n\r\n\r", 0, "", false},
};

static void feed_cut(const struct stream *st, size_t first, size_t step) {
  size_t length = st->length ? st->length : strlen(st->bytes);
  struct sse s;
  struct error e;
  struct heard h = {.left = 100};
  sse_init(&s, sys_real(), 100, 100);
  for (size_t at = 0; at < length;) {
    size_t part = at == 0 && first ? first : step;
    if (part > length - at) part = length - at;
    char *exact = malloc(part); /* so that ASan sees a read beyond the chunk */
    if (!exact) return;
    memcpy(exact, st->bytes + at, part);
    CHECK(sse_feed(&s, exact, part, heard_each, &h, &e));
    CHECK(sse_feed(&s, NULL, 0, heard_each, &h, &e));
    free(exact);
    at += part;
  }
  CHECK_STR(h.text, st->want);
  CHECK(sse_unfinished(&s) == st->unfinished);
  sse_clear(&s);
}

static void test_limits(void) {
  struct sse s;
  struct error e;
  TEST("a line at its limit passes, one byte more is refused, whole or in pieces") {
    for (size_t step = 1; step < 16; step++)
      for (int more = 0; more < 2; more++) {
        struct heard h = {.left = 9};
        const char *text = more ? "data: 56789x\n\n" : "data: 56789\n\n";
        bool good = true;
        sse_init(&s, sys_real(), 11, 100);
        for (size_t at = 0, end = strlen(text); good && at < end; at += step)
          good = sse_feed(&s, text + at, end - at < step ? end - at : step, heard_each, &h, &e);
        CHECK(good == !more);
        if (more) {
          CHECK(e.code == ERROR_LIMIT);
          CHECK_STR(e.text, "event stream: a line of more than 11 bytes");
        } else {
          CHECK_STR(h.text, "message|56789||-1;");
        }
        sse_clear(&s);
      }
  }
  TEST("an event's data at its limit passes, one byte more is refused") {
    struct heard h = {.left = 9};
    sse_init(&s, sys_real(), 100, 5);
    CHECK(sse_feed(&s, "data: ab\ndata: cd\n\n", 19, heard_each, &h, &e));
    CHECK_STR(h.text, "message|ab/cd||-1;");
    CHECK(!sse_feed(&s, "data: ab\ndata: cde\n\n", 20, heard_each, &h, &e));
    CHECK(e.code == ERROR_LIMIT);
    CHECK_STR(e.text, "event stream: an event of more than 5 bytes");
    sse_clear(&s);
  }
  TEST("a listener that has enough hears no more") {
    struct heard h = {.left = 2};
    sse_init(&s, sys_real(), 100, 100);
    CHECK(sse_feed(&s, "data: 1\n\ndata: 2\n\ndata: 3\n\n", 27, heard_each, &h, &e));
    CHECK(sse_feed(&s, "data: 4\n\n", 9, heard_each, &h, &e));
    CHECK_STR(h.text, "message|1||-1;message|2||-1;");
    CHECK(!sse_unfinished(&s));
    sse_clear(&s);
  }
}

static void test_memory(void) {
  TEST("without memory a stream is lost with a message and without a leak") {
    static const char text[] =
        "\xEF\xBB: the beginning of a byte order mark\nid: 1\nevent: e\ndata: 0123456789 "
        "0123456789 0123456789 0123456789 0123456789 0123456789"
        " 0123456789\n\n";
    bool good = false;
    for (long n = 0; n < 30 && !good; n++) {
      struct fake_sys poor; /* so many allocations, then none */
      fake_sys_init(&poor);
      poor.fail_at = (size_t)n + 1;
      poor.fail_count = SIZE_MAX;
      struct heard h = {.left = 9};
      struct sse s;
      struct error e;
      sse_init(&s, &poor.sys, 1000, 1000);
      good = true;
      for (size_t at = 0; good && at < sizeof text - 1; at++)
        good = sse_feed(&s, text + at, 1, heard_each, &h, &e);
      CHECK(good || (e.code == ERROR_MEMORY && s.failed));
      CHECK(good == (h.length > 0));
      sse_clear(&s);
      CHECK(poor.live == 0);
    }
    CHECK(good);
  }
}

int main(void) {
  for (size_t i = 0; i < sizeof streams / sizeof *streams; i++) {
    TEST(streams[i].name) {
      feed_cut(&streams[i], 0, 1000);
      for (size_t step = 1; step < 5; step++)
        feed_cut(&streams[i], 0, step);
      for (size_t first = 1; first < 60; first++)
        feed_cut(&streams[i], first, 1000);
    }
  }
  test_limits();
  test_memory();
  return check_finish();
}
