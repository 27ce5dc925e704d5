/* sys_spawn.c: starts, signals and reaps processes of the real world.
 * A child gets a group of its own, clean signals and descriptors 0, 1, 2, and dies with us: the
 * kernel kills the group when the other end of its `life` pipe is gone, and the child itself when
 * the thread that is our process ends. Its end is seen through a pidfd, so no SIGCHLD handler is
 * installed. Called through struct sys. */
#include "base/sys_spawn.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/sys_leash.h"

#ifdef __SANITIZE_THREAD__ /* it takes every clone for a fork, after which it looks away */
int __clone(int (*)(void *), void *, int, void *, ...);
#define clone __clone
#endif

enum { SPAWN_PATH_MAX = 4096, SPAWN_STACK = 64 << 10 };

/* The soft limit of descriptors before we raised it; programs that use select live by it. */
static struct rlimit files_before;

void sys_raise_files(void) {
  struct rlimit now;
  if (getrlimit(RLIMIT_NOFILE, &now) < 0 || now.rlim_cur >= now.rlim_max) return;
  struct rlimit wanted = {.rlim_cur = now.rlim_max, .rlim_max = now.rlim_max};
  if (setrlimit(RLIMIT_NOFILE, &wanted) == 0) files_before = now;
}

/* The instructions for the child, in memory that it shares with us until it executes. */
struct spawn_plan {
  const struct sys_spawn *wish;
  const char *path;
  pid_t parent;        /* the child may not outlive it */
  bool bound;          /* to the thread that starts it: our first, which ends with the process */
  int told;            /* of a child with memory of its own: where it writes what failed; else 0 */
  volatile int failed; /* errno */
};

/* ---- the child: system calls only ---- */

#define IN_CHILD __attribute__((no_sanitize("address", "undefined", "thread")))

IN_CHILD static void child_signals(void) {
  struct sigaction usual = {.sa_handler = SIG_DFL};
  for (int signal = 1; signal < NSIG; signal++)
    sigaction(signal, &usual, NULL); /* refused for some, which have no handler either */
}

/* A descriptor below 3 could be overwritten before its own turn: a copy is out of the way. */
IN_CHILD static int child_lift(int fd) {
  return fd > 2 ? fd : fcntl(fd, F_DUPFD_CLOEXEC, 3);
}

/* From here on the end of all who can write to it is a SIGKILL for the group. */
IN_CHILD static void child_bind(int life) {
  fcntl(life, F_SETOWN, -getpid());
  fcntl(life, F_SETSIG, SIGKILL);
  fcntl(life, F_SETFL, O_ASYNC);
  fcntl(life, F_SETFD, 0);
}

IN_CHILD static void child_close(unsigned first, unsigned last) {
  if (first > last || syscall(SYS_close_range, first, last, 0U) == 0) return;
  for (unsigned fd = first; fd <= last && fd < 4096; fd++) /* an old kernel */
    close((int)fd);
}

/* All others are closed; 0: there is none. */
IN_CHILD static void child_keep(unsigned kept[], int count) {
  unsigned next = 3;
  for (int done = 0; done < count; done++) {
    int least = done;
    for (int i = done + 1; i < count; i++)
      if (kept[i] < kept[least]) least = i;
    unsigned fd = kept[least];
    kept[least] = kept[done];
    if (fd < next) continue;
    if (fd > next) child_close(next, fd - 1);
    next = fd + 1;
  }
  child_close(next, ~0U);
}

IN_CHILD static int child_descriptors(const struct sys_spawn *wish, int told) {
  const int given[3] = {wish->in, wish->out, wish->err};
  int fds[3];
  for (int i = 0; i < 3; i++)
    if ((fds[i] = child_lift(given[i])) < 0) return errno;
  for (int i = 0; i < 3; i++)
    if (dup2(fds[i], i) < 0) return errno;
  if (wish->life > 2) child_bind(wish->life);
  unsigned kept[] = {wish->life > 2 ? (unsigned)wish->life : 0, (unsigned)told,
                     wish->inside ? (unsigned)wish->inside->keeps : 0};
  child_keep(kept, sizeof kept / sizeof *kept);
  return 0;
}

