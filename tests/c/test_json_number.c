/* test_json_number.c: doubles to text and back, bit by bit. */
#include "support/check.h"

#include <locale.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"

static bool same(double a, double b) {
  return memcmp(&a, &b, sizeof a) == 0;
}

int main(void) {
  TEST("every double is written so that it reads back as the same bits, and shortest") {
    uint64_t seed = UINT64_C(88172645463325252);
    for (int i = 0; i < 40000; i++) {
      seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
      uint64_t bits = seed;
      if (i % 4 == 1) bits = (bits & UINT64_C(0x800FFFFFFFFFFFFF)) | (uint64_t)(i % 3) << 52;
      if (i % 4 == 2) bits &= UINT64_C(0xFFF8000000000000); /* few bits, powers of two */
      double value, back, other;
      memcpy(&value, &bits, sizeof value);
      if (i % 4 == 3) value = (double)(int64_t)(seed % 1000000000) / 1000;
      char text[JSON_DOUBLE_ROOM + 1], shorter[64];
      size_t length = json_write_double(value, text);
      if (!isfinite(value)) {
        CHECK(length == 0);
        continue;
      }
      text[length] = '\0';
      CHECK(length > 0 && length < JSON_DOUBLE_ROOM && strpbrk(text, ".e"));
      CHECK(same(strtod(text, NULL), value));
      CHECK(json_read_double(text, text + length, &back) && same(back, value));
      int digits = 0; /* significant ones */
      for (const char *at = text; *at && *at != 'e'; at++)
        digits += *at >= '0' && *at <= '9';
      if (digits == 17 && strchr(text, 'e')) {
        snprintf(shorter, sizeof shorter, "%.15e", value);
        CHECK(!same(strtod(shorter, NULL), value));
      }
      int size = snprintf(shorter, sizeof shorter, "%.*e", (int)(seed % 25), value);
      other = strtod(shorter, NULL);
      if (isfinite(other))
        CHECK(json_read_double(shorter, shorter + size, &back) && same(back, other));
    }
  }
  TEST("a number of a thousand digits is rounded by its last one") {
    char text[1200];
    double value = 0;
    memset(text, '0', sizeof text);
    memcpy(text, "9007199254740993.", 17); /* halfway between two doubles */
    CHECK(json_read_double(text, text + 1100, &value) && same(value, 9007199254740992.0));
    text[1099] = '1';
    CHECK(json_read_double(text, text + 1100, &value) && same(value, 9007199254740994.0));
  }
  TEST("numbers do not depend on the locale") {
    const char *comma[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "ru_RU.UTF-8"};
    for (int i = 0; i < 4 && !setlocale(LC_ALL, comma[i]); i++)
      ;
    double value;
    char text[JSON_DOUBLE_ROOM];
    static const char tie[] = "9007199254740993.0000";
    CHECK(json_read_double(tie, tie + 21, &value) && same(value, 9007199254740992.0));
    CHECK(json_write_double(1.5, text) == 3 && memcmp(text, "1.5", 3) == 0);
    setlocale(LC_ALL, "C");
  }
  return check_finish();
}
