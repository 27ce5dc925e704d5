/* test_jail_escapes.c: what a program in a jail cannot do. Each way out (support/escapes.c) is
 * tried without a jail first, where it must lead out if it does on any such machine: so the test
 * knows that it tests something. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "support/escapes.h"
#include "support/jail_kit.h"

extern char **environ;

static char place[600], program[512];

static const char *in(const char *name) {
  static char paths[8][700];
  static int next;
  char *path = paths[next++ % 8];
  snprintf(path, sizeof paths[0], "%s/%s", place, name);
  return path;
}

static void set_number(const char *name, long value) {
  char text[24];
  snprintf(text, sizeof text, "%ld", value);
  setenv(name, text, 1);
}

/* ---- what there is to be reached ---- */

static void lay_out(void) {
  static const char *const folders[] = {
      "work",     "outside",          "home",           "home/.ssh", "work/.git", "work/.git/hooks",
      "work/run", "work/run/journal", "work/run/inbox", NULL};
  for (int i = 0; folders[i]; i++)
    lay_folder(in(folders[i]));
  lay_file(in("outside/secret"), "the secret\n", 0600);
  lay_file(in("outside/movable"), "movable\n", 0600);
  lay_file(in("outside/tool"), "#!/bin/sh\nexit 0\n", 0700);
  lay_file(in("home/.ssh/id"), "the secret\n", 0600);
  lay_file(in("home/.npmrc"), "the secret\n", 0600);
  lay_file(in("home/.bashrc"), "# mine\n", 0600);
  lay_file(in("work/.bashrc"), "# mine\n", 0600);
  lay_file(in("work/.mcp.json"), "{}\n", 0600);
  lay_file(in("work/.git/config"), "[core]\n", 0600);
  lay_file(in("work/.git/config.old"), "[core]\n", 0600);
  lay_file(in("work/run/journal/00000001.sj"), "J1\n", 0600);
  mkfifo(in("outside/fifo"), 0600);
}

static int listen_named(const char *name, bool abstract, int type) {
  struct sockaddr_un at = {.sun_family = AF_UNIX};
  snprintf(at.sun_path + abstract, sizeof at.sun_path - 1, "%s", name);
  socklen_t size =
      (socklen_t)(offsetof(struct sockaddr_un, sun_path) + (size_t)abstract + strlen(name));
  int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
  if (bind(fd, (struct sockaddr *)&at, size) < 0) perror(name);
  if (type == SOCK_STREAM) listen(fd, 64);
  return fd;
}

static void listen_port(const char *name, int type) {
  struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t size = sizeof at;
  int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);
  if (bind(fd, (struct sockaddr *)&at, size) < 0) perror(name);
  if (type == SOCK_STREAM) listen(fd, 64);
  getsockname(fd, (struct sockaddr *)&at, &size);
  set_number(name, ntohs(at.sin_port));
}

/* Files where all programs of a machine have theirs; the caller removes them. */
static void lay_shared(const char *name, const char *folder, char path[64]) {
  snprintf(path, 64, "%s/skillrt-escape-%d", folder, (int)getpid());
  lay_file(path, "the secret\n", 0600);
  setenv(name, path, 1);
}

static pid_t begin_victim(void) {
  pid_t pid = fork();
  if (pid == 0) {
    for (;;)
      pause();
  }
  set_number("ESCAPE_PID", pid);
  return pid;
}

/* ---- trying ---- */