IN_CHILD static int child_prepare(const struct spawn_plan *plan) {
  const struct sys_spawn *wish = plan->wish;
  child_signals();
  /* In a jail it has no terminal, either. */
  if ((wish->leaves || wish->inside ? setsid() : setpgid(0, 0)) < 0) return errno;
  if (wish->life > 0 && !wish->inside) leash_add(getpid()); /* we may be stopped meanwhile */
  if (plan->bound && !wish->leaves) prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (!wish->inside && getppid() != plan->parent)
    return ESRCH; /* it died before it was bound to us */
  int failed = child_descriptors(wish, plan->told);
  if (!failed && !wish->inside && wish->cwd && chdir(wish->cwd) < 0) failed = errno;
  return failed;
}

IN_CHILD static int child_failed(struct spawn_plan *plan, int failed) {
  plan->failed = failed;
  if (plan->told > 0 && write(plan->told, &failed, sizeof failed) < 0) _exit(126);
  _exit(127);
}

IN_CHILD static int child_execute(void *data) {
  static char *const nothing[] = {NULL};
  struct spawn_plan *plan = data;
  const struct sys_spawn *wish = plan->wish;
  sigset_t none;
  if (files_before.rlim_max) setrlimit(RLIMIT_NOFILE, &files_before);
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  execve(plan->path, (char *const *)wish->argv, wish->env ? (char *const *)wish->env : nothing);
  return child_failed(plan, errno);
}

/* Another copy of our memory would double what a large process pays for a start. */
IN_CHILD static pid_t child_begin(void *plan) {
  _Alignas(16) char stack[SPAWN_STACK / 4];
  return clone(child_execute, stack + sizeof stack, CLONE_VM | CLONE_VFORK | SIGCHLD, plan);
}

IN_CHILD static int child_main(void *data) {
  struct spawn_plan *plan = data;
  const struct sys_inside *inside = plan->wish->inside;
  int failed = child_prepare(plan);
  if (failed) return child_failed(plan, failed);
  if (!inside) return child_execute(plan);
  return child_failed(plan, inside->enter(inside->data, plan->wish->life, child_begin, plan));
}

/* ---- the parent ---- */

/* As posix_spawn does it, which cannot bind a child to us: it has our memory and a stack of its
 * own, we stand still until it executes, and no handler of ours may run in it. */
