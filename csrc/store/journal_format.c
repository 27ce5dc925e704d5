/* journal_format.c: lines of the journal to bytes and back, strictly.
 * Must not touch files or decide what a bad line means. Called by journal, journal_read and
 * journal_scan. */
#include "store/journal_format.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/crc32c.h"

/* Where the fields of a head begin; a space stands before each but the first. */
enum {
  AT_CRC = 3,
  AT_COVERED = 11,
  AT_SEQ = 12,
  AT_BATCH = 29,
  AT_MARK = 38,
  AT_PREV = 40,
  AT_LEN = 49
};

static const char own_begin[] = "{\"t\":\"journal\"";
static const char own_format[] = "{\"t\":\"journal\",\"format\":";
static const char own_closed[] = "{\"t\":\"journal\",\"closed\":true}";

static void hex_write(char *to, uint64_t value, int digits) {
  while (digits-- > 0) {
    to[digits] = "0123456789abcdef"[value & 15];
    value >>= 4;
  }
}

/* A digit's value and 16, so that 0 means: no digit. Upper case would make two spellings of
 * one line. A table, because the digits of checksums are random and branches guess them. */
#define DIGIT(c, value) [c] = 16 | (value)
static const unsigned char hex_digits[256] = {
    DIGIT('0', 0),  DIGIT('1', 1),  DIGIT('2', 2),  DIGIT('3', 3), DIGIT('4', 4),  DIGIT('5', 5),
    DIGIT('6', 6),  DIGIT('7', 7),  DIGIT('8', 8),  DIGIT('9', 9), DIGIT('a', 10), DIGIT('b', 11),
    DIGIT('c', 12), DIGIT('d', 13), DIGIT('e', 14), DIGIT('f', 15)};

static bool hex_read(const char *from, int digits, uint64_t *value) {
  uint64_t sum = 0;
  unsigned all = 16;
  for (int i = 0; i < digits; i++) {
    unsigned digit = hex_digits[(unsigned char)from[i]];
    all &= digit;
    sum = sum << 4 | (digit & 15);
  }
  *value = sum;
  return all != 0;
}

static bool hex_read32(const char *from, uint32_t *value) {
  uint64_t wide;
  if (!hex_read(from, 8, &wide)) return false;
  *value = (uint32_t)wide;
  return true;
}

size_t journal_line_write(char *to, struct journal_line *line) {
  size_t length = line->payload.length;
  assert(length <= JOURNAL_PAYLOAD_MAX);
  memset(to, ' ', JOURNAL_HEAD);
  memcpy(to, "J1", 2);
  hex_write(to + AT_SEQ, line->seq, 16);
  hex_write(to + AT_BATCH, line->batch, 8);
  to[AT_MARK] = (char)line->mark;
  hex_write(to + AT_PREV, line->previous, 8);
  hex_write(to + AT_LEN, length, 8);
  if (length) memcpy(to + JOURNAL_HEAD, line->payload.data, length);
  to[JOURNAL_HEAD + length] = '\n';
  line->crc = crc32c(0, to + AT_COVERED, JOURNAL_FRAME - AT_COVERED + length);
  hex_write(to + AT_CRC, line->crc, 8);
  return JOURNAL_FRAME + length;
}

static bool head_read(const char *from, struct journal_line *line, uint32_t *length) {
  static const char spaces[] = {2, 11, 28, 37, 39, 48, 57};
  if (from[0] != 'J' || from[1] != '1') return false;
  for (size_t i = 0; i < sizeof spaces; i++)
    if (from[(int)spaces[i]] != ' ') return false;
  if (from[AT_MARK] < JOURNAL_MORE || from[AT_MARK] > JOURNAL_FRONT) return false;
  line->mark = (enum journal_mark)from[AT_MARK];
  return hex_read32(from + AT_CRC, &line->crc) && hex_read(from + AT_SEQ, 16, &line->seq) &&
         hex_read32(from + AT_BATCH, &line->batch) && hex_read32(from + AT_PREV, &line->previous) &&
         hex_read32(from + AT_LEN, length) && *length <= JOURNAL_PAYLOAD_MAX;
}

