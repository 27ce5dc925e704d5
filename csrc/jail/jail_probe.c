/* jail_probe.c: whether this machine can jail programs: it is tried with a process that ends at
 * once, the first time that somebody asks. */
#include "jail/jail_inside.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static struct jail_probe probe;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void note(const char *failure) {
  snprintf(probe.failure, sizeof probe.failure, "%s", failure);
}

static pid_t begin(void *with) {
  (void)with;
  pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
  if (pid == 0) _exit(0);
  return pid;
}

static void try_it(void) {
  static const char *const words[] = {"strict", NULL}, *const env[] = {NULL};
  struct jail *jail = NULL;
  struct error e;
  int status = 0;
  probe.landlock = jail_landlock_abi();
  if (!jail_open(sys_real(), words, env, "/", &jail, &e)) {
    note(e.text);
    return;
  }
  const struct sys_inside *inside = jail_inside(jail);
  pid_t pid = (pid_t)syscall(SYS_clone, inside->namespaces | SIGCHLD, NULL, NULL, NULL, NULL);
  if (pid == 0) _exit(inside->enter(inside->data, 0, begin, NULL) ? 1 : 0);
  if (pid < 0) {
    struct error why;
    error_system(&why, errno, "begin with namespaces of its own");
    note(why.text);
  } else {
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
      ;
    probe.works = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (!probe.works) note(jail_failure(jail)[0] ? jail_failure(jail) : "it ended early");
  }
  jail_close(&jail);
}

const struct jail_probe *jail_probe(void) {
  pthread_once(&once, try_it);
  return &probe;
}