static int try_free(const char *name) {
  int status = 0;
  pid_t pid = fork();
  if (pid == 0) {
    if (chdir(in("work")) < 0) _exit(126);
    alarm(10);
    execl(program, program, "--escape", name, (char *)NULL);
    _exit(126);
  }
  waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

static int try_jailed(const struct escape *one) {
  BENCH(b);
  char cwd[700];
  snprintf(cwd, sizeof cwd, "%s", in("work"));
  b.task.process.cwd = cwd;
  b.task.total_ms = 10000;
  add(&b.task.process.jail, one->level);
  if (strcmp(one->level, "work") == 0) jail_word(&b, "read", place); /* it may lie in /tmp */
  jail_word(&b, "write", cwd);
  jail_word(&b, "read", program);
  jail_word(&b, "keep", in("work/run/journal"));
  jail_word(&b, "keep", in("work/run/inbox"));
  jail_set(&b, "HOME", in("home"));
  jail_set(&b, "ASAN_OPTIONS", "detect_leaks=0"); /* looks by ptrace, which a jail has not */
  for (char **one_of = environ; *one_of; one_of++)
    if (strncmp(*one_of, "ESCAPE_", 7) == 0) add(&b.task.process.env, *one_of);
  bench_argv(&b, program, "--escape", one->name);
  bench_run(&b);
  int code = b.got.reply.status == REPLY_OK ? b.got.reply.code : 128;
  if (b.got.reply.status != REPLY_OK) printf("#   %s\n", b.got.reply.message);
  b.task.process.cwd = NULL;
  bench_close(&b);
  return code;
}

static bool outlived(void) {
  usleep(700000);
  bool alive = access(in("work/alive"), F_OK) == 0;
  unlink(in("work/alive"));
  return alive;
}

static int ways, leading; /* of all that were tried: those that are ways without a jail */

static void test_one(const struct escape *one) {
  char name[200];
  bool stays = strcmp(one->name, "stay behind") == 0;
  snprintf(name, sizeof name, "a program in a jail cannot %s", one->name);
  TEST(name) {
    int without = try_free(one->name);
    if (stays) without = outlived() ? ESCAPE_OUT : ESCAPE_HELD;
    bool may = one->without == ANYBODY || geteuid() == 0;
    if (may && !one->unsure) CHECK(without == ESCAPE_OUT);
    ways++;
    leading += without == ESCAPE_OUT;
    if (without != ESCAPE_OUT) printf("#   no way out here without a jail, either\n");
    int inside = try_jailed(one);
    if (stays)
      CHECK(!outlived());
    else
      CHECK(inside == ESCAPE_HELD);
  }
}

static void find_program(const char *name) {
  ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
  if (length < 0) snprintf(program, sizeof program, "%s", name);
}

/* Beside the program. */
static void make_place(void) {
  snprintf(place, sizeof place, "%.*s/jail-XXXXXX", (int)(strrchr(program, '/') - program),
           program);
  if (mkdtemp(place)) return;
  snprintf(place, sizeof place, "/tmp/skillrt-jail-XXXXXX");
  if (!mkdtemp(place)) abort();
}

static void remove_place(void) {
  char command[700];
  snprintf(command, sizeof command, "rm -rf '%s'", place);
  if (system(command) != 0) perror(place);
}

int main(int argc, char **argv) {
  char shared[2][64], abstract[64], fifo[64];
  if (argc == 3 && strcmp(argv[1], "--escape") == 0) return escape_try(argv[2]);
  if (!jail_works()) return check_finish();
  find_program(argv[0]);
  make_place();
  lay_out();
  setenv("ESCAPE_DIR", place, 1);
  snprintf(abstract, sizeof abstract, "skillrt-escape-%d", (int)getpid());
  setenv("ESCAPE_ABSTRACT", abstract, 1);
  listen_named(abstract, true, SOCK_STREAM);
  if (chdir(in("work")) < 0) perror("work");
  listen_named("socket", false, SOCK_STREAM);
  listen_named("datagrams", false, SOCK_DGRAM);
  listen_port("ESCAPE_PORT", SOCK_STREAM);
  listen_port("ESCAPE_UDP", SOCK_DGRAM);
  lay_shared("ESCAPE_TMP", "/tmp", shared[0]);
  lay_shared("ESCAPE_SHM", "/dev/shm", shared[1]);
  snprintf(fifo, sizeof fifo, "/var/cache/skillrt-escape-%d", (int)getpid());
  mkfifo(fifo, 0600); /* an administrator can */
  setenv("ESCAPE_FIFO", fifo, 1);
  set_number("ESCAPE_FD", open(in("outside"), O_RDONLY | O_DIRECTORY)); /* inherited */
  set_number("ESCAPE_FILE", open(in("outside/secret"), O_RDONLY));      /* ... too */
  key_t key = (key_t)(0x5c000000 + getpid());
  set_number("ESCAPE_SHMKEY", key);
  int memory = shmget(key, 4096, IPC_CREAT | 0600);
  pid_t victim = begin_victim();
  for (const struct escape *one = escapes; one->name; one++)
    test_one(one);
  TEST("most of these are ways out where there is no jail") {
    printf("#   %d of %d\n", leading, ways);
    CHECK(leading >= 40);
  }
  kill(victim, SIGKILL);
  waitpid(victim, NULL, 0);
  shmctl(memory, IPC_RMID, NULL);
  unlink(fifo);
  unlink(shared[0]);
  unlink(shared[1]);
  if (chdir("/") < 0) perror("/");
  remove_place();
  return check_finish();
}
