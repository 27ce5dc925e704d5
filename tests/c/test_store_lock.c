/* test_store_lock.c: who holds a run, looked at from outside. */
#include <unistd.h>

#include "store/lock.h"
#include "support/store_kit.h"

static void looking(void) {
  TEST("a run is held while it is open, and its holder is named; a look takes nothing away") {
    struct scratch folder;
    struct kit kit;
    char line[128], expected[32];
    scratch_make(&folder);
    kit_init(&kit, &folder);
    CHECK(!lock_held(kit.sys, kit.path, line, sizeof line));
    CHECK(kit_open(&kit, STORE_CREATE));
    CHECK(lock_held(kit.sys, kit.path, line, sizeof line));
    snprintf(expected, sizeof expected, "%ld ", (long)getpid());
    CHECK(strncmp(line, expected, strlen(expected)) == 0);
    kit_close(&kit);
    CHECK(!lock_held(kit.sys, kit.path, line, sizeof line));
    CHECK(kit_open(&kit, STORE_RESUME));
    kit_close(&kit);
    scratch_remove(&folder);
  }
}

int main(void) {
  looking();
  return check_finish();
}