static int spawn_within(const char *path, const struct sys_spawn *wish, pid_t *pid) {
  char *stack = mmap(NULL, SPAWN_STACK, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  if (stack == MAP_FAILED) return -errno;
  struct spawn_plan plan = {.wish = wish, .path = path, .parent = getpid()};
  plan.bound = gettid() == plan.parent;
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  *pid = clone(child_main, stack + SPAWN_STACK, CLONE_VM | CLONE_VFORK | SIGCHLD, &plan);
  int failed = *pid < 0 ? errno : plan.failed;
  if (*pid > 0 && failed)
    while (waitpid(*pid, NULL, 0) < 0 && errno == EINTR)
      ;
  if (*pid > 0 && failed) leash_remove(*pid);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  munmap(stack, SPAWN_STACK);
  return -failed;
}

/* One with memory of its own: what failed comes through a pipe, which its execution closes. */
static int spawn_apart(const struct sys *sys, const char *path, const struct sys_spawn *wish,
                       pid_t *pid) {
  int ends[2], failed = sys->pipe(sys, ends);
  if (failed < 0) return failed;
  struct spawn_plan plan = {.wish = wish, .path = path, .parent = getpid(), .told = ends[1]};
  plan.bound = gettid() == plan.parent;
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  *pid = (pid_t)syscall(SYS_clone, wish->inside->namespaces | SIGCHLD, NULL, NULL, NULL, NULL);
  if (*pid == 0) child_main(&plan);
  failed = *pid < 0 ? errno : 0;
  close(ends[1]);
  if (*pid > 0) {
    while (read(ends[0], &failed, sizeof failed) < 0 && errno == EINTR)
      ;
    while (failed && waitpid(*pid, NULL, 0) < 0 && errno == EINTR)
      ;
  }
  close(ends[0]);
  if (*pid > 0 && !failed && wish->life > 0) leash_add(*pid);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return -failed;
}

static int spawn_at(const struct sys *sys, const char *path, const struct sys_spawn *wish,
                    pid_t *pid) {
  return wish->inside ? spawn_apart(sys, path, wish, pid) : spawn_within(path, wish, pid);
}

static const char *spawn_environment(const char *const *env, const char *name) {
  size_t length = strlen(name);
  for (; env && *env; env++)
    if (strncmp(*env, name, length) == 0 && (*env)[length] == '=') return *env + length + 1;
  return NULL;
}

/* True if trying to execute it makes sense; spares a fork per folder of PATH. */
static bool spawn_may_run(const char *path, const char *cwd) {
  char joined[2 * SPAWN_PATH_MAX];
  if (path[0] == '/' || !cwd) return access(path, X_OK) == 0;
  snprintf(joined, sizeof joined, "%s/%s", cwd, path);
  return access(joined, X_OK) == 0;
}

/* Looks argv[0] up in the PATH of the child's environment, as execvp does in ours. */
static int spawn_search(const struct sys *sys, const struct sys_spawn *wish, pid_t *pid) {
  const char *name = wish->argv[0];
  if (strchr(name, '/')) return spawn_at(sys, name, wish, pid);
  const char *folders = spawn_environment(wish->env, "PATH");
  if (!folders) folders = "/usr/local/bin:/usr/bin:/bin";
  int result = *name ? -ENOENT : -EINVAL;
  while (*name) {
    int length = (int)strcspn(folders, ":");
    char path[SPAWN_PATH_MAX];
    int wanted =
        snprintf(path, sizeof path, "%.*s/%s", length ? length : 1, length ? folders : ".", name);
    if (wanted < (int)sizeof path && spawn_may_run(path, wish->cwd)) {
      int tried = spawn_at(sys, path, wish, pid);
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
  assert(wish->argv && wish->argv[0]);
  if (wish->in < 0 || wish->out < 0 || wish->err < 0) return -EBADF;
  int result = spawn_search(sys, wish, pid);
  if (result < 0) {
    *pid = 0; /* there was one for a moment */
    return result;
  }
  *ended = (int)syscall(SYS_pidfd_open, *pid, 0U); /* close-on-exec by itself; above the pipes */
  return 0;
}

int sys_real_ended(const struct sys *sys, pid_t pid) {
  (void)sys;
  siginfo_t end = {0};
  if (waitid(P_PID, (id_t)pid, &end, WEXITED | WNOHANG | WNOWAIT) < 0) return -errno;
  return end.si_pid == pid;
}

int sys_real_kill_process(const struct sys *sys, pid_t pid, int signal) {
  (void)sys;
  if (pid <= 1) return -EINVAL;
  return kill(pid, signal) < 0 ? -errno : 0;
}

int sys_real_kill_group(const struct sys *sys, pid_t pid, int signal) {
  (void)sys;
  assert(pid > 1); /* 0, 1 and -1 would reach ourselves or everybody */
  return kill(-pid, signal) < 0 ? -errno : 0;
}

int sys_real_reap(const struct sys *sys, pid_t pid, int *status) {
  assert(pid > 0);
  if (sys_real_ended(sys, pid) == 1) leash_remove(pid); /* its number is another's next */
  pid_t got = waitpid(pid, status, WNOHANG);
  if (got < 0) return -errno;
  return got == 0 ? -EAGAIN : 0;
}
