/* signals.c: SIGINT, SIGTERM and SIGHUP stop the run and leave it resumable; SIGUSR1 drains it:
 * running calls finish first.
 *
 * Holds all signal handlers with their data, and sets up the descriptors and limits of the process.
 * Prints a line where a stop takes a while. A second signal, or a first one that Lua cannot notice
 * in time (one endless pattern match), ends the process and its programs at once, which the journal
 * survives; but a sync under way is waited for. Knows nothing of runs. */
#include "signals.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lua/limits.h"

enum {
  PATIENCE_MS = 90, /* if Lua has not noticed a stop after this time, the process is ended */
  TICK_MS = 10,     /* processor time between two checks of how long Lua has run */
  GROUPS = 1024,    /* programs that a handler can kill; the kernel ends the others with us */
  GRACE_MS = 2000
};

static struct limits *the_limits;
static volatile sig_atomic_t signals_seen, first_signal, said;
static _Atomic(pid_t) groups[GROUPS]; /* of programs under way */
static atomic_int syncs;              /* under way */

/* ---- struct sys, with a list of programs ---- */

static int noted_spawn(const struct sys *sys, const struct sys_spawn *wish, pid_t *pid,
                       int *ended) {
  (void)sys;
  int result = sys_real()->spawn(sys_real(), wish, pid, ended);
  for (int i = 0; result == 0 && !wish->leaves && i < GROUPS; i++) {
    pid_t none = 0;
    if (atomic_compare_exchange_strong(&groups[i], &none, *pid)) break;
  }
  return result;
}

/* Once a program is reaped, the system may give its pid to another one. */
static int noted_reap(const struct sys *sys, pid_t pid, int *status) {
  (void)sys;
  int at = 0;
  while (at < GROUPS && atomic_load(&groups[at]) != pid)
    at++;
  if (at < GROUPS) atomic_store(&groups[at], 0);
  int result = sys_real()->reap(sys_real(), pid, status);
  if (result == -EAGAIN && at < GROUPS) atomic_store(&groups[at], pid);
  return result;
}

static int noted_fsync(const struct sys *sys, int fd) {
  (void)sys;
  atomic_fetch_add(&syncs, 1);
  int result = sys_real()->fsync(sys_real(), fd);
  atomic_fetch_sub(&syncs, 1);
  return result;
}

static int noted_fdatasync(const struct sys *sys, int fd) {
  (void)sys;
  atomic_fetch_add(&syncs, 1);
  int result = sys_real()->fdatasync(sys_real(), fd);
  atomic_fetch_sub(&syncs, 1);
  return result;
}

const struct sys *signals_world(void) {
  static struct sys world;
  world = *sys_real();
  world.spawn = noted_spawn;
  world.reap = noted_reap;
  world.fsync = noted_fsync;
  world.fdatasync = noted_fdatasync;
  return &world;
}

/* ---- in a handler: system calls only ---- */

static void say(const char *text) {
  ssize_t ignored = write(STDERR_FILENO, text, strlen(text));
  (void)ignored;
}

static void signal_groups(int signal) {
  for (int i = 0; i < GROUPS; i++) {
    pid_t group = atomic_load(&groups[i]);
    if (group > 1) kill(-group, signal);
  }
}

static bool groups_ended(void) {
  for (int i = 0; i < GROUPS; i++) {
    pid_t group = atomic_load(&groups[i]);
    if (group > 1 && sys_real()->ended(sys_real(), group) == 0) return false;
  }
  return true;
}

static void quit_now(int signal, const char *why) {
  say(why);
  signal_groups(SIGKILL);
  _exit(128 + signal);
}

/* Programs still get time to end; a second signal kills them. */
static void force(void) {
  signal_groups(SIGTERM);
  for (int i = 0; i < GRACE_MS / 10 && !groups_ended(); i++)
    sys_real()->pause(sys_real(), 10);
  quit_now(first_signal, "skillrt: stopped inside a call that cannot be interrupted; "
                         "`skillrt resume` resumes the run\n");
}

static void be_patient(void) {
  struct itimerval patience = {.it_value = {.tv_usec = PATIENCE_MS * 1000}};
  setitimer(ITIMER_REAL, &patience, NULL);
}

static void on_alarm(int signal) {
  (void)signal;
  int kept = errno;
  bool noticed = limits_noticed(the_limits), syncing = atomic_load(&syncs) > 0;
  if (!signals_seen) return; /* not ours */
  if (!noticed && !syncing) force();
  if (!noticed) {
    signal_groups(SIGTERM); /* no other process can now */
    be_patient();
  }
  if (!said++)
    say(syncing ? "skillrt: stopping: waiting for the disk\n"
                : "skillrt: stopping: programs under way have 2 s to end\n");
  errno = kept;
}

