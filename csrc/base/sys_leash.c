/* sys_leash.c: ends the programs that this process started at a given time, even if this process is
 * stopped (SIGSTOP, a frozen machine's clock).
 *
 * A child, the guard, shares one page with this process: the time, and the process groups that run.
 * The guard has its own session and one descriptor, a socket whose other end closes when this
 * process ends. There is one guard for the process. Called through struct sys, and by sys_spawn.c.
 */
#include "base/sys_leash.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define IN_CHILD __attribute__((no_sanitize("address", "undefined", "thread")))

enum { LEASH_GROUPS = 1000, AGAIN_MS = 100 };

struct page {
  _Atomic(int64_t) until_ns;           /* of CLOCK_BOOTTIME */
  _Atomic(pid_t) groups[LEASH_GROUPS]; /* 0: a free place; negative: the guard has killed it */
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct page *_Atomic page; /* NULL: no guard was ever begun; stays mapped */
static pid_t guard;               /* 0: none */
static int life = -1;             /* our end of the guard's pair of sockets */

IN_CHILD void leash_add(pid_t group) {
  struct page *p = atomic_load(&page);
  for (int i = 0; p && i < LEASH_GROUPS; i++) {
    pid_t vacant = 0;
    if (atomic_compare_exchange_strong(&p->groups[i], &vacant, group)) return;
  }
}

IN_CHILD void leash_remove(pid_t group) {
  struct page *p = atomic_load(&page);
  for (int i = 0; p && i < LEASH_GROUPS; i++) {
    pid_t found = group, killed = -group;
    if (atomic_compare_exchange_strong(&p->groups[i], &found, 0) ||
        atomic_compare_exchange_strong(&p->groups[i], &killed, 0))
      return;
  }
}

bool sys_real_leashed(const struct sys *sys, pid_t pid) {
  struct page *p = atomic_load(&page);
  (void)sys;
  for (int i = 0; p && i < LEASH_GROUPS; i++)
    if (atomic_load(&p->groups[i]) == -pid) return true;
  return false;
}

/* ---- the guard: system calls only ---- */

IN_CHILD static int64_t boot_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_BOOTTIME, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

IN_CHILD static bool is_late(struct page *p) {
  return boot_ns() >= atomic_load(&p->until_ns);
}

/* A process keeps its number until its parent has reaped it, so this kills no stranger while the
 * parent lives. The time is read after each group: one that was added behind a new time lives. */
IN_CHILD static void end_programs(struct page *p, pid_t parent) {
  for (int i = 0; i < LEASH_GROUPS; i++) {
    pid_t place = atomic_load(&p->groups[i]), group = place < 0 ? -place : place;
    if (group <= 1 || !is_late(p) || getppid() != parent) continue;
    if (place < 0 || atomic_compare_exchange_strong(&p->groups[i], &place, -group))
      kill(-group, SIGKILL);
  }
}

_Noreturn IN_CHILD static void watch(struct page *p, pid_t parent, int alive) {
  int timer = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
  for (;;) {
    int64_t until = atomic_load(&p->until_ns);
    bool late = is_late(p);
    if (late) end_programs(p, parent);
    struct itimerspec at = {.it_value = {until / 1000000000, until % 1000000000}};
    timerfd_settime(timer, TFD_TIMER_ABSTIME, &at, NULL);
    struct pollfd seen[] = {{.fd = alive}, {.fd = late ? -1 : timer, .events = POLLIN}};
    poll(seen, 2, late ? AGAIN_MS : -1);
    if (seen[0].revents || getppid() != parent) _exit(0);
  }
}

_Noreturn IN_CHILD static void guard_main(struct page *p, pid_t parent, int alive) {
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, NULL);
  setsid();
  prctl(PR_SET_NAME, "skillrt-leash");
  if (dup2(alive, 0) < 0) _exit(1);
  if (syscall(SYS_close_range, 1U, ~0U, 0U) < 0)
    for (int fd = 1; fd < 4096; fd++) /* an old kernel */
      close(fd);
  if (write(0, "", 1) < 0) _exit(1);
  watch(p, parent, 0);
}

/* ---- the parent ---- */

static int page_make(void) {
  if (atomic_load(&page)) return 0;
  struct page *p = mmap(NULL, sizeof *p, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) return -errno;
  atomic_store(&page, p);
  return 0;
}

/* The guard begins with copies of all our descriptors: until it says that it has closed them, a
 * file that we close to unlock it would stay locked. */
static int guard_begin(void) {
  int ends[2];
  char byte;
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0) return -errno;
  pid_t parent = getpid();
  pid_t pid = (pid_t)syscall(SYS_clone, 0UL, NULL, NULL, NULL, NULL);
  if (pid == 0) guard_main(atomic_load(&page), parent, ends[0]);
  int failed = pid < 0 ? -errno : 0;
  close(ends[0]);
  if (failed)
    close(ends[1]);
  else
    guard = pid, life = ends[1];
  while (!failed && read(life, &byte, 1) < 0 && errno == EINTR)
    ;
  return failed;
}

static void guard_end(void) {
  close(life);
  while (waitpid(guard, NULL, __WALL) < 0 && errno == EINTR)
    ;
  guard = 0;
}

/* A guard that was killed is forgotten: then another one is begun. */
static void guard_look(void) {
  if (!guard || waitpid(guard, NULL, WNOHANG | __WALL) == 0) return;
  close(life);
  guard = 0;
}

int sys_real_leash(const struct sys *sys, int64_t until_ns) {
  (void)sys;
  int failed = 0;
  pthread_mutex_lock(&mutex);
  guard_look();
  if (until_ns == 0 && guard) guard_end();
  if (until_ns != 0) failed = page_make();
  if (until_ns != 0 && !failed) atomic_store(&atomic_load(&page)->until_ns, until_ns);
  if (until_ns != 0 && !failed && !guard) failed = guard_begin();
  pthread_mutex_unlock(&mutex);
  return failed;
}
