/* json_text.c: the strings of JSON: scanning, escaping, unescaping, strict UTF-8.
 * Knows nothing of tokens. Called by the reader and by whoever writes JSON. */
#include <string.h>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "base/json.h"

/* Bytes that are not plain ASCII text: below 0x20, quote, backslash, above 0x7F. */
static inline uint64_t text_special8(const char *at) {
  const uint64_t ones = UINT64_C(0x0101010101010101), tops = ones << 7;
  uint64_t word;
  memcpy(&word, at, 8);
  uint64_t quote = word ^ (ones * '"'), slash = word ^ (ones * '\\');
  return (((quote - ones) & ~quote) | ((slash - ones) & ~slash) | (word - ones * 0x20) | word) &
         tops;
}

static inline bool text_is_special(char byte) {
  unsigned char c = (unsigned char)byte;
  return c < 0x20 || c == '"' || c == '\\' || c > 0x7F;
}

/* The first special byte, or `end`. */
static const char *text_plain(const char *at, const char *end) {
#if defined(__SSE2__)
  const __m128i quote = _mm_set1_epi8('"'), slash = _mm_set1_epi8('\\');
  const __m128i space = _mm_set1_epi8(0x20);
  for (; end - at >= 16; at += 16) {
    __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)at);
    __m128i found = _mm_or_si128(_mm_cmpeq_epi8(bytes, quote), _mm_cmpeq_epi8(bytes, slash));
    found = _mm_or_si128(found, _mm_cmplt_epi8(bytes, space)); /* signed: above 0x7F too */
    int mask = _mm_movemask_epi8(found);
    if (mask) return at + __builtin_ctz((unsigned)mask);
  }
#endif
  while (end - at >= 8 && !text_special8(at))
    at += 8;
  while (at < end && !text_is_special(*at))
    at++;
  return at;
}

/* The length of the well-formed character (two bytes or more) that begins here, or 0. */
static size_t text_character(const unsigned char *at, const unsigned char *end) {
  unsigned char c = at[0];
  size_t length = c >= 0xC2 && c <= 0xDF   ? 2
                  : (c & 0xF0) == 0xE0     ? 3
                  : c >= 0xF0 && c <= 0xF4 ? 4
                                           : 0;
  if (length == 0 || (size_t)(end - at) < length) return 0;
  unsigned char low = 0x80, high = 0xBF; /* what the second byte may be */
  if (c == 0xE0)
    low = 0xA0; /* overlong */
  else if (c == 0xED)
    high = 0x9F; /* surrogates */
  else if (c == 0xF0)
    low = 0x90; /* overlong */
  else if (c == 0xF4)
    high = 0x8F; /* beyond U+10FFFF */
  if (at[1] < low || at[1] > high) return 0;
  for (size_t i = 2; i < length; i++)
    if ((at[i] & 0xC0) != 0x80) return 0;
  return length;
}

const char *json_scan(const char *at, const char *end) {
  for (;;) {
    at = text_plain(at, end);
    if (at == end || (unsigned char)*at < 0x80) return at;
    do { /* text in other scripts comes in runs */
      size_t length = text_character((const unsigned char *)at, (const unsigned char *)end);
      if (length == 0) return at;
      at += length;
    } while (at < end && (unsigned char)*at >= 0x80);
  }
}

size_t json_escape(char byte, char to[6]) {
  unsigned char c = (unsigned char)byte;
  to[0] = '\\';
  switch (c) {
  case '"':
  case '\\':
    to[1] = byte;
    return 2;
  case '\b':
    to[1] = 'b';
    return 2;
  case '\f':
    to[1] = 'f';
    return 2;
  case '\n':
    to[1] = 'n';
    return 2;
  case '\r':
    to[1] = 'r';
    return 2;
  case '\t':
    to[1] = 't';
    return 2;
  default:
    if (c >= 0x20) return 0;
    memcpy(to + 1, "u00", 3);
    to[4] = (char)('0' + (c >> 4));
    to[5] = "0123456789abcdef"[c & 15];
    return 6;
  }
}

static unsigned text_hex4(const char *at) {
  unsigned value = 0;
  for (int i = 0; i < 4; i++) {
    unsigned c = (unsigned char)at[i];
    value = value << 4 | (c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
  }
  return value;
}

static char *text_put_character(unsigned code, char *to) {
  if (code < 0x80) {
    *to++ = (char)code;
    return to;
  }
  int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  static const unsigned char lead[] = {0, 0xC0, 0xE0, 0xF0};
  *to++ = (char)(lead[more] | code >> (6 * more));
  while (more-- > 0)
    *to++ = (char)(0x80 | (code >> (6 * more) & 0x3F));
  return to;
}

/* The character whose four digits are at *at, which is moved behind them: of two surrogates that
 * are a pair, both. A half without its other one, such as programs leave that cut texts of UTF-16,
 * is U+FFFD. */
static unsigned text_code(const char **at, const char *end) {
  unsigned code = text_hex4(*at), low = 0;
  *at += 4;
  if (code < 0xD800 || code > 0xDFFF) return code;
  if (code <= 0xDBFF && end - *at >= 6 && (*at)[0] == '\\' && (*at)[1] == 'u')
    low = text_hex4(*at + 2);
  if (low < 0xDC00 || low > 0xDFFF) return 0xFFFD;
  *at += 6;
  return 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
}

size_t json_unescape(struct span raw, char *to) {
  const char *at = raw.data, *end = raw.data + raw.length;
  char *begin = to;
  while (at < end) {
    const char *slash = memchr(at, '\\', (size_t)(end - at));
    size_t plain = (size_t)((slash ? slash : end) - at);
    memcpy(to, at, plain);
    to += plain;
    if (!slash) break;
    at = slash + 2;
    switch (slash[1]) {
    case 'b':
      *to++ = '\b';
      break;
    case 'f':
      *to++ = '\f';
      break;
    case 'n':
      *to++ = '\n';
      break;
    case 'r':
      *to++ = '\r';
      break;
    case 't':
      *to++ = '\t';
      break;
    case 'u':
      to = text_put_character(text_code(&at, end), to);
      break;
    default: /* quote, backslash, slash */
      *to++ = slash[1];
    }
  }
  return (size_t)(to - begin);
}
