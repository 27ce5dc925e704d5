/* test_unpack.c: packed bytes come back, and damaged ones are refused within their bounds. */
#include <string.h>

#include "base/unpack.h"
#include "support/check.h"

/* 3 literals "abc", then 9 bytes from 3 back: "abcabcabcabc"; the rest "!" */
static const char packed[] = "\x35"
                             "abc"
                             "\x03\x00"
                             "\x10"
                             "!";
enum { PACKED = 8, WHOLE = 13 };

int main(void) {
  TEST("packed bytes come back as they were, a repeat of itself too") {
    char out[WHOLE];
    CHECK(unpack_bytes(packed, PACKED, out, sizeof out));
    CHECK(memcmp(out, "abcabcabcabc!", WHOLE) == 0);
    CHECK(unpack_bytes("", 0, out, 0));
  }

  TEST("bytes that end early, or give another length, are refused") {
    char out[WHOLE + 1];
    for (size_t size = 0; size < PACKED; size++)
      CHECK(!unpack_bytes(packed, size, out, WHOLE));
    for (size_t size = 0; size <= WHOLE + 1; size++)
      CHECK(unpack_bytes(packed, PACKED, out, size) == (size == WHOLE));
  }

  TEST("a repeat that begins before the first byte, or here, is refused") {
    char out[WHOLE];
    CHECK(!unpack_bytes("\x35"
                        "abc"
                        "\x04\x00"
                        "\x10"
                        "!",
                        PACKED, out, WHOLE));
    CHECK(!unpack_bytes("\x35"
                        "abc"
                        "\x00\x00"
                        "\x10"
                        "!",
                        PACKED, out, WHOLE));
  }

  TEST("no damaged byte makes it write beyond its bounds") {
    char damaged[PACKED], out[WHOLE];
    for (size_t at = 0; at < PACKED; at++) {
      for (int byte = 0; byte < 256; byte++) {
        memcpy(damaged, packed, PACKED);
        damaged[at] = (char)byte;
        unpack_bytes(damaged, PACKED, out, sizeof out); /* ASan and valgrind watch */
      }
    }
    CHECK(true);
  }
  return check_finish();
}
