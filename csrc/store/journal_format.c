/* journal_format.c: writes and strictly parses lines of the journal.
 * Must not touch files or decide what a bad line means. Called by journal, journal_read and
 * journal_scan. */
#include "store/journal_format.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/crc32c.h"

/* Where the fields of a head begin; a space precedes each but the first. */
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
static const char own_closed[] = "{\"t\":\"journal\",\"closed\":true";

/* Converts eight digits at once, each in a byte of a word, because a step writes 80 digits and a
 * resume reads 48 of every record. */
enum { HEX_DIGITS = 8 };

#define EACH_BYTE(value) (UINT64_C(0x0101010101010101) * (value))

/* The first digit in the lowest byte of memory, whatever the machine's order is. */
static uint64_t first_byte_first(uint64_t word) {
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
  return __builtin_bswap64(word);
#else
  return word;
#endif
}

/* 0..15 in each byte to '0'..'9' and 'a'..'f'. */
static uint64_t hex_letters(uint64_t values) {
  uint64_t above_nine = (values + EACH_BYTE(6)) >> 4 & EACH_BYTE(1);
  return values + EACH_BYTE('0') + above_nine * ('a' - '0' - 10);
}

static void hex_write32(char *to, uint32_t value) {
  uint64_t wide = value;
  wide = (wide | wide << 16) & UINT64_C(0x0000ffff0000ffff);
  wide = (wide | wide << 8) & UINT64_C(0x00ff00ff00ff00ff);
  wide = (wide | wide << 4) & EACH_BYTE(15);
  wide = first_byte_first(hex_letters(wide));
  memcpy(to, &wide, HEX_DIGITS);
}

static void hex_write64(char *to, uint64_t value) {
  hex_write32(to, (uint32_t)(value >> 32));
  hex_write32(to + HEX_DIGITS, (uint32_t)value);
}

/* Refuses upper case: a line must have one spelling only. */
static bool hex_read32(const char *from, uint32_t *value) {
  uint64_t text;
  memcpy(&text, from, HEX_DIGITS);
  text = first_byte_first(text);
  uint64_t wide = (text & EACH_BYTE(15)) + (text >> 6 & EACH_BYTE(1)) * 9; /* letters have bit 6 */
  if ((wide & EACH_BYTE(0xf0)) != 0 || hex_letters(wide) != text) return false;
  wide = (wide | wide >> 4) & UINT64_C(0x00ff00ff00ff00ff);
  wide = (wide | wide >> 8) & UINT64_C(0x0000ffff0000ffff);
  *value = (uint32_t)(wide | wide >> 16);
  return true;
}

static bool hex_read64(const char *from, uint64_t *value) {
  uint32_t high, low;
  if (!hex_read32(from, &high) || !hex_read32(from + HEX_DIGITS, &low)) return false;
  *value = (uint64_t)high << 32 | low;
  return true;
}

size_t journal_line_write(char *to, struct journal_line *line) {
  size_t length = line->payload.length;
  assert(length <= JOURNAL_PAYLOAD_MAX);
  memset(to, ' ', JOURNAL_HEAD);
  memcpy(to, "J1", 2);
  hex_write64(to + AT_SEQ, line->seq);
  hex_write32(to + AT_BATCH, line->batch);
  to[AT_MARK] = (char)line->mark;
  hex_write32(to + AT_PREV, line->previous);
  hex_write32(to + AT_LEN, (uint32_t)length);
  if (length) memcpy(to + JOURNAL_HEAD, line->payload.data, length);
  to[JOURNAL_HEAD + length] = '\n';
  line->crc = crc32c(0, to + AT_COVERED, JOURNAL_FRAME - AT_COVERED + length);
  hex_write32(to + AT_CRC, line->crc);
  return JOURNAL_FRAME + length;
}

static bool head_read(const char *from, struct journal_line *line, uint32_t *length) {
  static const char spaces[] = {2, 11, 28, 37, 39, 48, 57};
  if (from[0] != 'J' || from[1] != '1') return false;
  for (size_t i = 0; i < sizeof spaces; i++)
    if (from[(int)spaces[i]] != ' ') return false;
  if (from[AT_MARK] < JOURNAL_MORE || from[AT_MARK] > JOURNAL_LAST) return false;
  line->mark = (enum journal_mark)from[AT_MARK];
  return hex_read32(from + AT_CRC, &line->crc) && hex_read64(from + AT_SEQ, &line->seq) &&
         hex_read32(from + AT_BATCH, &line->batch) && hex_read32(from + AT_PREV, &line->previous) &&
         hex_read32(from + AT_LEN, length) && *length <= JOURNAL_PAYLOAD_MAX;
}

