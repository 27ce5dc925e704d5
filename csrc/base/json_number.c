/* json_number.c: numbers to text and back, exactly and without the locale.
 * Writing finds the shortest digits by R. Giulietti's Schubfach method; reading multiplies by
 * a 128-bit power of ten and leaves the rare undecidable case to strtod. Knows no grammar. */
#include <assert.h>
#include <float.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/json_powers.h"

__extension__ typedef unsigned __int128 wide; /* the one typedef: C11 has no name for it */

/* floor(log2(10^e)) for |e| <= 400 */
static int number_log2_pow10(int e) {
  return (int)((int64_t)e * 1741647 >> 19);
}

static const uint64_t *number_power(int e) {
  assert(e >= JSON_POWER_FIRST && e <= JSON_POWER_LAST);
  return json_powers[e - JSON_POWER_FIRST];
}

/* ---- writing ---- */

static const char number_pairs[] = "0001020304050607080910111213141516171819"
                                   "2021222324252627282930313233343536373839"
                                   "4041424344454647484950515253545556575859"
                                   "6061626364656667686970717273747576777879"
                                   "8081828384858687888990919293949596979899";

/* Digits of `value` before `end`; gives where they begin. */
static char *number_digits(uint64_t value, char *end) {
  while (value >= 100) {
    end -= 2;
    memcpy(end, number_pairs + 2 * (value % 100), 2);
    value /= 100;
  }
  if (value >= 10) {
    end -= 2;
    memcpy(end, number_pairs + 2 * value, 2);
  } else {
    *--end = (char)('0' + value);
  }
  return end;
}

size_t json_write_integer(int64_t value, char to[JSON_INTEGER_ROOM]) {
  char digits[JSON_INTEGER_ROOM];
  char *end = digits + sizeof digits;
  uint64_t size = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
  char *at = number_digits(size, end);
  if (value < 0) *--at = '-';
  memcpy(to, at, (size_t)(end - at));
  return (size_t)(end - at);
}

/* The high 64 bits of power * factor / 2^64, the lost bits remembered in the lowest one. */
static uint64_t number_round_to_odd(const uint64_t power[2], uint64_t factor) {
  wide low = (wide)power[1] * factor;
  wide high = (wide)power[0] * factor + (uint64_t)(low >> 64);
  return (uint64_t)(high >> 64) | ((uint64_t)high > 1);
}

struct decimal {
  uint64_t digits;
  int exponent; /* value = digits * 10^exponent */
};

/* `c` * 2^`q` with its neighbours half a step away; below a power of two the step is halved. */
static struct decimal number_shortest(uint64_t c, int q, bool lower_is_closer) {
  int odd = (int)(c & 1);
  int k = (int)(((int64_t)q * 1262611 - (lower_is_closer ? 524031 : 0)) >> 22);
  int h = q + number_log2_pow10(-k) + 1;
  const uint64_t *power = number_power(-k);
  uint64_t lower = number_round_to_odd(power, (4 * c - 2 + lower_is_closer) << h) + (uint64_t)odd;
  uint64_t middle = number_round_to_odd(power, (4 * c) << h);
  uint64_t upper = number_round_to_odd(power, (4 * c + 2) << h) - (uint64_t)odd;

  uint64_t s = middle / 4;
  if (s >= 10) {
    uint64_t tens = s / 10;
    bool below = lower <= 40 * tens, above = 40 * tens + 40 <= upper;
    if (below != above) return (struct decimal){tens + above, k + 1};
  }
  bool below = lower <= 4 * s, above = 4 * s + 4 <= upper;
  if (below != above) return (struct decimal){s + above, k};
  uint64_t half = 4 * s + 2;
  bool up = middle > half || (middle == half && (s & 1));
  return (struct decimal){s + up, k};
}

static struct decimal number_decimal(uint64_t fraction, int exponent) {
  uint64_t c = exponent ? fraction | UINT64_C(1) << 52 : fraction;
  int q = (exponent ? exponent : 1) - 1075;
  if (q <= 0 && q > -53 && (c & ((UINT64_C(1) << -q) - 1)) == 0)
    return (struct decimal){c >> -q, 0}; /* a whole number below 2^53 */
  struct decimal d = number_shortest(c, q, fraction == 0 && exponent > 1);
  if (d.digits % 100000000 == 0) d.digits /= 100000000, d.exponent += 8;
  while (d.digits % 10 == 0)
    d.digits /= 10, d.exponent++;
  return d;
}

/* Puts a point (and zeros) or an exponent to `count` digits; `point` digits stand before it. */
static size_t number_layout(const char *digits, int count, int point, char *to) {
  char *at = to;
  if (point > 17 || point < -4) {
    *at++ = digits[0];
    if (count > 1) {
      *at++ = '.';
      memcpy(at, digits + 1, (size_t)count - 1);
      at += count - 1;
    }
    *at++ = 'e';
    return (size_t)(at - to) + json_write_integer(point - 1, at);
  }
  if (point <= 0) {
    memcpy(at, "0.00000", 7);
    at += 2 - point;
    memcpy(at, digits, (size_t)count);
    return (size_t)(at - to) + (size_t)count;
  }
  int whole = count < point ? count : point;
  memcpy(at, digits, (size_t)whole);
  at += whole;
  for (int i = whole; i < point; i++)
    *at++ = '0';
  *at++ = '.';
  if (count <= point)
    *at++ = '0';
  else
    memcpy(at, digits + point, (size_t)(count - point));
  return (size_t)(at - to) + (size_t)(count > point ? count - point : 0);
}

