/* stamp.c: days since the epoch to a date of the Gregorian calendar.
 * Must not read a clock. Called by lock.c and cut.c. */
#include "store/stamp.h"

#include <stdio.h>

struct moment {
  unsigned year, month, day, hour, minute, second;
};

static struct moment moment_of(int64_t wall_ms) {
  const int64_t latest = INT64_C(253402300799); /* the end of 9999 */
  int64_t seconds = wall_ms < 0 ? 0 : wall_ms / 1000;
  if (seconds > latest) seconds = latest;
  unsigned rest = (unsigned)(seconds % 86400);
  /* Days since 1 March 0000, so that a leap day is the last of its year. */
  unsigned days = (unsigned)(seconds / 86400) + 719468;
  unsigned era = days / 146097, of_era = days % 146097;
  unsigned year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
  unsigned of_year = of_era - (365 * year + year / 4 - year / 100);
  unsigned month = (5 * of_year + 2) / 153;
  unsigned after = month < 10 ? month + 3 : month - 9;
  return (struct moment){.year = era * 400 + year + (after <= 2),
                         .month = after,
                         .day = of_year - (153 * month + 2) / 5 + 1,
                         .hour = rest / 3600,
                         .minute = rest / 60 % 60,
                         .second = rest % 60};
}

static void stamp(char to[STAMP_SIZE], int64_t wall_ms, const char *format) {
  struct moment m = moment_of(wall_ms);
  char text[80];
  snprintf(text, sizeof text, format, m.year, m.month, m.day, m.hour, m.minute, m.second);
  snprintf(to, STAMP_SIZE, "%.23s", text);
}

void stamp_text(char to[STAMP_SIZE], int64_t wall_ms) {
  stamp(to, wall_ms, "%04u-%02u-%02uT%02u:%02u:%02uZ");
}

void stamp_name(char to[STAMP_SIZE], int64_t wall_ms) {
  stamp(to, wall_ms, "%04u%02u%02uT%02u%02u%02uZ");
}
