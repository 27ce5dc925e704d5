/* jail_enter.c: in the child: from a process with namespaces of its own to one in a jail.
 *
 * The first process of the new ones stays, as no other can: it waits for what it left behind, tells
 * the parent how the program ended, and all ends with it. It cannot be looked into. */
#include "jail/jail_inside.h"

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

IN_CHILD static size_t put(char *to, size_t room, const char *text) {
  size_t length = strnlen(text, room - 1);
  memcpy(to, text, length);
  to[length] = 0;
  return length;
}

int jail_fail(const struct jail *jail, int number, const char *what, const char *path) {
  char *to = jail->page->failure;
  size_t room = sizeof jail->page->failure;
  if (to[0]) return number; /* the first that failed is why */
  size_t at = put(to, room, what);
  at += put(to + at, room - at, path);
  at += put(to + at, room - at, ": ");
  const char *name = number == EXDEV ? "a link leads out of its folder; grant where it leads"
                                     : strerrordesc_np(number);
  put(to + at, room - at, name ? name : "unknown error");
  return number;
}

IN_CHILD static int write_text(const char *path, const char *text) {
  int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return errno;
  ssize_t wrote = write(fd, text, strlen(text));
  int failed = wrote < 0 ? errno : 0;
  close(fd);
  return failed;
}

/* Who it was outside is who it is inside, without the powers. */
IN_CHILD static int be_the_same(const struct jail *jail) {
  int failed = write_text("/proc/self/setgroups", "deny");
  if (failed == ENOENT) failed = 0;
  if (!failed) failed = write_text("/proc/self/uid_map", jail->maps[0]);
  if (!failed) failed = write_text("/proc/self/gid_map", jail->maps[1]);
  return failed ? jail_fail(jail, failed, "be a user of its own namespace", "") : 0;
}

/* Of a network of its own there is the loopback. */
IN_CHILD static int raise_loopback(const struct jail *jail) {
  struct ifreq lo = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};
  if (jail->network) return 0;
  int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  int failed = fd < 0 || ioctl(fd, SIOCSIFFLAGS, &lo) < 0 ? errno : 0;
  if (fd >= 0) close(fd);
  return failed ? jail_fail(jail, failed, "have a network of its own", "") : 0;
}

/* ---- the first process ---- */

IN_CHILD static void on_parent_gone(int signal) {
  (void)signal;
  _exit(128 + SIGKILL);
}

/* What the first process of a namespace has no handler for does not reach it: the end of the parent
 * has one, on an opening of the pipe that is its own. Gives that, or -1. */
IN_CHILD static int watch_parent(int life) {
  struct sigaction handler = {.sa_handler = on_parent_gone};
  char name[JAIL_FD_NAME], byte;
  if (life <= 0) return -1;
  jail_name_of(life, name);
  int fd = open(name, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return -1;
  sigaction(SIGIO, &handler, NULL);
  fcntl(fd, F_SETOWN, getpid());
  fcntl(fd, F_SETFL, O_ASYNC | O_NONBLOCK);
  if (read(fd, &byte, 1) == 0) on_parent_gone(0); /* before it was watched */
  return fd;
}

/* Holds nothing that anybody waits for. */
_Noreturn IN_CHILD static void stay(const struct jail *jail, pid_t program, int life) {
  int status = 0, fd = watch_parent(life);
  sigset_t none;
  if (fd > 0) syscall(SYS_close_range, 0U, (unsigned)fd - 1, 0U);
  syscall(SYS_close_range, (unsigned)fd + 1, ~0U, 0U);
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  pid_t ended = 0;
  while (ended != program && (ended >= 0 || errno == EINTR))
    ended = (pid_t)syscall(SYS_wait4, -1, &status, 0, NULL);
  if (ended == program) {
    jail->page->wait_status = status;
    jail->page->ended = true;
  }
  _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

int jail_enter(void *data, int life, pid_t (*begin)(void *), void *with) {
  struct jail *jail = data;
  int failed = be_the_same(jail);
  if (!failed) failed = raise_loopback(jail);
  if (!failed) failed = jail_listen(jail);
  if (!failed) failed = jail_root_enter(jail);
  if (!failed && chdir(jail->cwd) < 0)
    failed = jail_fail(jail, errno, "see its working folder; grant it: ", jail->cwd);
  if (!failed && (failed = jail_drop())) jail_fail(jail, failed, "give up its privileges", "");
  if (!failed) failed = jail_landlock_enter(jail);
  if (!failed) failed = jail_filter_enter(jail);
  if (failed) return failed;
  prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); /* until another program is executed */
  pid_t program = begin(with);
  if (program < 0) return jail_fail(jail, errno, "begin", "");
  stay(jail, program, life);
}
