/* sys_spawn.c: starts, signals and reaps processes of the real world.
 * A child gets a group of its own, clean signals and descriptors 0, 1, 2 only; its end is
 * seen through a pidfd, so no SIGCHLD handler is installed. Called through struct sys. */
#include "base/sys_spawn.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SPAWN_PATH_MAX = 4096 };

/* Everything posix_spawn needs, so that one place frees it. */
struct spawn_plan {
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_t actions;
  int borrowed[3]; /* copies of in, out, err above 2, or -1 */
};

/* A descriptor below 3 could be overwritten before its own turn: move a copy out of the way. */
static int spawn_lift(int fd, int wanted, int *copy) {
  *copy = -1;
  if (fd > 2 || fd == wanted) return fd < 0 ? -EBADF : fd;
  if (fd < 0) return -EBADF;
  *copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);
  return *copy < 0 ? -errno : *copy;
}

static int spawn_plan_descriptors(struct spawn_plan *plan, const struct sys_spawn *wish) {
  const int given[3] = {wish->in, wish->out, wish->err};
  for (int i = 0; i < 3; i++) {
    int fd = spawn_lift(given[i], i, &plan->borrowed[i]);
    if (fd < 0) return fd;
    int failed = posix_spawn_file_actions_adddup2(&plan->actions, fd, i);
    if (failed) return -failed;
  }
  int failed = posix_spawn_file_actions_addclosefrom_np(&plan->actions, 3);
  if (!failed && wish->cwd)
    failed = posix_spawn_file_actions_addchdir_np(&plan->actions, wish->cwd);
  return -failed;
}

static int spawn_plan_init(struct spawn_plan *plan) {
  plan->borrowed[0] = plan->borrowed[1] = plan->borrowed[2] = -1;
  int failed = posix_spawnattr_init(&plan->attributes);
  if (failed) return -failed;
  failed = posix_spawn_file_actions_init(&plan->actions);
  if (failed) {
    posix_spawnattr_destroy(&plan->attributes);
    return -failed;
  }
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&plan->attributes, &none);
  posix_spawnattr_setsigdefault(&plan->attributes, &all);
  posix_spawnattr_setpgroup(&plan->attributes, 0);
  posix_spawnattr_setflags(&plan->attributes,
                           POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  return 0;
}

static void spawn_plan_clear(struct spawn_plan *plan) {
  for (int i = 0; i < 3; i++)
    if (plan->borrowed[i] >= 0) close(plan->borrowed[i]);
  posix_spawn_file_actions_destroy(&plan->actions);
  posix_spawnattr_destroy(&plan->attributes);
}

static const char *spawn_environment(const char *const *env, const char *name) {
  size_t length = strlen(name);
  for (; env && *env; env++)
    if (strncmp(*env, name, length) == 0 && (*env)[length] == '=') return *env + length + 1;
  return NULL;
}

static int spawn_at(const char *path, const struct sys_spawn *wish, struct spawn_plan *plan,
                    pid_t *pid) {
  static char *const nothing[] = {NULL};
  char *const *env = wish->env ? (char *const *)wish->env : nothing;
  return -posix_spawn(pid, path, &plan->actions, &plan->attributes, (char *const *)wish->argv, env);
}

/* True if trying to execute it makes sense; spares a fork per folder of PATH. */
static bool spawn_may_run(const char *path, const char *cwd) {
  char joined[2 * SPAWN_PATH_MAX];
  if (path[0] == '/' || !cwd) return access(path, X_OK) == 0;
  snprintf(joined, sizeof joined, "%s/%s", cwd, path);
  return access(joined, X_OK) == 0;
}

/* Looks argv[0] up in the PATH of the child's environment, as execvp does in ours. */
static int spawn_search(const struct sys_spawn *wish, struct spawn_plan *plan, pid_t *pid) {
  const char *name = wish->argv[0];
  if (strchr(name, '/')) return spawn_at(name, wish, plan, pid);
  const char *folders = spawn_environment(wish->env, "PATH");
  if (!folders) folders = "/usr/local/bin:/usr/bin:/bin";
  int result = *name ? -ENOENT : -EINVAL;
  while (*name) {
    int length = (int)strcspn(folders, ":");
    char path[SPAWN_PATH_MAX];
    int wanted =
        snprintf(path, sizeof path, "%.*s/%s", length ? length : 1, length ? folders : ".", name);
    if (wanted < (int)sizeof path && spawn_may_run(path, wish->cwd)) {
      int tried = spawn_at(path, wish, plan, pid);
      if (tried == 0 || (tried != -ENOENT && tried != -EACCES && tried != -ENOTDIR)) return tried;
      if (tried == -EACCES || result == -ENOENT) result = tried;
    } else if (wanted < (int)sizeof path && errno == EACCES) {
      result = -EACCES;
    }
    if (!folders[length]) break;
    folders += length + 1;
  }
  return result;
}

int sys_real_spawn(const struct sys *sys, const struct sys_spawn *wish, pid_t *pid, int *ended) {
  (void)sys;
  assert(wish->argv && wish->argv[0]);
  struct spawn_plan plan;
  int result = spawn_plan_init(&plan);
  if (result < 0) return result;
  result = spawn_plan_descriptors(&plan, wish);
  if (result == 0) result = spawn_search(wish, &plan, pid);
  spawn_plan_clear(&plan);
  if (result < 0) return result;
  *ended = (int)syscall(SYS_pidfd_open, *pid, 0U); /* close-on-exec by itself */
  if (*ended < 0) {
    result = -errno;
    kill(-*pid, SIGKILL);
    while (waitpid(*pid, NULL, 0) < 0 && errno == EINTR)
      ;
  }
  return result;
}

int sys_real_kill_group(const struct sys *sys, pid_t pid, int signal) {
  (void)sys;
  assert(pid > 1); /* 0, 1 and -1 would reach ourselves or everybody */
  return kill(-pid, signal) < 0 ? -errno : 0;
}

int sys_real_reap(const struct sys *sys, pid_t pid, int *status) {
  (void)sys;
  assert(pid > 0);
  pid_t got = waitpid(pid, status, WNOHANG);
  if (got < 0) return -errno;
  return got == 0 ? -EAGAIN : 0;
}