enum journal_shape journal_line_read(const char *from, size_t size, struct journal_line *line,
                                     size_t *needed) {
  uint32_t length;
  *needed = JOURNAL_FRAME;
  if (size < JOURNAL_FRAME) return size > 0 && from[0] != 'J' ? JOURNAL_BROKEN : JOURNAL_PARTIAL;
  if (!head_read(from, line, &length)) return JOURNAL_BROKEN;
  *needed = (size_t)JOURNAL_FRAME + length;
  if (size < *needed) return JOURNAL_PARTIAL;
  if (from[*needed - 1] != '\n') return JOURNAL_BROKEN;
  if (crc32c(0, from + AT_COVERED, *needed - AT_COVERED) != line->crc) return JOURNAL_BROKEN;
  line->payload = (struct span){.data = from + JOURNAL_HEAD, .length = length};
  return JOURNAL_WHOLE;
}

bool journal_run_id_valid(const char *id) {
  static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
  size_t length = id ? strlen(id) : 0;
  return length >= 1 && length <= JOURNAL_RUN_ID && strspn(id, allowed) == length;
}

bool journal_own(struct span payload) {
  size_t length = sizeof own_begin - 1;
  return payload.length >= length && memcmp(payload.data, own_begin, length) == 0;
}

bool journal_closed(struct span payload) {
  size_t length = sizeof own_closed - 1;
  return payload.length == length && memcmp(payload.data, own_closed, length) == 0;
}

struct span journal_closed_payload(void) {
  return (struct span){.data = own_closed, .length = sizeof own_closed - 1};
}

size_t journal_segment_payload(char *to, const char *run_id, uint32_t segment, uint32_t previous) {
  int length = snprintf(to, JOURNAL_OWN_MAX,
                        "%s,\"format\":%d,\"run\":\"%s\",\"segment\":%" PRIu32
                        ",\"prev\":\"%08" PRIx32 "\"}",
                        own_begin, JOURNAL_FORMAT, run_id, segment, previous);
  assert(length > 0 && length < JOURNAL_OWN_MAX);
  return (size_t)length;
}

/* The text between `before` and the next quote or comma, where the payload goes on so. */
static bool field_read(struct span *rest, const char *before, char end, char *to, size_t room) {
  size_t length = strlen(before);
  if (rest->length < length || memcmp(rest->data, before, length) != 0) return false;
  const char *from = rest->data + length;
  const char *stop = memchr(from, end, rest->length - length);
  if (!stop || (size_t)(stop - from) >= room) return false;
  memcpy(to, from, (size_t)(stop - from));
  to[stop - from] = '\0';
  *rest = (struct span){.data = stop, .length = rest->length - (size_t)(stop - rest->data)};
  return true;
}

enum journal_header journal_segment_check(struct span payload, char *run_id, uint32_t segment,
                                          uint32_t previous) {
  char format[16], run[JOURNAL_RUN_ID + 1], own[JOURNAL_OWN_MAX];
  struct span rest = payload;
  if (!field_read(&rest, own_format, ',', format, sizeof format) ||
      strspn(format, "0123456789") != strlen(format) || format[0] < '1')
    return JOURNAL_HEADER_BAD;
  if (strcmp(format, "1") != 0) return JOURNAL_HEADER_NEWER;
  if (!field_read(&rest, ",\"run\":\"", '"', run, sizeof run) || !journal_run_id_valid(run))
    return JOURNAL_HEADER_BAD;
  if (!run_id[0]) memcpy(run_id, run, sizeof run);
  /* What is expected is known to the byte: written again, it must be the same. */
  size_t length = journal_segment_payload(own, run_id, segment, previous);
  bool same = payload.length == length && memcmp(payload.data, own, length) == 0;
  return same ? JOURNAL_HEADER_GOOD : JOURNAL_HEADER_BAD;
}

struct span journal_segment_format(struct span payload) {
  size_t before = sizeof own_format - 1;
  const char *from = payload.data + before, *stop = memchr(from, ',', payload.length - before);
  return (struct span){.data = from, .length = (size_t)(stop - from)};
}
