/* jail_kit.h: what the tests of jails share: whether one works here, and a program in one. Header
 * only. */
#ifndef SKILLRT_TESTS_JAIL_KIT_H
#define SKILLRT_TESTS_JAIL_KIT_H

#include <sched.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "jail/jail.h"
#include "support/process_bench.h"

/* Whether a process may have namespaces of its own. */
static inline bool has_namespaces(void) {
  int status = 1;
  pid_t pid = fork();
  if (pid == 0)
    _exit(unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWNET) ? 1
                                                                                            : 0);
  waitpid(pid, &status, 0);
  return status == 0;
}

/* False, and says what is missing: then there is nothing to test. It is no excuse where there are
 * namespaces, and a /proc of one's own is not what is missing. */
static inline bool jail_works(void) {
  const struct jail_probe *probe = jail_probe();
  if (probe->works) return true;
  printf("# skipped, as no jail works here: cannot %s\n", probe->failure);
  TEST("a jail works where there are namespaces") {
    CHECK(!has_namespaces() || strstr(probe->failure, "its own /proc"));
  }
  return false;
}

/* What a test lays out: a folder of its own, which everybody who is this user may write. */
static inline void lay_folder(const char *path) {
  if (mkdir(path, 0700) < 0) perror(path);
}

static inline void lay_file(const char *path, const char *text, unsigned mode) {
  FILE *file = fopen(path, "we");
  if (!file || fputs(text, file) < 0 || fclose(file) != 0 || chmod(path, mode) < 0) perror(path);
}

static inline void jail_word(struct bench *b, const char *what, const char *path) {
  char word[1100];
  snprintf(word, sizeof word, "%s %s", what, path);
  add(&b->task.process.jail, word);
}

static inline void jail_set(struct bench *b, const char *name, const char *value) {
  char text[1100];
  snprintf(text, sizeof text, "%s=%s", name, value);
  add(&b->task.process.env, text);
}

#endif
