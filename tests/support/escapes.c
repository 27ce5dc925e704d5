/* escapes.c: see escapes.h. */
#include "support/escapes.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <netinet/in.h>
#include <pty.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/timex.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef AF_VSOCK
#define AF_VSOCK 40
#endif

static const char *at(const char *below) {
  static char paths[4][512];
  static int next;
  char *path = paths[next++ % 4];
  snprintf(path, sizeof paths[0], "%s/%s", getenv("ESCAPE_DIR"), below);
  return path;
}

static int number(const char *name) {
  const char *text = getenv(name);
  return text ? atoi(text) : 0;
}

static bool opens(const char *path, int flags) {
  int fd = open(path, flags | O_CLOEXEC | O_NONBLOCK, 0600);
  if (fd < 0) return false;
  close(fd);
  return true;
}

/* Whether it holds the secret. */
static bool reads(const char *path) {
  char text[4096] = "";
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return false;
  ssize_t got = read(fd, text, sizeof text - 1);
  close(fd);
  return got > 0 && memmem(text, (size_t)got, "the secret", 10);
}

static bool is_in(const char *path) {
  return access(path, F_OK) == 0;
}

/* ---- files ---- */

static bool read_outside(void) {
  return reads(at("outside/secret"));
}
static bool read_dots(void) {
  return reads("../outside/secret");
}
static bool read_link(void) {
  unlink("to-secret");
  return symlink(at("outside/secret"), "to-secret") == 0 && reads("to-secret");
}
static bool read_through_root(void) {
  char path[600];
  snprintf(path, sizeof path, "/proc/self/root%s", at("outside/secret"));
  return reads(path);
}
static bool see_through_above(void) { /* Landlock keeps it from being read */
  char path[600];
  snprintf(path, sizeof path, "/..%s", at("outside/secret"));
  return is_in(path);
}
static bool read_through_first(void) {
  char path[600];
  snprintf(path, sizeof path, "/proc/%d/root%s", number("ESCAPE_PID"), at("outside/secret"));
  if (reads(path)) return true;
  snprintf(path, sizeof path, "/proc/1/root%s", at("outside/secret"));
  return reads(path);
}
static bool read_key(void) {
  return reads(at("home/.ssh/id"));
}
static bool read_renamed_key(void) {
  return rename(at("home/.ssh"), at("home/.was-ssh")) == 0 && reads(at("home/.was-ssh/id")) &&
         rename(at("home/.was-ssh"), at("home/.ssh")) == 0;
}
static bool read_token(void) {
  return reads(at("home/.npmrc"));
}
static bool read_shadow(void) {
  return opens("/etc/shadow", O_RDONLY);
}
static bool read_inherited(void) {
  char text[64] = "";
  int fd = openat(number("ESCAPE_FD"), "secret", O_RDONLY | O_CLOEXEC);
  return fd >= 0 && read(fd, text, sizeof text) > 0;
}
static bool read_inherited_file(void) {
  char text[64] = "";
  return pread(number("ESCAPE_FILE"), text, sizeof text - 1, 0) > 0;
}
static bool read_tmp(void) {
  return reads(getenv("ESCAPE_TMP"));
}
static bool read_shm(void) {
  return reads(getenv("ESCAPE_SHM"));
}
static bool hard_link(void) {
  unlink("linked");
  return link(at("outside/secret"), "linked") == 0;
}
static bool write_outside(void) {
  return opens(at("outside/new"), O_WRONLY | O_CREAT);
}
static bool write_home(void) {
  return opens(at("home/new"), O_WRONLY | O_CREAT);
}
static bool write_link(void) {
  unlink("to-new");
  return symlink(at("outside/new2"), "to-new") == 0 && opens("to-new", O_WRONLY | O_CREAT) &&
         is_in(at("outside/new2"));
}
static bool move_out(void) {
  return opens("mine", O_WRONLY | O_CREAT) && rename("mine", at("outside/moved")) == 0;
}
static bool move_in(void) {
  return rename(at("outside/movable"), "moved") == 0 && rename("moved", at("outside/movable")) == 0;
}
static bool truncate_outside(void) {
  return truncate(at("outside/movable"), 3) == 0;
}
static bool change_mode(void) {
  return chmod(at("outside/movable"), 0666) == 0;
}
static bool change_times(void) {
  return utimensat(AT_FDCWD, at("outside/movable"), NULL, 0) == 0;
}
static bool execute_outside(void) {
  pid_t pid = fork();
  int status = 1;
  if (pid == 0) {
    execl(at("outside/tool"), "tool", NULL);
    _exit(9);
  }
  return waitpid(pid, &status, 0) == pid && status == 0;
}
static bool write_fifo(void) {
  return opens(at("outside/fifo"), O_RDWR);
}
static bool write_fifo_of_system(void) {
  return opens(getenv("ESCAPE_FIFO"), O_RDWR);
}
static bool write_hook(void) {
  return opens(".git/hooks/pre-commit", O_WRONLY | O_CREAT);
}
static bool write_git_config(void) {
  return opens(".git/config", O_WRONLY | O_APPEND);
}
static bool exchange_git(void) {
  return rename(".git", ".was-git") == 0 && rename(".was-git", ".git") == 0;
}
static bool unlink_git(void) {
  return unlink(".git/config.old") == 0 && opens(".git/config.old", O_WRONLY | O_CREAT);
}
static bool git_common(void) {
  return opens(".git/commondir", O_WRONLY | O_CREAT) && unlink(".git/commondir") == 0;
}
static bool write_servers(void) {
  return opens(".mcp.json", O_WRONLY | O_APPEND);
}
static bool exchange_servers(void) {
  return opens("new.json", O_WRONLY | O_CREAT) && rename("new.json", ".mcp.json") == 0;
}
static bool write_rc(void) {
  return opens(at("home/.bashrc"), O_WRONLY | O_APPEND);
}
static bool append_rc_in_work(void) {
  return opens(".bashrc", O_WRONLY | O_APPEND);
}
static bool write_journal(void) {
  return opens("run/journal/00000001.sj", O_WRONLY | O_APPEND);
}
static bool answer_itself(void) {
  return opens("run/inbox/answer", O_WRONLY | O_CREAT);
}
static bool write_system(void) {
  return opens("/etc/hosts", O_WRONLY | O_APPEND);
}
static bool write_preload(void) {
  return opens("/etc/escape.preload", O_WRONLY | O_CREAT) && unlink("/etc/escape.preload") == 0;
}
static bool write_program(void) {
  return opens("/usr/bin/escape", O_WRONLY | O_CREAT) && unlink("/usr/bin/escape") == 0;
}
static bool write_sysctl(void) {
  return opens("/proc/sys/kernel/core_pattern", O_WRONLY);
}
static bool write_sysrq(void) {
  return opens("/proc/sysrq-trigger", O_WRONLY);
}
static bool write_sys(void) {
  return opens("/sys/power/state", O_WRONLY) || opens("/sys/kernel/mm/ksm/run", O_WRONLY) ||
         opens("/sys/kernel/profiling", O_WRONLY);
}
static bool make_device(void) {
  struct stat about;
  bool made = stat("/", &about) == 0 && mknod("disk", S_IFBLK | 0600, about.st_dev) == 0 &&
              opens("disk", O_RDONLY);
  unlink("disk");
  return made;
}
static bool make_null(void) {
  bool made = mknod("null", S_IFCHR | 0600, makedev(1, 3)) == 0 && opens("null", O_RDONLY);
  unlink("null");
  return made;
}
static bool set_user_id(void) {
  int fd = open("suid", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  bool set = chmod("suid", 04755) == 0 || fchmod(fd, 04755) == 0 || fchmod(fd, 04005) == 0 ||
             fchmodat(AT_FDCWD, "suid", 04005, 0) == 0 || mknod("suid4", S_IFREG | 04005, 0) == 0 ||
             creat("suid5", 04005) >= 0;
  chmod("suid", 0600);
  return set;
}
static bool set_user_id_new(void) {
  struct stat about;
  unlink("suid2");
  int fd = open("suid2", O_WRONLY | O_CREAT | O_CLOEXEC, 04755);
  bool set = fd >= 0 && fstat(fd, &about) == 0 && (about.st_mode & S_ISUID);
  unlink("suid2");
  return set;
}
static bool set_user_id_other_call(void) {
  return opens("suid3", O_WRONLY | O_CREAT) &&
         syscall(452, AT_FDCWD, "suid3", 04755, AT_SYMLINK_NOFOLLOW) == 0;
}
static bool by_handle(void) {
  struct {
    struct file_handle head;
    char room[128];
  } handle = {.head.handle_bytes = 128};
  int mount;
  return name_to_handle_at(AT_FDCWD, ".", &handle.head, &mount, 0) == 0;
}

/* ---- other programs ---- */

static bool see_victim(void) {
  return kill(number("ESCAPE_PID"), 0) == 0;
}
static bool see_environment(void) {
  char path[64], text[4096] = "";
  snprintf(path, sizeof path, "/proc/%d/environ", number("ESCAPE_PID"));
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  return fd >= 0 && read(fd, text, sizeof text) > 0;
}
static bool see_first(void) { /* without a jail: another program of this user */
  char path[64], text[64];
  snprintf(path, sizeof path, "/proc/%d/mem", number("ESCAPE_PID"));
  return opens(path, O_RDONLY) || opens("/proc/1/mem", O_RDONLY) ||
         (getpid() != 1 && is_in("/proc/1/status") &&
          readlink("/proc/1/exe", text, sizeof text) > 0);
}
static bool see_command_line(void) { /* of its own first process: it may be that of skillrt */
  return getpid() != 1 && opens("/proc/1/cmdline", O_RDONLY);
}
static bool trace(void) {
  pid_t pid = fork();
  int status = 0;
  if (pid == 0) _exit(ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0 ? 0 : 9);
  return waitpid(pid, &status, 0) == pid && status == 0;
}
static bool read_memory(void) {
  char from[8] = "abc", to[8];
  struct iovec here = {to, 8}, there = {from, 8};
  return process_vm_readv(getpid(), &here, 1, &there, 1, 0) == 8;
}
static bool take_descriptor(void) {
  int pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0);
  return pidfd >= 0 && syscall(SYS_pidfd_getfd, pidfd, 1, 0) >= 0;
}
static bool share_memory(void) {
  return shmget(number("ESCAPE_SHMKEY"), 0, 0) >= 0;
}
static bool stay_behind(void) { /* a session of its own, which no signal to the group reaches */
  pid_t pid = fork();
  if (pid == 0) {
    setsid();
    for (int fd = 0; fd < 3; fd++)
      close(fd);
    usleep(400000);
    close(open(at("work/alive"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    _exit(0);
  }
  return pid > 0; /* the test looks for work/alive */
}
static bool core_file(void) {
  struct rlimit most;
  getrlimit(RLIMIT_CORE, &most);
  most.rlim_cur = 1 << 20;
  if (most.rlim_max < most.rlim_cur) most.rlim_max = most.rlim_cur;
  return setrlimit(RLIMIT_CORE, &most) == 0;
}
static bool terminal(void) {
  return opens("/dev/tty", O_RDWR);
}
static bool inject(bool high) {
  int master, slave;
  pid_t pid = fork();
  int status = 1;
  if (pid == 0) {
    if (openpty(&master, &slave, NULL, NULL, NULL) < 0) _exit(9);
    setsid();
    if (ioctl(slave, TIOCSCTTY, 0) < 0) _exit(8);
    unsigned long request = TIOCSTI;
    if (high) request |= 1UL << 32; /* the kernel looks at the low half */
    if (syscall(SYS_ioctl, slave, request, "x") == 0) _exit(0);
    _exit(errno == EIO ? 0 : 7); /* it came to the terminal, where the kernel has it switched off */
  }
  return waitpid(pid, &status, 0) == pid && status == 0;
}
static bool inject_plain(void) {
  return inject(false);
}
static bool inject_high(void) {
  return inject(true);
}

/* ---- the network and sockets ---- */

static bool connects(int family, int type, const void *address, socklen_t size) {
  int fd = socket(family, type | SOCK_CLOEXEC, 0);
  bool fine = fd >= 0 && connect(fd, address, size) == 0;
  if (fd >= 0) close(fd);
  return fine;
}
static struct sockaddr_un named(const char *name, bool abstract, socklen_t *size) {
  struct sockaddr_un to = {.sun_family = AF_UNIX};
  snprintf(to.sun_path + abstract, sizeof to.sun_path - 1, "%s", name);
  *size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + (size_t)abstract + strlen(name));
  return to;
}
static bool abstract_socket(void) {
  socklen_t size;
  struct sockaddr_un to = named(getenv("ESCAPE_ABSTRACT"), true, &size);
  return connects(AF_UNIX, SOCK_STREAM, &to, size);
}
static bool path_socket(void) {
  socklen_t size;
  struct sockaddr_un to = named("socket", false, &size);
  return connects(AF_UNIX, SOCK_STREAM, &to, size);
}
static bool pair_socket(void) {
  socklen_t size;
  struct sockaddr_un to = named("datagrams", false, &size);
  int ends[2];
  return socketpair(AF_UNIX, SOCK_DGRAM, 0, ends) == 0 &&
         sendto(ends[0], "x", 1, 0, (struct sockaddr *)&to, size) == 1;
}
static bool loopback(void) {
  struct sockaddr_in to = {.sin_family = AF_INET,
                           .sin_port = htons((uint16_t)number("ESCAPE_PORT")),
                           .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  return connects(AF_INET, SOCK_STREAM, &to, sizeof to);
}
static bool loopback_datagram(void) { /* to a port where the test listens: it is told */
  struct sockaddr_in to = {.sin_family = AF_INET,
                           .sin_port = htons((uint16_t)number("ESCAPE_UDP")),
                           .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (connect(fd, (struct sockaddr *)&to, sizeof to) < 0) return false;
  char byte;
  return send(fd, "x", 1, 0) == 1 && (usleep(20000), recv(fd, &byte, 1, MSG_DONTWAIT) == -1) &&
         errno != ECONNREFUSED;
}
static bool name_server(void) { /* nothing is sent */
  struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(53)};
  inet_pton(AF_INET, "192.0.2.1", &to.sin_addr);
  return connects(AF_INET, SOCK_DGRAM, &to, sizeof to);
}
static bool family(int which, int type, int protocol) {
  int fd = socket(which, type, protocol);
  if (fd >= 0) close(fd);
  return fd >= 0;
}
static bool vsock(void) {
  return family(AF_VSOCK, SOCK_STREAM, 0);
}
static bool packet(void) {
  return family(AF_PACKET, SOCK_RAW, 0);
}
static bool raw(void) {
  return family(AF_INET, SOCK_RAW, IPPROTO_ICMP);
}
static bool crypto(void) {
  return family(AF_ALG, SOCK_SEQPACKET, 0);
}
static bool netlink_filter(void) {
  return family(AF_NETLINK, SOCK_RAW, 12);
}

/* ---- the kernel ---- */

static bool in_child(int (*run)(void)) {
  pid_t pid = fork();
  int status = 1;
  if (pid == 0) _exit(run());
  return waitpid(pid, &status, 0) == pid && status == 0;
}
static int do_unshare_user(void) {
  return unshare(CLONE_NEWUSER) == 0 ? 0 : 9;
}
static bool unshare_user(void) {
  return in_child(do_unshare_user);
}
static int do_unshare_mounts(void) {
  return unshare(CLONE_NEWNS) == 0 ? 0 : 9;
}
static bool unshare_mounts(void) {
  return in_child(do_unshare_mounts);
}
static bool clone_user(void) {
  pid_t pid = (pid_t)syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, NULL, NULL, NULL, NULL);
  int status = 1;
  if (pid == 0) _exit(0);
  return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}
static bool clone3_user(void) {
  uint64_t args[11] = {CLONE_NEWUSER, [4] = SIGCHLD};
  pid_t pid = (pid_t)syscall(SYS_clone3, args, sizeof args);
  int status = 1;
  if (pid == 0) _exit(0);
  return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}
static int do_set_namespace(void) {
  int fd = open("/proc/self/ns/ipc", O_RDONLY | O_CLOEXEC);
  return fd >= 0 && setns(fd, 0) == 0 ? 0 : 9;
}
static bool set_namespace(void) {
  return in_child(do_set_namespace);
}
static bool x32_call(void) { /* a socket that is refused, by its other number */
#ifdef __x86_64__
  return syscall(0x40000000 + SYS_socket, AF_UNIX, SOCK_STREAM, 0) >= 0;
#else
  return false;
#endif
}
static bool ia32_call(void) { /* the same, as a 32-bit program asks: getpid */
#ifdef __x86_64__
  long result;
  __asm__ volatile("int $0x80" : "=a"(result) : "a"(20L) : "memory", "r8", "r9", "r10", "r11");
  return result > 0;
#else
  return false;
#endif
}
static bool ring(void) {
  char parameters[256] = {0};
  return syscall(SYS_io_uring_setup, 4, parameters) >= 0;
}
static bool keys(void) {
  return syscall(SYS_add_key, "user", "skillrt-escape", "x", 1, -3 /* of the session */) >= 0;
}
static bool key_ring(void) {
  return syscall(SYS_keyctl, 0, -3, 1) >= 0;
}
static bool load_bpf(void) {
  union bpf_attr map = {
      .map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 4, .max_entries = 1};
  return syscall(SYS_bpf, BPF_MAP_CREATE, &map, sizeof map) >= 0;
}
static bool fault(void) {
  return syscall(SYS_userfaultfd, 0) >= 0;
}
static bool perf(void) {
  struct perf_event_attr about = {.type = PERF_TYPE_SOFTWARE,
                                  .size = sizeof about,
                                  .config = PERF_COUNT_SW_CPU_CLOCK,
                                  .exclude_kernel = 1};
  return syscall(SYS_perf_event_open, &about, 0, -1, -1, 0) >= 0;
}
static int do_mount(void) {
  return mount("none", at("work"), "tmpfs", 0, NULL) == 0 && umount(at("work")) == 0 ? 0 : 9;
}
static bool mount_one(void) {
  return in_child(do_mount);
}
static bool copy_mount(void) {
  return open_tree(AT_FDCWD, "/", OPEN_TREE_CLONE) >= 0;
}
static bool make_file_system(void) {
  return fsopen("tmpfs", 0) >= 0;
}
static bool write_again(void) { /* what is read-only is made writable */
  struct mount_attr attr = {.attr_clr = MOUNT_ATTR_RDONLY};
  return mount_setattr(AT_FDCWD, "/", 0, &attr, sizeof attr) == 0;
}
static bool unhide(void) { /* ~/.ssh was covered */
  umount2(at("home/.ssh"), MNT_DETACH);
  return read_key();
}
static int do_chroot(void) {
  return chroot(at("work")) == 0 ? 0 : 9;
}
static bool change_root(void) {
  return in_child(do_chroot);
}
static bool clock_ask(void) {
  struct timex about = {0};
  return adjtimex(&about) >= 0;
}
static bool host_name(void) {
  char name[128] = "";
  return gethostname(name, sizeof name) == 0 && sethostname(name, strlen(name)) == 0;
}
static bool stop_machine(void) { /* the number that says what is to be done is none */
  return syscall(SYS_reboot, 0, 0, 0, NULL) < 0 && errno == EINVAL;
}
static bool kernel_log(void) {
  return syscall(SYS_syslog, 10, NULL, 0) >= 0;
}

#define A ANYBODY
#define S "strict"
#define W "work"

const struct escape escapes[] = {
    {"read a file outside", S, A, read_outside, 0},
    {"read it through ..", S, A, read_dots, 0},
    {"read it through a link that it makes", S, A, read_link, 0},
    {"read it through /proc/self/root", S, A, read_through_root, 0},
    {"see it through /..", S, A, see_through_above, 0},
    {"read it through the root of another process", S, A, read_through_first, 0},
    {"read it through an inherited descriptor", S, A, read_inherited, 0},
    {"read a file that was open", S, A, read_inherited_file, 0},
    {"read an SSH key", W, A, read_key, 0},
    {"read it where its folder is renamed", W, A, read_renamed_key, 0},
    {"read it where what covers it is taken away", W, A, unhide, 0},
    {"read a token of npm", W, A, read_token, 0},
    {"read the passwords of the system", W, ROOT, read_shadow, 0},
    {"read what others have in /tmp", W, A, read_tmp, 0},
    {"read what others have in /dev/shm", W, A, read_shm, 0},
    {"link to a file outside", S, A, hard_link, 0},
    {"write outside", W, A, write_outside, 0},
    {"write into the home folder", W, A, write_home, 0},
    {"write outside through a link that it makes", W, A, write_link, 0},
    {"move a file out", W, A, move_out, 0},
    {"move a file in", W, A, move_in, 0},
    {"cut a file outside", W, A, truncate_outside, 0},
    {"change a mode outside", W, A, change_mode, 0},
    {"change a time outside", W, A, change_times, 0},
    {"execute a program outside", S, A, execute_outside, 0},
    {"write to a fifo outside", S, A, write_fifo, 0},
    {"write to a fifo that it may read", W, ROOT, write_fifo_of_system, 0},
    {"write a hook of git", W, A, write_hook, 0},
    {"write the config of git", W, A, write_git_config, 0},
    {"exchange .git", W, A, exchange_git, 0},
    {"remove a file of .git", W, A, unlink_git, 0},
    {"lead git to another config", W, A, git_common, 0},
    {"write .mcp.json", W, A, write_servers, 0},
    {"exchange .mcp.json", W, A, exchange_servers, 0},
    {"write the rc file of a shell", W, A, write_rc, 0},
    {"write one in a folder that it may write", W, A, append_rc_in_work, 0},
    {"write the journal of its run", W, A, write_journal, 0},
    {"answer a question of its run", W, A, answer_itself, 0},
    {"write a file of the system", W, ROOT, write_system, 0},
    {"make a file that all programs load", W, ROOT, write_preload, 0},
    {"add a program to the system", W, ROOT, write_program, 0},
    {"set what the kernel executes", W, ROOT, write_sysctl, 0},
    {"ask the kernel by sysrq", W, ROOT, write_sysrq, 1},
    {"write a file of the kernel in /sys", W, ROOT, write_sys, 1},
    {"make the disk's device", W, ROOT, make_device, 1},
    {"make a device", S, ROOT, make_null, 0},
    {"make a set-user-ID program", S, A, set_user_id, 0},
    {"create one with its mode", S, A, set_user_id_new, 0},
    {"make one by a newer call", S, A, set_user_id_other_call, 1},
    {"open by a handle", S, A, by_handle, 1},
    {"reach another process", W, A, see_victim, 0},
    {"read the environment of another", W, A, see_environment, 0},
    {"read the memory of another, or of its own first process", W, A, see_first, 1},
    {"read the command line of the first process", W, A, see_command_line, 0},
    {"trace", S, A, trace, 0},
    {"read memory by another call", S, A, read_memory, 0},
    {"take a descriptor of a process", S, A, take_descriptor, 0},
    {"share memory with others", W, A, share_memory, 0},
    {"stay behind", W, A, stay_behind, 0},
    {"leave core files", S, A, core_file, 1},
    {"reach the terminal", W, A, terminal, 1},
    {"type into a terminal (TIOCSTI)", W, A, inject_plain, 1},
    {"... with a request of 64 bits", W, A, inject_high, 1},
    {"talk to an abstract socket", W, A, abstract_socket, 0},
    {"talk to a socket in a folder", W, A, path_socket, 0},
    {"talk to one from a pair of datagram sockets", W, A, pair_socket, 0},
    {"talk to this machine (TCP)", S, A, loopback, 0},
    {"talk to this machine (UDP)", S, A, loopback_datagram, 0},
    {"talk to a name server", S, A, name_server, 1},
    {"make a VSOCK socket", W, A, vsock, 1},
    {"make a packet socket", W, ROOT, packet, 1},
    {"make a raw socket", W, ROOT, raw, 1},
    {"make a socket of the kernel's cryptography", W, A, crypto, 1},
    {"make a socket of the packet filter", W, A, netlink_filter, 1},
    {"have a user namespace (unshare)", S, A, unshare_user, 0},
    {"have a user namespace (clone)", S, A, clone_user, 0},
    {"have a user namespace (clone3)", S, A, clone3_user, 0},
    {"have mounts of its own", S, ROOT, unshare_mounts, 0},
    {"enter a namespace", S, ROOT, set_namespace, 0},
    {"make a call of x32", S, A, x32_call, 1},
    {"make a call of 32-bit programs", S, A, ia32_call, 1},
    {"make an io_uring", S, A, ring, 1},
    {"keep a key in the kernel", S, A, keys, 1},
    {"look for keys", S, A, key_ring, 1},
    {"make a map of BPF", S, ROOT, load_bpf, 1},
    {"handle page faults", S, ROOT, fault, 1},
    {"measure the processor", S, ROOT, perf, 1},
    {"mount", W, ROOT, mount_one, 0},
    {"copy a mount", W, ROOT, copy_mount, 0},
    {"make a file system", W, ROOT, make_file_system, 0},
    {"make writable what is read-only", W, ROOT, write_again, 0},
    {"change the root", W, ROOT, change_root, 0},
    {"ask about the clock's steering", S, A, clock_ask, 0},
    {"rename the machine", S, ROOT, host_name, 0},
    {"stop the machine", S, ROOT, stop_machine, 1},
    {"read the kernel's log", S, ROOT, kernel_log, 1},
    {NULL, NULL, A, NULL, 0},
};

int escape_try(const char *name) {
  for (const struct escape *one = escapes; one->name; one++)
    if (strcmp(one->name, name) == 0) return one->is_out() ? ESCAPE_OUT : ESCAPE_HELD;
  return 127;
}
