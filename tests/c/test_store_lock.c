/* test_store_lock.c: who holds a run, looked at from outside. */
#include <pthread.h>
#include <stdatomic.h>
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

static atomic_bool looks;
static void *look_again(void *path) {
  char line[128];
  while (atomic_load(&looks))
    lock_held(sys_real(), path, line, sizeof line);
  return NULL;
}

static void looked_at(void) {
  TEST("a run can be opened while others look whether it is held") {
    struct scratch folder;
    struct kit kit;
    pthread_t other;
    scratch_make(&folder);
    kit_init(&kit, &folder);
    CHECK(kit_open(&kit, STORE_CREATE));
    kit_close(&kit);
    atomic_store(&looks, true);
    CHECK(pthread_create(&other, NULL, look_again, kit.path) == 0);
    for (int i = 0; i < 2000; i++) {
      struct error error = {0};
      int fd = lock_take(kit.sys, kit.path, &error);
      CHECK(fd >= 0);
      lock_release(kit.sys, fd);
    }
    atomic_store(&looks, false);
    pthread_join(other, NULL);
    scratch_remove(&folder);
  }
}

/* Between the opening of run.lock and its lock somebody puts another file in its place, once. */
static char lock_path[PATH_MAX + 16];
static int lock_too_late(const struct sys *sys, int fd) {
  (void)sys;
  if (lock_path[0]) {
    FILE *other;
    unlink(lock_path);
    if ((other = fopen(lock_path, "w"))) fclose(other);
    lock_path[0] = '\0';
  }
  return sys_real()->lock(sys_real(), fd);
}

static void replaced(void) {
  TEST("a lock on a file that lost its name is none: the one that has the name now is taken") {
    struct scratch folder;
    struct kit kit;
    struct sys late = *sys_real();
    char line[128];
    late.lock = lock_too_late;
    scratch_make(&folder);
    kit_init(&kit, &folder);
    CHECK(kit_open(&kit, STORE_CREATE) && kit_put(&kit, 0, 1));
    kit_close(&kit);
    snprintf(lock_path, sizeof lock_path, "%s/run.lock", kit.path);
    kit.sys = &late;
    CHECK(kit_open(&kit, STORE_RESUME) && lock_path[0] == '\0');
    CHECK(lock_held(sys_real(), kit.path, line, sizeof line));
    kit_close(&kit);
    scratch_remove(&folder);
  }
}

int main(void) {
  looking();
  looked_at();
  replaced();
  return check_finish();
}