bool journal_head_read(const char *from, struct journal_line *line, size_t *size) {
  uint32_t length = 0;
  bool good = head_read(from, line, &length);
  line->payload = (struct span){.data = NULL, .length = length};
  *size = (size_t)JOURNAL_FRAME + length;
  return good;
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

size_t journal_segment_payload(char *to, const char *run_id, uint32_t segment, uint32_t previous,
                               uint64_t taking) {
  char by[40] = "";
  if (taking) snprintf(by, sizeof by, ",\"taking\":\"%016" PRIx64 "\"", taking);
  int length = snprintf(to, JOURNAL_OWN_MAX,
                        "%s,\"format\":%d,\"run\":\"%s\",\"segment\":%" PRIu32
                        ",\"prev\":\"%08" PRIx32 "\"%s}",
                        own_begin, JOURNAL_FORMAT, run_id, segment, previous, by);
  assert(length > 0 && length < JOURNAL_OWN_MAX);
  return (size_t)length;
}

/* The text after `before` up to the next `end` ('\0': up to the last character), if the payload
 * continues with `before`. */
static bool field_read(struct span *rest, const char *before, char end, char *to, size_t room) {
  size_t length = strlen(before);
  if (rest->length < length || memcmp(rest->data, before, length) != 0) return false;
  const char *from = rest->data + length;
  size_t left = rest->length - length;
  const char *stop = end ? memchr(from, end, left) : left > 0 ? from + left - 1 : NULL;
  if (!stop || (size_t)(stop - from) >= room) return false;
  memcpy(to, from, (size_t)(stop - from));
  to[stop - from] = '\0';
  *rest = (struct span){.data = stop, .length = rest->length - (size_t)(stop - rest->data)};
  return true;
}

static bool status_valid(const char *status) {
  return status[0] && status[strspn(status, "abcdefghijklmnopqrstuvwxyz")] == '\0';
}

size_t journal_closed_payload(char *to, const struct header *header) {
  const char *more = status_valid(header->status) ? ",\"status\":\"" : "}";
  int length = snprintf(to, JOURNAL_OWN_MAX, "%s%s", own_closed, more);
  if (more[0] == ',')
    length += snprintf(to + length, JOURNAL_OWN_MAX - (size_t)length,
                       "%s\",\"due\":%" PRId64 ",\"about\":%s}", header->status, header->due,
                       header->about[0] ? header->about : "{}");
  return (size_t)length;
}

bool journal_closed(struct span payload, struct header *to) {
  struct header header = {.due = 0};
  struct span rest = payload;
  char due[24], none, own[JOURNAL_OWN_MAX];
  if (!field_read(&rest, own_closed, rest.length > sizeof own_closed ? ',' : '}', &none, 1))
    return false;
  if (field_read(&rest, ",\"status\":\"", '"', header.status, sizeof header.status) &&
      field_read(&rest, "\",\"due\":", ',', due, sizeof due) &&
      field_read(&rest, ",\"about\":", '\0', header.about, sizeof header.about))
    header.due = strtoll(due, NULL, 10);
  /* The expected bytes are known, as in a segment's first payload. */
  size_t length = journal_closed_payload(own, &header);
  if (payload.length != length || memcmp(payload.data, own, length) != 0) return false;
  if (to) *to = header;
  return true;
}

enum journal_header journal_segment_check(struct span payload, char *run_id, uint32_t segment,
                                          uint32_t previous) {
  char format[16], run[JOURNAL_RUN_ID + 1], own[JOURNAL_OWN_MAX], known[64], by[17];
  struct span rest = payload;
  uint64_t taking = 0;
  if (!field_read(&rest, own_format, ',', format, sizeof format) ||
      strspn(format, "0123456789") != strlen(format) || format[0] < '1')
    return JOURNAL_HEADER_BAD;
  if (strcmp(format, "1") != 0) return JOURNAL_HEADER_NEWER;
  if (!field_read(&rest, ",\"run\":\"", '"', run, sizeof run) || !journal_run_id_valid(run))
    return JOURNAL_HEADER_BAD;
  if (!run_id[0]) memcpy(run_id, run, sizeof run);
  /* The expected bytes are known: writes the payload again and compares. */
  if (field_read(&rest, "\",\"segment\":", 't', known, sizeof known) &&
      field_read(&rest, "taking\":\"", '"', by, sizeof by) &&
      (strlen(by) != 16 || !hex_read64(by, &taking)))
    return JOURNAL_HEADER_BAD;
  size_t length = journal_segment_payload(own, run_id, segment, previous, taking);
  bool same = payload.length == length && memcmp(payload.data, own, length) == 0;
  return same ? JOURNAL_HEADER_GOOD : JOURNAL_HEADER_BAD;
}

struct span journal_segment_format(struct span payload) {
  size_t before = sizeof own_format - 1;
  const char *from = payload.data + before, *stop = memchr(from, ',', payload.length - before);
  return (struct span){.data = from, .length = (size_t)(stop - from)};
}
