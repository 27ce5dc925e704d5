/* test_sse_join.c: events that differ in one text are joined, and mean what they meant; all else
 * stays as it is. */
#include "support/check.h"

#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/sse.h"
#include "base/sse_join.h"

static char *const FIELDS[] = {"text", "partial_json"};

static const char *joined(const char *bytes) {
  static char copy[4096];
  snprintf(copy, sizeof copy, "%s", bytes);
  copy[sse_join(copy, strlen(copy), FIELDS, 2)] = '\0';
  return copy;
}

#define D(text) "event: d\ndata: {\"i\":0,\"text\":\"" text "\"}\n\n"

static void test_joins(void) {
  TEST("texts of events that are alike become one") {
    CHECK_STR(joined(D("a") D("b") D("c")), D("abc"));
    CHECK_STR(joined("data: {\"text\":\"a\"}\n\ndata: {\"text\":\"b\"}\n\n"),
              "data: {\"text\":\"ab\"}\n\n");
    CHECK_STR(joined("data: {\"partial_json\":\"{\"}\n\ndata: {\"partial_json\":\"}\"}\n\n"),
              "data: {\"partial_json\":\"{}\"}\n\n");
    CHECK_STR(joined(D("") D("a") D("")), D("a"));
  }
  TEST("escapes stay what they are, also halves of a character") {
    CHECK_STR(joined(D("\\\"") D("\\\\") D("x\\n")), D("\\\"\\\\x\\n"));
    CHECK_STR(joined(D("\\ud83d") D("\\ude00")), D("\\ud83d\\ude00"));
  }
  TEST("what differs in more is not joined") {
    static const char *const same[] = {
        D("a") "event: d\ndata: {\"i\":1,\"text\":\"b\"}\n\n",
        D("a") "event: e\ndata: {\"i\":0,\"text\":\"b\"}\n\n",
        D("a") "data: {\"i\":0,\"text\":\"b\"}\n\n",
        D("a") "event: d\ndata: {\"i\":0,\"text\":\"b\",\"n\":1}\n\n",
        "data: {\"n\":\"a\"}\n\ndata: {\"n\":\"b\"}\n\n",
        "data: {\"say\":\"\\\"text\\\":\\\"a\"}\n\ndata: {\"say\":\"\\\"text\\\":\\\"b\"}\n\n",
        "id: 1\n" D("a") "id: 1\n" D("b"),
        "data: {\"text\":\"a\"}\ndata: 1\n\ndata: {\"text\":\"b\"}\ndata: 1\n\n",
        "data: {\"text\":\"a\"}\rdata: 1\n\ndata: {\"text\":\"b\"}\rdata: 1\n\n",
        "data: {\"text\":\"a\"}\r\n\r\ndata: {\"text\":\"b\"}\r\n\r\n",
        "data: {\"text\":\"a\tb\"}\n\ndata: {\"text\":\"c\"}\n\n",
        "\n\n\n: a comment\n\ndata\n\ndata:\n\n",
        "event: d\n\n",
        "",
    };
    for (size_t i = 0; i < sizeof same / sizeof *same; i++)
      CHECK_STR(joined(same[i]), same[i]);
  }
  TEST("an event between ends what is joined") {
    CHECK_STR(joined(D("a") D("b") "data: ping\n\n" D("c") D("d")),
              D("ab") "data: ping\n\n" D("cd"));
  }
  TEST("what the bytes end in the middle of stays") {
    CHECK_STR(joined(D("a") D("b") "event: d\ndata: {\"i\":0,\"te"),
              D("ab") "event: d\ndata: {\"i\":0,\"te");
    CHECK_STR(joined(D("a") "event: d\ndata: {\"i\":0,\"text\":\"b\"}\n"),
              D("a") "event: d\ndata: {\"i\":0,\"text\":\"b\"}\n");
    CHECK(sse_whole("a\n\nb", 4) == 3 && sse_whole("a\n\n\n\nb", 6) == 5 &&
          sse_whole("a\nb\n", 4) == 0);
    CHECK(sse_whole("", 0) == 0 && sse_whole("\n", 1) == 0 && sse_whole("\n\n", 2) == 2);
  }
  TEST("a long tail is left alone") {
    char one[700], two[1400];
    snprintf(one, sizeof one, "data: {\"text\":\"a\",\"long\":\"%0*d\"}\n\n", 400, 0);
    snprintf(two, sizeof two, "%s%s", one, one);
    CHECK_STR(joined(two), two);
  }
}

