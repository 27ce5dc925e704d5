/* test_base_sys.c: the real world behind struct sys, and the whole jobs built on it. */
#include "support/check.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/sys.h"

static char folder[64];

static const char *in_folder(const char *name) {
  static char path[4][128];
  static int turn;
  turn = (turn + 1) % 4;
  snprintf(path[turn], sizeof path[turn], "%s/%s", folder, name);
  return path[turn];
}

static size_t file_text(const char *path, char *to, size_t room) {
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  ssize_t count = fd < 0 ? 0 : read(fd, to, room - 1);
  if (fd >= 0) close(fd);
  to[count > 0 ? count : 0] = '\0';
  return (size_t)(count > 0 ? count : 0);
}

/* What a child did: its exit status, and what it wrote (through a file). */
static int run(const char *const *argv, const char *const *env, const char *cwd, char *out,
               size_t room) {
  const struct sys *sys = sys_real();
  int to = sys->open(sys, in_folder("out"), O_RDWR | O_CREAT | O_TRUNC, 0600);
  int from = sys->open(sys, "/dev/null", O_RDONLY, 0);
  struct sys_spawn wish = {.argv = argv, .env = env, .cwd = cwd, .in = from, .out = to, .err = to};
  pid_t pid = 0;
  int ended = -1;
  int result = sys->spawn(sys, &wish, &pid, &ended);
  sys->close(sys, from);
  sys->close(sys, to);
  if (result < 0) return result;
  struct pollfd wait = {.fd = ended, .events = POLLIN};
  CHECK(poll(&wait, 1, 5000) == 1);
  int status = -1;
  CHECK(sys->reap(sys, pid, &status) == 0);
  CHECK((fcntl(ended, F_GETFD) & FD_CLOEXEC) != 0);
  sys->close(sys, ended);
  file_text(in_folder("out"), out, room);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

#define ARGV(...)                                                                                  \
  (const char *const[]) {                                                                          \
    __VA_ARGS__, NULL                                                                              \
  }
static const char *const usual[] = {"PATH=/usr/bin:/bin", "COLOUR=blue", NULL};

static void test_processes(void) {
  char out[4096];
  TEST("a child gets exactly the environment and folder it is given") {
    CHECK(run(ARGV("env"), usual, NULL, out, sizeof out) == 0);
    CHECK_STR(out, "PATH=/usr/bin:/bin\nCOLOUR=blue\n");
    CHECK(run(ARGV("pwd"), usual, "/usr", out, sizeof out) == 0);
    CHECK_STR(out, "/usr\n");
  }
  TEST("a child inherits no descriptor but 0, 1 and 2") {
    int loose = open("/dev/null", O_RDONLY); /* deliberately not close-on-exec */
    CHECK(run(ARGV("sh", "-c", "ls /proc/$$/fd"), usual, NULL, out, sizeof out) == 0);
    CHECK_STR(out, "0\n1\n2\n");
    close(loose);
  }
  TEST("a child leads a group of its own, with clean signals") {
    sigset_t blocked, before;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGTERM);
    sigprocmask(SIG_BLOCK, &blocked, &before);
    void (*pipe_before)(int) = signal(SIGPIPE, SIG_IGN);
    CHECK(run(ARGV("grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status"), usual, NULL, out,
              sizeof out) == 0);
    unsigned long long mask = 1, ignored = 1;
    CHECK(sscanf(out, "SigBlk: %llx SigIgn: %llx", &mask, &ignored) == 2);
    CHECK(mask == 0);
    CHECK((ignored & ~0x180000000ULL) == 0); /* 32 and 33 belong to the C library alone */
    signal(SIGPIPE, pipe_before);
    sigprocmask(SIG_SETMASK, &before, NULL);
    CHECK(run(ARGV("sh", "-c", "cut -d ' ' -f 5 /proc/$$/stat; echo $$"), usual, NULL, out,
              sizeof out) == 0);
    long group = 0, pid = 0;
    CHECK(sscanf(out, "%ld %ld", &group, &pid) == 2 && group == pid);
  }
  TEST("a program is looked up in the PATH of the child, not of the caller") {
    int fd = open(in_folder("hello-tool"), O_WRONLY | O_CREAT | O_CLOEXEC, 0700);
    CHECK(write(fd, "#!/bin/sh\necho hello $1\n", 24) == 24);
    close(fd);
    char path[128];
    snprintf(path, sizeof path, "PATH=/nowhere:%s:/bin", folder);
    CHECK(run(ARGV("hello-tool", "you"), ARGV(path), NULL, out, sizeof out) == 0);
    CHECK_STR(out, "hello you\n");
    CHECK(run(ARGV("hello-tool"), usual, NULL, out, sizeof out) == -ENOENT);
    CHECK(run(ARGV("./hello-tool", "here"), usual, folder, out, sizeof out) == 0);
    CHECK(run(ARGV("hello-tool", "dot"), ARGV("PATH=."), folder, out, sizeof out) == 0);
    CHECK_STR(out, "hello dot\n");
    CHECK(run(ARGV(folder), usual, NULL, out, sizeof out) == -EACCES);
    CHECK(run(ARGV("true"), usual, "/nowhere", out, sizeof out) == -ENOENT);
    chmod(in_folder("hello-tool"), 0600);
    CHECK(run(ARGV("hello-tool"), ARGV(path), NULL, out, sizeof out) == -EACCES);
    unlink(in_folder("hello-tool"));
    CHECK(run(ARGV(""), usual, NULL, out, sizeof out) < 0);
  }
  unlink(in_folder("out"));
}

