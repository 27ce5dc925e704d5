/* escapes.h: ways out of a jail, each a function that tries one and says whether it was out.
 *
 * A test runs itself with the name of a way (test_jail_escapes.c), once without a jail, so that it
 * is known to be a way here, and once in one. What they try to reach the test has laid out, and
 * named in the environment: ESCAPE_DIR holds work/ (granted), outside/ and home/. */
#ifndef SKILLRT_TESTS_ESCAPES_H
#define SKILLRT_TESTS_ESCAPES_H

#include <stdbool.h>

enum escape_needs { ANYBODY, ROOT };

struct escape {
  const char *name;          /* what it would do */
  const char *level;         /* of the jail: strict, work */
  enum escape_needs without; /* who can do it without a jail */
  bool (*is_out)(void);
  bool unsure; /* not every kernel or machine knows the way, also without a jail */
};

extern const struct escape escapes[];

enum { ESCAPE_OUT = 0, ESCAPE_HELD = 3 };
/* Tries the way of this name; an exit code. */
int escape_try(const char *name);

#endif
