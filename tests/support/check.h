/* check.h: the smallest test harness for C. Each test is a sentence:
 *
 *   int main(void) {
 *     TEST("a torn tail is cut and kept") { ... CHECK(x == 1); CHECK_STR(a, "b"); }
 *     return check_finish();
 *   }
 *
 * Prints TAP; check_finish prints "N passed, N failed" and gives the exit code. */
#ifndef SKILLRT_TESTS_CHECK_H
#define SKILLRT_TESTS_CHECK_H

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static int check_passed_, check_failed_, check_bad_;
static const char *check_name_;

static inline bool check_begin_(const char *name) {
  check_name_ = name;
  check_bad_ = 0;
  return true;
}
static inline bool check_end_(void) {
  if (check_bad_)
    check_failed_++;
  else
    check_passed_++;
  printf("%s - %s\n", check_bad_ ? "not ok" : "ok", check_name_);
  return false;
}
#define TEST(name) for (bool go_ = check_begin_(name); go_; go_ = check_end_())

#define CHECK(what)                                                                                \
  do {                                                                                             \
    if (!(what)) {                                                                                 \
      check_bad_++;                                                                                \
      printf("#   %s:%d: %s\n", __FILE__, __LINE__, #what);                                        \
    }                                                                                              \
  } while (0)
#define CHECK_STR(got, want)                                                                       \
  do {                                                                                             \
    const char *got_ = (got), *want_ = (want);                                                     \
    if (!got_ || strcmp(got_, want_) != 0) {                                                       \
      check_bad_++;                                                                                \
      printf("#   %s:%d: %s is \"%s\", not \"%s\"\n", __FILE__, __LINE__, #got,                    \
             got_ ? got_ : "(null)", want_);                                                       \
    }                                                                                              \
  } while (0)

static inline int check_finish(void) {
  printf("%d passed, %d failed\n", check_passed_, check_failed_);
  return check_failed_ ? 1 : 0;
}

#endif
