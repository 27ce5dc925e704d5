/* test_store_suite.c: the suite for every store, of the kinds that every build has; PostgreSQL is
 * tried by test_postgres_suite.c. */
#include "support/check.h"
#include "support/store_suite.h"

enum { SEEDS = 40 };

static const struct subject subjects[] = {{"directory", NULL, NULL, true},
                                          {"memory", "memory:", NULL, false}};

int main(void) {
  struct scratch s;
  scratch_make(&s);
  for (size_t i = 0; i < sizeof subjects / sizeof *subjects; i++) {
    TEST(subjects[i].name) {
      for (uint32_t from = 1; from < SEEDS * 7919; from += 7919) {
        suite_batches(&s, &subjects[i], from);
        suite_inbox(&s, &subjects[i], from + 1);
      }
    }
  }
  scratch_remove(&s);
  return check_finish();
}