static void test_descriptor_order(void) {
  TEST("a child's descriptors may come from the low ones in any order") {
    const struct sys *sys = sys_real();
    int pipes[2];
    CHECK(pipe2(pipes, O_CLOEXEC) == 0);
    pid_t middle = fork();
    if (middle == 0) { /* here 0 is what the child must write to, and 1 what it reads */
      int source = open("/proc/self/comm", O_RDONLY | O_CLOEXEC);
      dup2(pipes[1], 0);
      dup2(source, 1);
      struct sys_spawn wish = {.argv = ARGV("cat"), .env = usual, .in = 1, .out = 0, .err = 2};
      pid_t pid;
      int ended, status;
      if (sys->spawn(sys, &wish, &pid, &ended) < 0) _exit(9);
      waitpid(pid, &status, 0);
      _exit(0);
    }
    close(pipes[1]);
    char text[64] = "";
    CHECK(read(pipes[0], text, sizeof text - 1) > 0);
    char name[64];
    file_text("/proc/self/comm", name, sizeof name);
    CHECK_STR(text, name);
    close(pipes[0]);
    int status = 1;
    waitpid(middle, &status, 0);
    CHECK(status == 0);
  }
  TEST("a group is killed whole, and its leader reaped once it has ended") {
    const struct sys *sys = sys_real();
    int pipes[2];
    CHECK(pipe2(pipes, O_CLOEXEC) == 0);
    struct sys_spawn wish = {.argv = ARGV("sh", "-c", "sleep 30 & echo; wait"),
                             .env = usual,
                             .in = 0,
                             .out = pipes[1],
                             .err = 2};
    pid_t pid;
    int ended, status = 0;
    char byte;
    CHECK(sys->spawn(sys, &wish, &pid, &ended) == 0);
    close(pipes[1]);
    CHECK(read(pipes[0], &byte, 1) == 1);
    CHECK(sys->reap(sys, pid, &status) == -EAGAIN);
    CHECK(sys->kill_group(sys, pid, SIGKILL) == 0);
    CHECK(read(pipes[0], &byte, 1) == 0); /* the grandchild's end is gone too */
    struct pollfd wait = {.fd = ended, .events = POLLIN};
    CHECK(poll(&wait, 1, 5000) == 1);
    CHECK(sys->reap(sys, pid, &status) == 0 && WIFSIGNALED(status));
    CHECK(sys->reap(sys, pid, &status) == -ECHILD);
    close(ended);
    close(pipes[0]);
  }
  TEST("a program ends at the time of the leash, which is known until it is reaped; a later time "
       "spares it") {
    const struct sys *sys = sys_real();
    int life[2], ended[2], status = 0;
    pid_t pids[2];
    CHECK(pipe2(life, O_CLOEXEC) == 0);
    for (int i = 0; i < 2; i++) {
      struct sys_spawn wish = {
          .argv = ARGV("sleep", "30"), .env = usual, .in = 0, .out = 1, .err = 2, .life = life[0]};
      CHECK(sys->leash(sys, sys->boot_ns(sys) + (i == 0 ? 50000000 : 20000000000)) == 0);
      CHECK(sys->spawn(sys, &wish, &pids[i], &ended[i]) == 0);
      struct pollfd wait = {.fd = ended[i], .events = POLLIN};
      CHECK(poll(&wait, 1, i == 0 ? 5000 : 300) == (i == 0));
      CHECK(sys->leashed(sys, pids[i]) == (i == 0));
    }
    CHECK(sys->kill_group(sys, pids[1], SIGKILL) == 0);
    for (int i = 0; i < 2; i++) {
      struct pollfd wait = {.fd = ended[i], .events = POLLIN};
      CHECK(poll(&wait, 1, 5000) == 1 && sys->reap(sys, pids[i], &status) == 0);
      CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL && !sys->leashed(sys, pids[i]));
      close(ended[i]);
      close(life[i]);
    }
    CHECK(sys->leash(sys, 0) == 0);
  }
  TEST("the guard of the leash keeps nothing open, not for a moment: a lock that is released is "
       "free") {
    const struct sys *sys = sys_real();
    for (int i = 0; i < 100; i++) {
      int fd = open(in_folder("locked"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
      CHECK(sys->lock(sys, fd) == 0);
      CHECK(sys->leash(sys, sys->boot_ns(sys) + 20000000000) == 0);
      close(fd);
      fd = open(in_folder("locked"), O_RDWR | O_CLOEXEC);
      CHECK(sys->lock(sys, fd) == 0);
      close(fd);
      CHECK(sys->leash(sys, 0) == 0);
    }
    unlink(in_folder("locked"));
  }
}

static bool count_entry(void *data, const char *name, enum sys_kind kind) {
  int *count = data;
  if (strcmp(name, "file") == 0) CHECK(kind == SYS_FILE);
  if (strcmp(name, "link") == 0) CHECK(kind == SYS_LINK);
  if (strcmp(name, "sub") == 0) CHECK(kind == SYS_DIRECTORY);
  return ++*count != 100;
}

static bool first_entry(void *data, const char *name, enum sys_kind kind) {
  (void)name, (void)kind;
  ++*(int *)data;
  return false;
}

static void test_files(void) {
  const struct sys *sys = sys_real();
  struct sys_stat stat;
  TEST("files are opened close-on-exec and do what they should") {
    int fd = sys->open(sys, in_folder("file"), O_RDWR | O_CREAT, 0600);
    CHECK(fd >= 0 && (fcntl(fd, F_GETFD) & FD_CLOEXEC));
    CHECK(sys->write(sys, fd, "hello world", 11) == 11);
    CHECK(sys->truncate(sys, fd, 5) == 0);
    int reserved = sys->reserve(sys, fd, 0, 65536);
    CHECK(reserved == 0 || reserved == -EOPNOTSUPP);
    CHECK(sys->fstat(sys, fd, &stat) == 0 && stat.size == 5 && stat.mode == 0600);
    CHECK(sys->seek(sys, fd, 1, SEEK_SET) == 1);
    char text[8] = "";
    CHECK(sys->read(sys, fd, text, 7) == 4);
    CHECK_STR(text, "ello");
    CHECK(sys->pread(sys, fd, text, 2, 3) == 2 && memcmp(text, "lo", 2) == 0);
    CHECK(sys->fsync(sys, fd) == 0 && sys->fdatasync(sys, fd) == 0);
    CHECK(sys->lock(sys, fd) == 0);
    int other = sys->open(sys, in_folder("file"), O_RDWR, 0);
    CHECK(sys->lock(sys, other) == -EWOULDBLOCK);
    CHECK(sys->close(sys, fd) == 0 && sys->lock(sys, other) == 0);
    CHECK(sys->close(sys, other) == 0 && sys->close(sys, other) == -EBADF);
    CHECK(sys->open(sys, in_folder("none"), O_RDONLY, 0) == -ENOENT);
  }
  TEST("folders, links and listings") {
    CHECK(sys->mkdir(sys, in_folder("sub"), 0700) == 0);
    CHECK(sys->mkdir(sys, in_folder("sub"), 0700) == -EEXIST);
    CHECK(symlink("file", in_folder("link")) == 0);
    CHECK(sys->stat(sys, in_folder("link"), &stat) == 0 && stat.kind == SYS_LINK);
    CHECK(sys->stat(sys, in_folder("sub"), &stat) == 0 && stat.kind == SYS_DIRECTORY);
    int count = 0;
    CHECK(sys->list(sys, folder, count_entry, &count) == 0 && count == 3);
    count = 0;
    CHECK(sys->list(sys, folder, first_entry, &count) == 0 && count == 1);
    CHECK(sys->list(sys, in_folder("none"), count_entry, &count) == -ENOENT);
    CHECK(sys->rename(sys, in_folder("file"), in_folder("moved")) == 0);
    CHECK(sys->unlink(sys, in_folder("moved")) == 0);
    CHECK(sys->unlink(sys, in_folder("moved")) == -ENOENT);
    CHECK(sys->unlink(sys, in_folder("link")) == 0 && sys->rmdir(sys, in_folder("sub")) == 0);
  }
  TEST("clocks run, random bytes differ, sockets are close-on-exec") {
    int64_t before = sys->mono_ns(sys);
    CHECK(sys->wall_ms(sys) > INT64_C(1700000000000) && sys->mono_ns(sys) >= before);
    unsigned char a[600] = {0}, b[600] = {0};
    CHECK(sys->random(sys, a, sizeof a) == 0 && sys->random(sys, b, sizeof b) == 0);
    CHECK(memcmp(a, b, sizeof a) != 0 && memcmp(a + 590, b + 590, 10) != 0);
    int fd = sys->socket(sys, 1 /* AF_UNIX */, 1 /* SOCK_STREAM */, 0);
    CHECK(fd >= 0 && (fcntl(fd, F_GETFD) & FD_CLOEXEC));
    sys->close(sys, fd);
  }
}

/* A world that interrupts, shortens and fails: call n of `what` gives `give`. */
struct rough {
  struct sys sys;
  const char *fail;
  int give, syncs, renames;
};

static ssize_t rough_write(const struct sys *sys, int fd, const void *from, size_t size) {
  struct rough *rough = sys->self;
  static int turn;
  if (strcmp(rough->fail, "write") == 0) return rough->give;
  if (++turn % 2) return -EINTR;
  return write(fd, from, size > 3 ? 3 : size);
}
static ssize_t rough_pread(const struct sys *sys, int fd, void *to, size_t size, int64_t at) {
  struct rough *rough = sys->self;
  static int turn;
  if (strcmp(rough->fail, "pread") == 0) return rough->give;
  return ++turn % 2 ? -EINTR : pread(fd, to, size > 2 ? 2 : size, at);
}
static int rough_fsync(const struct sys *sys, int fd) {
  struct rough *rough = sys->self;
  rough->syncs++;
  return strcmp(rough->fail, "fsync") == 0 ? rough->give : fsync(fd);
}
static int rough_rename(const struct sys *sys, const char *from, const char *to) {
  struct rough *rough = sys->self;
  rough->renames++;
  return strcmp(rough->fail, "rename") == 0 ? rough->give : rename(from, to);
}
static int rough_random(const struct sys *sys, void *to, size_t size) {
  struct rough *rough = sys->self;
  memset(to, 7, size);
  return strcmp(rough->fail, "random") == 0 ? rough->give : 0;
}

static int rough_close(const struct sys *sys, int fd) {
  struct rough *rough = sys->self;
  int failed = close(fd);
  return strcmp(rough->fail, "close") == 0 ? rough->give : failed;
}

static void rough_init(struct rough *rough, const char *fail, int give) {
  *rough = (struct rough){.sys = *sys_real(), .fail = fail, .give = give};
  rough->sys.self = rough;
  rough->sys.write = rough_write;
  rough->sys.pread = rough_pread;
  rough->sys.fsync = rough_fsync;
  rough->sys.rename = rough_rename;
  rough->sys.random = rough_random;
  rough->sys.close = rough_close;
}

static void test_whole(void) {
  struct rough rough;
  struct error e;
  char text[64];
  TEST("a file is replaced whole through interrupts and short writes") {
    rough_init(&rough, "", 0);
    CHECK(sys_replace_file(&rough.sys, in_folder("view"), "first content", 13, true, &e));
    CHECK(rough.syncs == 2 && rough.renames == 1); /* the file and its folder */
    CHECK(sys_replace_file(&rough.sys, in_folder("view"), "second", 6, false, &e));
    CHECK(rough.syncs == 2);
    file_text(in_folder("view"), text, sizeof text);
    CHECK_STR(text, "second");
    struct sys_stat stat;
    CHECK(sys_real()->stat(sys_real(), in_folder("view"), &stat) == 0 && stat.mode == 0600);
  }
  TEST("a failed replacement leaves the old content and no stray file") {
    const char *fail[] = {"write", "fsync", "close", "rename", "random"};
    for (int i = 0; i < 5; i++) {
      rough_init(&rough, fail[i], -ENOSPC);
      CHECK(!sys_replace_file(&rough.sys, in_folder("view"), "third", 5, true, &e));
      CHECK(e.code == ERROR_SYSTEM && e.number == ENOSPC);
      CHECK(strncmp(e.text, folder, strlen(folder)) == 0);
      file_text(in_folder("view"), text, sizeof text);
      CHECK_STR(text, "second");
      int count = 0;
      sys_real()->list(sys_real(), folder, count_entry, &count);
      CHECK(count == 1);
    }
    rough_init(&rough, "write", 0); /* a world that writes nothing must not hang us */
    CHECK(!sys_replace_file(&rough.sys, in_folder("view"), "x", 1, true, &e) && e.number == EIO);
  }
  TEST("a new file is written in place; a failure leaves none, and what lies there stays") {
    rough_init(&rough, "write", -ENOSPC);
    CHECK(!sys_create_file(&rough.sys, in_folder("new"), "text", 4, &e) && e.number == ENOSPC);
    CHECK(access(in_folder("new"), F_OK) != 0);
    rough_init(&rough, "close", -EIO); /* a disk behind a network says only then that it is full */
    CHECK(!sys_create_file(&rough.sys, in_folder("new"), "text", 4, &e) && e.number == EIO);
    CHECK(access(in_folder("new"), F_OK) != 0);
    rough_init(&rough, "close", -EINTR);
    CHECK(sys_create_file(&rough.sys, in_folder("new"), "all of it", 9, &e));
    CHECK(rough.syncs == 0 && rough.renames == 0);
    CHECK(!sys_create_file(&rough.sys, in_folder("new"), "other", 5, &e) && e.number == EEXIST);
    file_text(in_folder("new"), text, sizeof text);
    CHECK_STR(text, "all of it");
    unlink(in_folder("new"));
    CHECK(symlink("elsewhere", in_folder("new")) == 0);
    CHECK(!sys_create_file(&rough.sys, in_folder("new"), "text", 4, &e) && e.number == EEXIST);
    unlink(in_folder("new"));
  }
  TEST("reading exactly n bytes goes on when interrupted and tells a short file") {
    rough_init(&rough, "", 0);
    int fd = open(in_folder("view"), O_RDONLY | O_CLOEXEC);
    CHECK(sys_pread_all(&rough.sys, fd, text, 5, 1, "view", &e) && memcmp(text, "econd", 5) == 0);
    CHECK(!sys_pread_all(&rough.sys, fd, text, 6, 1, "view", &e) && e.code == ERROR_CORRUPT);
    CHECK_STR(e.text, "view: ends at byte 6, 1 bytes too early");
    rough_init(&rough, "pread", -EIO);
    CHECK(!sys_pread_all(&rough.sys, fd, text, 1, 0, "view", &e) && e.number == EIO);
    close(fd);
    CHECK(!sys_sync_directory(sys_real(), in_folder("none"), &e) && e.number == ENOENT);
    CHECK(sys_sync_directory(sys_real(), folder, &e));
    unlink(in_folder("view"));
  }
  TEST("a whole file is read up to the buffer's maximum, which a byte more exceeds") {
    struct buffer to;
    CHECK(sys_replace_file(sys_real(), in_folder("whole"), "12345678", 8, false, &e));
    for (size_t maximum = 7; maximum < 10; maximum++) {
      buffer_init(&to, sys_real(), maximum);
      bool good = buffer_read_file(&to, in_folder("whole"), false, &e);
      CHECK(good == (maximum >= 8));
      if (good) CHECK_STR(to.data, "12345678");
      if (!good) CHECK(e.code == ERROR_LIMIT && strstr(e.text, "/whole: more than 7 bytes"));
      buffer_clear(&to);
    }
    buffer_init(&to, sys_real(), 100);
    CHECK(buffer_read_file(&to, "/proc/self/comm", false, &e) && to.length > 0);
    CHECK(!buffer_read_file(&to, in_folder("none"), true, &e) && e.code == ERROR_MISSING);
    CHECK(!buffer_read_file(&to, folder, false, &e) && e.number == EISDIR);
    CHECK(!buffer_read_file(&to, "/dev/null", false, &e) && strstr(e.text, "not a regular file"));
    to.length = 0;
    CHECK(buffer_read_file(&to, "/dev/null", true, &e) && to.length == 0);
    CHECK(mkfifo(in_folder("pipe"), 0600) == 0);
    CHECK(!buffer_read_file(&to, in_folder("pipe"), false, &e));
    CHECK(buffer_read_file(&to, in_folder("pipe"), true, &e) && to.length == 0);
    int end = open(in_folder("pipe"), O_RDWR);
    CHECK(write(end, "late", 4) == 4);
    pid_t child = fork();
    if (child == 0) {
      usleep(20000);
      close(end);
      _exit(0);
    }
    close(end);
    CHECK(buffer_read_file(&to, in_folder("pipe"), true, &e));
    CHECK_STR(to.data, "late");
    waitpid(child, NULL, 0);
    unlink(in_folder("pipe"));
    buffer_clear(&to);
    unlink(in_folder("whole"));
  }
  TEST("sys_alloc gives zeroed memory") {
    unsigned char *block = sys_alloc(sys_real(), 4096);
    for (int i = 0; i < 4096; i++)
      if (block[i]) {
        CHECK(!"zero");
        break;
      }
    sys_free(sys_real(), block, 4096);
    sys_free(sys_real(), NULL, 0);
  }
}

int main(void) {
  const char *home = getenv("TMPDIR");
  snprintf(folder, sizeof folder, "%.40s/sys-test-XXXXXX", home && *home ? home : "/tmp");
  if (!mkdtemp(folder)) return 1;
  test_processes();
  test_descriptor_order();
  test_files();
  test_whole();
  rmdir(folder);
  return check_finish();
}