/* What a stream says to who puts pieces together: what stands around a text, and the texts of those
 * alike. */
struct told {
  struct buffer log;
  char around[600];
};

static bool tell(void *data, const struct sse_event *event) {
  static const char name[] = "\"text\":\"";
  struct told *told = data;
  const char *found = memmem(event->data.data, event->data.length, name, sizeof name - 1);
  char around[600];
  size_t front = event->data.length, stop = front;
  if (found) {
    front = (size_t)(found - event->data.data) + sizeof name - 1;
    for (stop = front; stop < event->data.length && event->data.data[stop] != '"'; stop++)
      stop += event->data.data[stop] == '\\';
  }
  if (stop > event->data.length) stop = event->data.length;
  snprintf(around, sizeof around, "%.*s|%.*s%.*s", (int)event->event.length, event->event.data,
           (int)front, event->data.data, (int)(event->data.length - stop), event->data.data + stop);
  if (!found || strcmp(around, told->around) != 0) buffer_format(&told->log, NULL, "\n%s:", around);
  snprintf(told->around, sizeof told->around, "%s", found ? around : "");
  return buffer_append(&told->log, event->data.data + front, stop - front, NULL);
}

static void hear(const char *bytes, size_t size, struct told *told) {
  struct sse parser;
  struct error e;
  *told = (struct told){0};
  buffer_init(&told->log, sys_real(), 1 << 20);
  buffer_string(&told->log, "", NULL);
  sse_init(&parser, sys_real(), 4096, 4096);
  CHECK(sse_feed(&parser, bytes, size, tell, told, &e));
  buffer_format(&told->log, NULL, "\n%d", sse_unfinished(&parser));
  sse_clear(&parser);
}

static void test_random(void) {
  TEST("streams of all kinds mean what they meant, joined at any place") {
    static const char *const parts[] = {D("a"),
                                        D("b\\\""),
                                        D(""),
                                        "data: ping\n\n",
                                        "data: {\"text\":\"x\"}\n\n",
                                        "data: {\"text\":\"y\"}\n\n",
                                        "\n",
                                        "\r\n",
                                        ": c\n",
                                        "id: 4\n",
                                        "event: d\n",
                                        "data: {\"i\":0,\"text\":\"q\"}\n",
                                        "{\"text\":\"",
                                        "\"",
                                        "\\"};
    unsigned seed = 7;
    for (int round = 0; round < 20000; round++) {
      char bytes[1024] = "", copy[1024];
      size_t size = 0;
      for (int i = 0; i < 14; i++) {
        seed = seed * 1103515245u + 12345u;
        const char *part = parts[(seed >> 16) % (sizeof parts / sizeof *parts)];
        if (size + strlen(part) >= sizeof bytes) break;
        memcpy(bytes + size, part, strlen(part));
        size += strlen(part);
      }
      size_t cut =
          size ? (seed >> 8) % size : 0; /* as bytes come: what is whole before, then the rest */
      memcpy(copy, bytes, size);
      size_t whole = sse_whole(copy, cut), kept = sse_join(copy, whole, FIELDS, 2);
      memmove(copy + kept, copy + whole, size - whole);
      size_t length = kept + sse_join(copy + kept, size - whole, FIELDS, 2);
      struct told first, second;
      hear(bytes, size, &first);
      hear(copy, length, &second);
      CHECK_STR(second.log.data, first.log.data);
      buffer_clear(&first.log);
      buffer_clear(&second.log);
    }
  }
}

int main(void) {
  test_joins();
  test_random();
  return check_finish();
}
