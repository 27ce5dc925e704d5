/* check.h: the smallest test harness for C. Each test is a sentence:
 *
 *   int main(void) {
 *     TEST("a torn tail is cut and kept") { ... CHECK(x == 1); CHECK_STR(a, "b"); }
 *     return check_finish();
 *   }
 *
 * Prints TAP; check_finish prints "N passed, N failed" and gives the exit code: that of a failure
 * also where more descriptors are open than when the first test began. */
#ifndef SKILLRT_TESTS_CHECK_H
#define SKILLRT_TESTS_CHECK_H

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static int check_passed_, check_failed_, check_bad_, check_open_ = -1;
static const char *check_name_;

void uv_library_shutdown(void) __attribute__((weak)); /* libuv keeps a pipe for signals */

static inline int check_descriptors_(void) {
  int count = 0;
  for (int fd = 0; fd < 1024; fd++)
    count += fcntl(fd, F_GETFD) != -1;
  return count;
}
static inline bool check_begin_(const char *name) {
  if (check_open_ < 0) check_open_ = check_descriptors_();
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
  if (uv_library_shutdown) uv_library_shutdown();
  bool all_closed = check_open_ < 0 || check_descriptors_() <= check_open_;
  if (!all_closed) TEST("all that was opened is closed") CHECK(all_closed);
  printf("%d passed, %d failed\n", check_passed_, check_failed_);
  return check_failed_ ? 1 : 0;
}

#endif
