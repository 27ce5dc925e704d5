/* postgres.h: a PostgreSQL server for one test program: started by postgres.sh, gone when that is.
 * Header only. Where there is none, a message is printed, and the tests that need it are left out.
 */
#ifndef SKILLRT_TESTS_POSTGRES_H
#define SKILLRT_TESTS_POSTGRES_H

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/store.h"
#include "support/check.h"

struct server {
  FILE *script;
  char dir[64], database[256]; /* its URL, without a run */
};

static inline bool server_line(const char *dir, const char *name, char *to, size_t room) {
  char path[128];
  snprintf(path, sizeof path, "%s/%s", dir, name);
  FILE *file = fopen(path, "r");
  bool good = file && fgets(to, (int)room, file);
  if (file) fclose(file);
  if (good) to[strcspn(to, "\n")] = '\0';
  return good;
}

/* Where the module is that this build made. */
static inline void server_module(void) {
  static char path[PATH_MAX];
  const char *build = getenv("SKILLRT_BUILD");
  snprintf(path, sizeof path, "./%s/lib/skillrt/postgres.so", build ? build : "build/release");
  if (access(path, R_OK) == 0) store_module(path);
}

/* False: there is none. `settings`: as postgres.sh takes them. */
static inline bool server_start(struct server *s, const char *settings) {
  char command[512], why[256];
  snprintf(s->dir, sizeof s->dir, "/tmp/skillrt-pg-%ld", (long)getpid());
  snprintf(command, sizeof command, "exec sh tests/support/postgres.sh %s %s", s->dir, settings);
  server_module();
  s->script = popen(command, "we");
  for (int i = 0; s->script && i < 1200; i++) {
    if (server_line(s->dir, "url", s->database, sizeof s->database)) break;
    if (server_line(s->dir, "none", why, sizeof why)) {
      printf("left out: %s\n", why);
      pclose(s->script);
      return false;
    }
    usleep(50000);
  }
  if (store_needs_module(s->database)) {
    printf("left out: built without libpq\n");
    pclose(s->script);
    return false;
  }
  struct buffer missing;
  struct error error = {0};
  buffer_init(&missing, sys_real(), 4096);
  bool good = store_prepare(sys_real(), s->database, &(struct store_setup){0}, &missing, &error);
  if (!good) printf("%s\n", error.text);
  CHECK(good);
  buffer_clear(&missing);
  return true;
}

/* What a test program says and gives that was left out. */
static inline int server_none(void) {
  printf("0 passed, 0 failed, 1 skipped\n");
  return 0;
}

static inline void server_stop(struct server *s) {
  CHECK(pclose(s->script) == 0);
}

/* The URL of a run; one of four rotating texts. */
static inline const char *server_run(const struct server *s, const char *run) {
  static char texts[4][512];
  static unsigned turn;
  char *to = texts[turn++ % 4];
  const char *settings = strchr(s->database, '?');
  snprintf(to, sizeof texts[0], "%.*s/%s%s", (int)(settings - s->database), s->database, run,
           settings);
  return to;
}

#endif