size_t json_write_double(double value, char to[JSON_DOUBLE_ROOM]) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  int exponent = (int)(bits >> 52 & 0x7FF);
  uint64_t fraction = bits & ((UINT64_C(1) << 52) - 1);
  if (exponent == 0x7FF) return 0;
  size_t sign = bits >> 63;
  to[0] = '-';
  if (exponent == 0 && fraction == 0) {
    memcpy(to + sign, "0.0", 3);
    return sign + 3;
  }
  struct decimal d = number_decimal(fraction, exponent);
  char digits[24];
  char *first = number_digits(d.digits, digits + sizeof digits);
  int count = (int)(digits + sizeof digits - first);
  return sign + number_layout(first, count, count + d.exponent, to + sign);
}

/* ---- reading ---- */

/* What the text of a number says: its value is digits * 10^exponent, or more if cut. */
struct seen {
  uint64_t digits; /* the first 19 significant ones */
  int count;       /* how many they are */
  int64_t exponent;
  bool negative, cut; /* cut: digits other than zero were left out */
};

static int64_t number_see_exponent(const char *at, const char *end) {
  bool negative = *at == '-';
  if (*at == '-' || *at == '+') at++;
  int64_t value = 0;
  for (; at < end; at++)
    if (value < INT64_C(1) << 40) /* beyond any double long before */
      value = value * 10 + (*at - '0');
  return negative ? -value : value;
}

static struct seen number_see(const char *at, const char *end) {
  struct seen seen = {.negative = *at == '-'};
  bool fraction = false;
  for (at += seen.negative; at < end; at++) {
    unsigned digit = (unsigned)(unsigned char)*at - '0';
    if (digit <= 9) {
      if (seen.count < 19) {
        seen.digits = seen.digits * 10 + digit;
        seen.count += seen.digits != 0;
        seen.exponent -= fraction;
      } else {
        seen.cut |= digit != 0;
        seen.exponent += !fraction;
      }
    } else if (*at == '.') {
      fraction = true;
    } else {
      seen.exponent += number_see_exponent(at + 1, end);
      break;
    }
  }
  return seen;
}

/* Both factors are exact doubles, so the one rounding is the right one (W. Clinger). Digits
 * that were cut stood behind 19 others: more than 2^53. */
static bool number_exact(const struct seen *seen, double *to) {
  static const double tens[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  if (seen->digits > UINT64_C(1) << 53 || seen->exponent < -22 || seen->exponent > 22) return false;
  double value = (double)seen->digits;
  *to = seen->exponent < 0 ? value / tens[-seen->exponent] : value * tens[seen->exponent];
  return true;
}

/* By a 128-bit product, wrong by less than one unit either way; false where that unit could
 * change the rounding, and for subnormals and the end of the range. */
static bool number_product(const struct seen *seen, double *to) {
  if (seen->cut || seen->exponent < JSON_POWER_FIRST || seen->exponent > JSON_POWER_LAST)
    return false;
  int e = (int)seen->exponent;
  int shift = __builtin_clzll(seen->digits);
  uint64_t digits = seen->digits << shift;
  const uint64_t *power = number_power(e);
  wide product = (wide)power[0] * digits + (uint64_t)(((wide)power[1] * digits) >> 64);
  int drop = 74 + (int)(product >> 127); /* of its 127 or 128 bits 53 stay */
  wide rest = product & (((wide)1 << drop) - 1), half = (wide)1 << (drop - 1);
  if (rest + 1 >= half && rest <= half + 1) return false;
  uint64_t significand = (uint64_t)(product >> drop) + (rest > half);
  int binary = drop + 64 - shift - (127 - number_log2_pow10(e));
  if (significand >> 53) significand >>= 1, binary++;
  int biased = binary + 1075;
  if (biased < 1 || biased > 2046) return false;
  uint64_t bits = (uint64_t)biased << 52 | (significand & ((UINT64_C(1) << 52) - 1));
  memcpy(to, &bits, sizeof bits);
  return true;
}

/* Some 768 digits decide; of what follows it only matters whether it is zero. */
enum { DECISIVE_DIGITS = 770 };

static double number_by_library(const char *at, const char *end, const struct seen *seen) {
  char text[DECISIVE_DIGITS + 1 + JSON_INTEGER_ROOM + 1];
  size_t length = 0;
  bool more = false;
  for (; at < end && *at != 'e' && *at != 'E'; at++) {
    if (*at == '-' || *at == '.' || (*at == '0' && length == 0)) continue;
    if (length < DECISIVE_DIGITS)
      text[length++] = *at;
    else
      more |= *at != '0';
  }
  if (more && text[length - 1] == '0') text[length - 1] = '1';
  int64_t exponent = seen->exponent + seen->count - (int64_t)length;
  text[length++] = 'e';
  length += json_write_integer(exponent, text + length);
  text[length] = '\0';
  locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0); /* a constant: cannot fail */
  double value = strtod_l(text, NULL, plain);
  freelocale(plain);
  return value;
}

bool json_read_double(const char *at, const char *end, double *to) {
  struct seen seen = number_see(at, end);
  double value = 0;
  if (seen.digits != 0 && !number_exact(&seen, &value) && !number_product(&seen, &value))
    value = number_by_library(at, end, &seen);
  *to = seen.negative ? -value : value;
  return value <= DBL_MAX;
}
