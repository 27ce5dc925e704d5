/* test_retry_after.c: Retry-After in all the forms servers send it. */
#include "support/check.h"
#include "transport/retry_after.h"

static const int64_t noon = INT64_C(784111777000); /* Sun, 06 Nov 1994 08:49:37 GMT */

static struct span text(const char *from) {
  return (struct span){from, strlen(from)};
}

static int64_t wait_for(const char *value) {
  return retry_after_ms(text(value), text(""), noon);
}

static int64_t date(const char *value) {
  int64_t ms;
  return retry_after_date(text(value), noon, &ms) ? ms : -1;
}

static void test_seconds(void) {
  TEST("seconds are taken as they are") {
    CHECK(wait_for("120") == 120000);
    CHECK(wait_for("0") == 0);
    CHECK(wait_for(" 7\t") == 7000);
    CHECK(wait_for("007") == 7000);
  }
  TEST("fractions of a second are kept to the millisecond") {
    CHECK(wait_for("0.5") == 500);
    CHECK(wait_for("1.2345678901234567890") == 1234);
    CHECK(wait_for("3.") == 3000);
  }
  TEST("negative seconds mean now, absurd ones an hour") {
    CHECK(wait_for("-5") == 0);
    CHECK(wait_for("-99999999999999999999999") == 0);
    CHECK(wait_for("3601") == 3601000);
    CHECK(wait_for("691200") == 691200000); /* 8 days: a usage limit of a week */
    CHECK(wait_for("691201") == 3600000);
    CHECK(wait_for("99999999999999999999999999999999999") == 3600000);
  }
  TEST("what is neither seconds nor a date is nothing") {
    static const char *const bad[] = {"",    " ",    "soon", "-",    "--1", "+5",    "5 s",
                                      "1e3", "0x10", "5;6",  "5, 5", ".5",  "5.5.5", "nan",
                                      "inf", "12a",  "\n5",  "- 5",  "1 2", "\xff"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
      CHECK(wait_for(bad[i]) == -1);
    CHECK(retry_after_ms((struct span){NULL, 0}, (struct span){NULL, 0}, noon) == -1);
    CHECK(retry_after_ms((struct span){"5\0006", 3}, text(""), noon) == -1);
  }
}

static void test_dates(void) {
  TEST("the three forms of an HTTP-date give the same moment") {
    CHECK(date("Sun, 06 Nov 1994 08:49:37 GMT") == noon);
    CHECK(date("Sunday, 06-Nov-94 08:49:37 GMT") == noon);
    CHECK(date("Sun Nov  6 08:49:37 1994") == noon);
    CHECK(date("Wed Nov 16 08:49:37 1994") == noon + INT64_C(10) * 86400000);
  }
  TEST("leap years, centuries and the epoch are right") {
    CHECK(date("Thu, 01 Jan 1970 00:00:00 GMT") == 0);
    CHECK(date("Tue, 29 Feb 2000 00:00:00 GMT") == INT64_C(951782400000));
    CHECK(date("Mon, 01 Mar 2100 00:00:00 GMT") == INT64_C(4107542400000));
    CHECK(date("Thu, 29 Feb 2024 23:59:60 GMT") == INT64_C(1709251200000));
    CHECK(date("Fri, 31 Dec 9999 23:59:59 GMT") == INT64_C(253402300799000));
  }
  TEST("a two-digit year is never more than 50 years ahead") {
    CHECK(date("Sunday, 06-Nov-44 08:49:37 GMT") == INT64_C(2362034977000)); /* 2044 */
    CHECK(date("Monday, 06-Nov-45 08:49:37 GMT") == -1); /* 1945: before the epoch */
    int64_t ms, year_2026 = INT64_C(1767225600000);
    CHECK(retry_after_date(text("Friday, 06-Nov-26 08:49:37 GMT"), year_2026, &ms));
    CHECK(ms == INT64_C(1793954977000));
    CHECK(retry_after_date(text("Sunday, 06-Nov-94 08:49:37 GMT"), year_2026, &ms) && ms == noon);
  }
  TEST("dates that do not exist are refused") {
    static const char *const bad[] = {
        "Sun, 31 Nov 1994 08:49:37 GMT",  "Sun, 00 Nov 1994 08:49:37 GMT",
        "Tue, 29 Feb 2100 00:00:00 GMT",  "Sun, 06 Nov 1994 24:49:37 GMT",
        "Sun, 06 Nov 1994 08:60:37 GMT",  "Sun, 06 Nov 1994 08:49:61 GMT",
        "Sun, 06 Nov 1994 08:49:37 PST",  "Sun, 06 Nov 1994 08:49:37",
        "Sun, 6 Nov 1994 08:49:37 GMT",   "sun, 06 nov 1994 08:49:37 gmt",
        "Sun, 06 Nov 1994 08:49:37 GMT.", "Sun, 06 Nov 1969 08:49:37 GMT",
        "Sun Nov 6 08:49:37 1994",        "Xxx, 06 Nov 1994 08:49:37 GMT"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
      CHECK(date(bad[i]) == -1);
  }
  TEST("a date is measured from the server's own Date, so a wrong clock does no harm") {
    CHECK(retry_after_ms(text("Sun, 06 Nov 1994 08:50:07 GMT"),
                         text("Sun, 06 Nov 1994 08:49:37 GMT"), 0) == 30000);
    CHECK(retry_after_ms(text("Sun, 06 Nov 1994 08:50:07 GMT"), text("yesterday"), noon) == 30000);
  }
  TEST("a date in the past means now, one far ahead an hour") {
    CHECK(wait_for("Sun, 06 Nov 1994 08:49:36 GMT") == 0);
    CHECK(wait_for("Thu, 01 Jan 1970 00:00:00 GMT") == 0);
    CHECK(wait_for("Fri, 31 Dec 9999 23:59:59 GMT") == 3600000);
  }
}

int main(void) {
  test_seconds();
  test_dates();
  return check_finish();
}
