/* retry_after.c: parses Retry-After without strptime, whose answer depends on the locale.
 * Servers send negative, absurd and broken values: clamp what is a number, reject the rest.
 * Knows no transport; called by http_reply.c and its fuzz target. */
#include "transport/retry_after.h"

#include <stddef.h>
#include <string.h>

/* What is left to read. */
struct scan {
  const char *at, *end;
};

static bool scan_byte(struct scan *s, char wanted) {
  if (s->at == s->end || *s->at != wanted) return false;
  s->at++;
  return true;
}

static bool scan_text(struct scan *s, const char *wanted) {
  while (*wanted)
    if (!scan_byte(s, *wanted++)) return false;
  return true;
}

static bool is_digit(char byte) {
  return byte >= '0' && byte <= '9';
}

/* Exactly `digits` of them. */
static bool scan_number(struct scan *s, int digits, int *to) {
  *to = 0;
  while (digits-- > 0) {
    if (s->at == s->end || !is_digit(*s->at)) return false;
    *to = *to * 10 + (*s->at++ - '0');
  }
  return true;
}

/* One of `count` names; whole names only, the first that fits wins. Gives its index. */
static bool scan_name(struct scan *s, const char *const *names, int count, int *to) {
  for (int i = 0; i < count; i++) {
    struct scan try = *s;
    if (!scan_text(&try, names[i])) continue;
    *s = try;
    if (to) *to = i;
    return true;
  }
  return false;
}

static const char *const short_days[] = {"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"};
static const char *const long_days[] = {"Monday", "Tuesday",  "Wednesday", "Thursday",
                                        "Friday", "Saturday", "Sunday"};
static const char *const months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

struct date {
  int year, month, day, hour, minute, second; /* month from 0 */
};

static bool scan_time(struct scan *s, struct date *d) {
  return scan_number(s, 2, &d->hour) && scan_byte(s, ':') && scan_number(s, 2, &d->minute) &&
         scan_byte(s, ':') && scan_number(s, 2, &d->second);
}

/* Sun, 06 Nov 1994 08:49:37 GMT */
static bool scan_fixed(struct scan s, struct date *d) {
  return scan_name(&s, short_days, 7, NULL) && scan_text(&s, ", ") && scan_number(&s, 2, &d->day) &&
         scan_byte(&s, ' ') && scan_name(&s, months, 12, &d->month) && scan_byte(&s, ' ') &&
         scan_number(&s, 4, &d->year) && scan_byte(&s, ' ') && scan_time(&s, d) &&
         scan_text(&s, " GMT") && s.at == s.end;
}

/* Sunday, 06-Nov-94 08:49:37 GMT; leaves the year at 0 .. 99 */
static bool scan_old(struct scan s, struct date *d) {
  return scan_name(&s, long_days, 7, NULL) && scan_text(&s, ", ") && scan_number(&s, 2, &d->day) &&
         scan_byte(&s, '-') && scan_name(&s, months, 12, &d->month) && scan_byte(&s, '-') &&
         scan_number(&s, 2, &d->year) && scan_byte(&s, ' ') && scan_time(&s, d) &&
         scan_text(&s, " GMT") && s.at == s.end;
}

/* Sun Nov  6 08:49:37 1994 */
static bool scan_asctime(struct scan s, struct date *d) {
  return scan_name(&s, short_days, 7, NULL) && scan_byte(&s, ' ') &&
         scan_name(&s, months, 12, &d->month) && scan_byte(&s, ' ') &&
         scan_number(&s, scan_byte(&s, ' ') ? 1 : 2, &d->day) && scan_byte(&s, ' ') &&
         scan_time(&s, d) && scan_byte(&s, ' ') && scan_number(&s, 4, &d->year) && s.at == s.end;
}

static bool is_leap(int year) {
  return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

static bool date_exists(const struct date *d) {
  static const int lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  int last = lengths[d->month] + (d->month == 1 && is_leap(d->year));
  return d->year >= 1970 && d->day >= 1 && d->day <= last && d->hour <= 23 && d->minute <= 59 &&
         d->second <= 60; /* a leap second */
}

static int64_t date_ms(const struct date *d) {
  static const int before[] = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334};
  int64_t past = d->year - 1;
  int64_t days = past * 365 + past / 4 - past / 100 + past / 400 - 719162; /* of 1970-01-01 */
  days += before[d->month] + (d->month > 1 && is_leap(d->year)) + d->day - 1;
  return (((days * 24 + d->hour) * 60 + d->minute) * 60 + d->second) * 1000;
}

static int full_year(int two_digits, int64_t now_ms) {
  int now = 1970 + (int)(now_ms / INT64_C(31556952000)); /* the mean year: near enough */
  int year = now - now % 100 + two_digits;
  return year > now + 50 ? year - 100 : year <= now - 50 ? year + 100 : year;
}

static struct scan trimmed(struct span text) {
  struct scan s = {text.data, text.data};
  if (text.length) s.end += text.length;
  while (s.at < s.end && (*s.at == ' ' || *s.at == '\t'))
    s.at++;
  while (s.at < s.end && (s.end[-1] == ' ' || s.end[-1] == '\t'))
    s.end--;
  return s;
}

bool retry_after_date(struct span text, int64_t now_ms, int64_t *ms) {
  struct scan s = trimmed(text);
  struct date d = {0};
  bool found = scan_fixed(s, &d) || scan_asctime(s, &d);
  if (!found && scan_old(s, &d)) {
    d.year = full_year(d.year, now_ms);
    found = true;
  }
  if (!found || !date_exists(&d)) return false;
  *ms = date_ms(&d);
  return true;
}

static int64_t clamped(int64_t ms) {
  return ms < 0 ? 0 : ms > RETRY_AFTER_MAX_MS ? RETRY_AFTER_MISTAKEN_MS : ms;
}

/* -?digits[.digits]: some servers send fractions. */
static bool scan_seconds(struct scan s, int64_t *ms) {
  bool negative = scan_byte(&s, '-');
  int64_t whole = 0, part = 0;
  if (s.at == s.end || !is_digit(*s.at)) return false;
  for (; s.at < s.end && is_digit(*s.at); s.at++)
    whole = whole > RETRY_AFTER_MAX_MS ? whole : whole * 10 + (*s.at - '0');
  if (scan_byte(&s, '.'))
    for (int64_t weight = 100; s.at < s.end && is_digit(*s.at); s.at++, weight /= 10)
      part += (*s.at - '0') * weight;
  if (s.at != s.end) return false;
  *ms = negative ? 0 : whole * 1000 + part;
  return true;
}

int64_t retry_after_ms(struct span value, struct span date, int64_t now_ms) {
  int64_t until, from;
  if (scan_seconds(trimmed(value), &until)) return clamped(until);
  if (!retry_after_date(value, now_ms, &until)) return -1;
  if (!retry_after_date(date, now_ms, &from)) from = now_ms;
  return clamped(until - from);
}
