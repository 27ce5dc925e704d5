/* test_journal_format.c: lines of the journal to bytes and back: every number, and every byte
 * that could stand in a head. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/crc32c.h"
#include "store/journal_format.h"
#include "support/check.h"

enum { AT_CRC = 3, AT_COVERED = 11, AT_MARK = 38, AT_LEN = 49, PAYLOAD = 18 };

static const char payload[] = "{\"t\":\"note\",\"n\":1}";

static uint64_t mixed(uint64_t *state) { /* splitmix64 */
  uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
  return z ^ z >> 31;
}

static size_t sample(char *to, uint64_t seq, uint32_t batch, uint32_t previous) {
  struct journal_line line = {.seq = seq,
                              .batch = batch,
                              .mark = JOURNAL_LAST,
                              .previous = previous,
                              .payload = {payload, PAYLOAD}};
  return journal_line_write(to, &line);
}

/* The line with a checksum that fits its bytes, so that only their shape can be wrong. */
static void seal(char *line, size_t size) {
  char text[9];
  snprintf(text, sizeof text, "%08" PRIx32, crc32c(0, line + AT_COVERED, size - AT_COVERED));
  memcpy(line + AT_CRC, text, 8);
}

static bool is_hex(int byte) {
  return (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'f');
}

static bool may_stand(int at, int byte) {
  static const char fixed[] = "J1 xxxxxxxx xxxxxxxxxxxxxxxx xxxxxxxx m xxxxxxxx xxxxxxxx ";
  if (fixed[at] == 'm') return byte >= '0' && byte <= '1';
  return fixed[at] == 'x' ? is_hex(byte) : byte == fixed[at];
}

static void test_numbers(void) {
  char bytes[256];
  uint64_t state = 20261122;
  TEST("numbers of any size are written as printf writes them, and read back") {
    for (int round = 0; round < 20000; round++) {
      uint64_t seq = mixed(&state) >> mixed(&state) % 64;
      uint32_t batch = (uint32_t)(mixed(&state) >> (32 + mixed(&state) % 32));
      uint32_t previous = (uint32_t)mixed(&state);
      size_t size = sample(bytes, seq, batch, previous), needed;
      char head[JOURNAL_HEAD + 1];
      snprintf(head, sizeof head, " %016" PRIx64 " %08" PRIx32 " 1 %08" PRIx32 " %08x ", seq, batch,
               previous, PAYLOAD);
      CHECK(memcmp(bytes + AT_COVERED, head, JOURNAL_HEAD - AT_COVERED) == 0);
      struct journal_line line;
      CHECK(journal_line_read(bytes, size, &line, &needed) == JOURNAL_WHOLE && needed == size);
      CHECK(line.seq == seq && line.batch == batch && line.previous == previous);
      CHECK(line.crc == strtoul(bytes + AT_CRC, NULL, 16));
      CHECK(line.payload.length == PAYLOAD && memcmp(line.payload.data, payload, PAYLOAD) == 0);
    }
  }
}

static void test_bytes(void) {
  char good[256], bytes[256];
  size_t size = sample(good, UINT64_C(0x0123456789abcdef), 0x9abcdef0, 0x13579bdf), needed;
  int refused = 0, taken = 0;
  TEST("each byte of a head is one of those that may stand there, also where the checksum fits") {
    for (int at = 0; at < JOURNAL_HEAD; at++)
      for (int byte = 0; byte < 256; byte++) {
        struct journal_line line;
        bool length = at >= AT_LEN && at < AT_LEN + 8; /* another one makes it another line */
        memcpy(bytes, good, size);
        bytes[at] = (char)byte;
        if (at < AT_CRC || at >= AT_COVERED) seal(bytes, size);
        bool same = memcmp(bytes, good, size) == 0;
        bool expected = same || (may_stand(at, byte) && at >= AT_COVERED && !length);
        enum journal_shape shape = journal_line_read(bytes, size, &line, &needed);
        CHECK(expected ? shape == JOURNAL_WHOLE : shape != JOURNAL_WHOLE);
        if (!may_stand(at, byte)) CHECK(shape == JOURNAL_BROKEN);
        *(expected ? &taken : &refused) += 1;
      }
    CHECK(taken > 500 && refused > 10000);
  }
}

int main(void) {
  test_numbers();
  test_bytes();
  return check_finish();
}