/* The kernel may deliver a signal to any thread; Lua runs on the first one. */
static bool on_first_thread(int signal) {
  if (gettid() == getpid()) return true;
  syscall(SYS_tgkill, getpid(), getpid(), signal);
  return false;
}

static void on_stop(int signal) {
  int kept = errno;
  if (!on_first_thread(signal)) return;
  if (signals_seen++ > 0)
    quit_now(signal, "skillrt: stopped at once; `skillrt resume` resumes the run\n");
  first_signal = signal;
  limits_interrupt(the_limits, "user_exit");
  be_patient();
  errno = kept;
}

/* A worker that ends sends this signal: the run stops after its running calls. */
static void on_drain(int signal) {
  (void)signal;
  limits_drain(the_limits);
}

/* Counts processor time only, so a waiting process gets no signal. */
static void start_ticks(void) {
  const struct timeval pause = {.tv_usec = TICK_MS * 1000};
  const struct itimerval ticks = {.it_interval = pause, .it_value = pause};
  setitimer(ITIMER_VIRTUAL, &ticks, NULL);
}

void signals_end_ticks(void) {
  const struct itimerval none = {{0, 0}, {0, 0}};
  setitimer(ITIMER_VIRTUAL, &none, NULL);
}

static void on_tick(int signal) {
  int kept = errno;
  if (on_first_thread(signal)) limits_tick(the_limits);
  errno = kept;
}

/* ---- before anything else ---- */

/* Opens closed descriptors 0 to 2, so that no file opened later becomes standard output. */
static void open_standard(void) {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
    if (fcntl(fd, F_GETFD) < 0) open("/dev/null", O_RDWR); /* takes the lowest number */
}

/* Makes output blocking, because a non-blocking write may lose some. The flag belongs to all
 * processes that share the descriptor, such as our parent, so we open the file again; a socket
 * cannot be opened again, so there we clear the flag. */
static void let_output_wait(void) {
  for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++) {
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0 || !(flags & O_NONBLOCK)) continue;
    char path[32];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    int own = open(path, (flags & (O_ACCMODE | O_APPEND)) | O_NOCTTY | O_CLOEXEC);
    if (own < 0) {
      fcntl(fd, F_SETFL, flags & ~O_NONBLOCK);
      continue;
    }
    dup2(own, fd);
    close(own);
  }
}

/* ---- as process 1 ---- */

static volatile pid_t the_worker;

/* A signal from a terminal goes to the whole group, so the worker has it already. */
static void forward(int signal, siginfo_t *info, void *context) {
  (void)context;
  int kept = errno;
  if (info->si_code <= 0) kill(the_worker, signal);
  errno = kept;
}

/* Process 1 gets all orphans and has to reap them: it does only that, and a child does the work. */
static void be_first(void) {
  static const int forwarded[] = {SIGHUP, SIGINT, SIGTERM};
  sigset_t all, before;
  if (getpid() != 1) return;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, &before);
  the_worker = fork();
  if (the_worker > 0) {
    struct sigaction action = {.sa_sigaction = forward, .sa_flags = SA_SIGINFO};
    sigfillset(&action.sa_mask);
    for (size_t i = 0; i < sizeof forwarded / sizeof *forwarded; i++)
      sigaction(forwarded[i], &action, NULL);
  }
  sigprocmask(SIG_SETMASK, &before, NULL);
  while (the_worker > 0) {
    int status;
    pid_t gone = waitpid(-1, &status, 0);
    if (gone == the_worker) _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
  }
}

void signals_prepare(void) {
  sigset_t none;
  open_standard();
  let_output_wait();
  sys_raise_files();
  signal(SIGCHLD, SIG_DFL); /* a process that ignores SIGCHLD cannot learn how its programs ended */
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  be_first();
}

void signals_install(struct limits *limits) {
  struct sigaction action = {.sa_handler = on_stop}, before;
  the_limits = limits;
  sigaction(SIGINT, &action, NULL);
  sigaction(SIGTERM, &action, NULL);
  sigaction(SIGHUP, NULL, &before);
  if (before.sa_handler != SIG_IGN) sigaction(SIGHUP, &action, NULL); /* nohup */
  action.sa_handler = on_drain;
  sigaction(SIGUSR1, &action, NULL);
  action.sa_handler = on_alarm;
  sigaction(SIGALRM, &action, NULL);
  action.sa_handler = on_tick;
  action.sa_flags = SA_RESTART;
  sigaction(SIGVTALRM, &action, NULL);
  limits_ticker(limits, start_ticks);
  action.sa_handler = SIG_IGN; /* the run continues when the reader of our output closes its pipe */
  sigaction(SIGPIPE, &action, NULL);
}

int signals_first(void) {
  return first_signal;
}
