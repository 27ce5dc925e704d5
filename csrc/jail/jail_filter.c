/* jail_filter.c: the system calls that a program in a jail does not get: those that reach other
 * programs, the kernel's own state, or parts of it that few look after. A list of what is refused,
 * as programs need far more than anybody could name; what is not there says so (ENOSYS), so that
 * programs go another way, and what is forbidden is EPERM. Written by hand for seccomp. */
#include "jail/jail_inside.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined __x86_64__
enum { ARCH = (int)AUDIT_ARCH_X86_64 };
#elif defined __aarch64__
enum { ARCH = (int)AUDIT_ARCH_AARCH64 };
#else
enum { ARCH = 0 }; /* no filter: jail_filter_enter says so */
#endif

enum {
  X32_BIT = 0x40000000,
  NAMESPACES = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER |
               CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWTIME
};

/* Numbers that headers may not have yet; the same on all processors. */
enum {
  NR_FCHMODAT2 = 452,
  NR_LSM_SET_SELF_ATTR = 460,
  NR_OPEN_TREE_ATTR = 467,
  NR_PROCESS_MADVISE = 440,
  NR_QUOTACTL_FD = 443
};

static const int forbidden[] = {
    /* other programs */
    SYS_ptrace,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_kcmp,
    SYS_pidfd_getfd,
    NR_PROCESS_MADVISE,
    SYS_perf_event_open,
    SYS_migrate_pages,
    SYS_move_pages,
    /* keys */
    SYS_add_key,
    SYS_request_key,
    SYS_keyctl,
    /* mounts and namespaces */
    SYS_mount,
    SYS_umount2,
    SYS_pivot_root,
    SYS_chroot,
    SYS_setns,
    SYS_open_tree,
    SYS_move_mount,
    SYS_fsopen,
    SYS_fsconfig,
    SYS_fsmount,
    SYS_fspick,
    SYS_mount_setattr,
    NR_OPEN_TREE_ATTR,
    SYS_name_to_handle_at,
    SYS_open_by_handle_at,
    SYS_fanotify_init,
    SYS_quotactl,
    NR_QUOTACTL_FD,
    /* the kernel */
    SYS_bpf,
    SYS_userfaultfd,
    SYS_init_module,
    SYS_finit_module,
    SYS_delete_module,
    SYS_kexec_load,
    SYS_reboot,
    SYS_swapon,
    SYS_swapoff,
    SYS_acct,
    SYS_syslog,
    SYS_settimeofday,
    SYS_clock_settime,
    SYS_clock_adjtime,
    SYS_adjtimex,
    SYS_sethostname,
    SYS_setdomainname,
    SYS_vhangup,
    NR_LSM_SET_SELF_ATTR,
#ifdef SYS_kexec_file_load
    SYS_kexec_file_load,
#endif
#ifdef SYS_iopl
    SYS_iopl,
    SYS_ioperm,
    SYS_modify_ldt,
    SYS_uselib,
    SYS_ustat,
    SYS_sysfs,
#endif
};

/* Their arguments lie in memory that a filter cannot see; for clone3 and openat2 there are others.
 */
static const int absent[] = {SYS_clone3, SYS_openat2, SYS_io_uring_setup, SYS_io_uring_enter,
                             SYS_io_uring_register};

/* What makes or changes a file: which argument has the bits of its mode, and where a flag says
 * whether there is one. */
static const struct {
  int call, mode, flags; /* 0: there always is */
} modes[] = {
    {SYS_fchmod, 1, 0}, {SYS_fchmodat, 2, 0}, {NR_FCHMODAT2, 2, 0}, {SYS_mknodat, 2, 0},
    {SYS_openat, 3, 2},
#ifdef SYS_open
    {SYS_chmod, 1, 0},  {SYS_mknod, 1, 0},    {SYS_open, 2, 1},     {SYS_creat, 1, 0},
#endif
};

/* Also TIOCLINUX: it pastes into a console. */
static const unsigned injecting[] = {TIOCSTI, TIOCLINUX};

static void add(struct jail *jail, uint16_t code, unsigned char on_true, unsigned char on_false,
                uint32_t value) {
  if (jail->filter.len < JAIL_FILTER)
    jail->filter_room[jail->filter.len++] = (struct sock_filter){code, on_true, on_false, value};
}

static void load(struct jail *jail, size_t offset) {
  add(jail, BPF_LD | BPF_W | BPF_ABS, 0, 0, (uint32_t)offset);
}

/* The low half of an argument: of descriptors, flags and modes the kernel looks at no more. */
static void load_argument(struct jail *jail, int which) {
  load(jail, offsetof(struct seccomp_data, args) + (size_t)which * 8); /* little-endian */
}

static void answer(struct jail *jail, int number) {
  add(jail, BPF_RET | BPF_K, 0, 0,
      number ? SECCOMP_RET_ERRNO | (uint32_t)number : SECCOMP_RET_ALLOW);
}

/* Unless the value is this, what comes next is jumped over: so many. */
static void unless_equal(struct jail *jail, uint32_t value, unsigned char skip) {
  add(jail, BPF_JMP | BPF_JEQ | BPF_K, 0, skip, value);
}

static void unless_bits(struct jail *jail, uint32_t bits, unsigned char skip) {
  add(jail, BPF_JMP | BPF_JSET | BPF_K, 0, skip, bits);
}

static void refuse(struct jail *jail, int call, int number) {
  unless_equal(jail, (uint32_t)call, 1);
  answer(jail, number);
}

/* Bits of an argument that are refused. */
static void refuse_bits(struct jail *jail, int call, int argument, uint32_t bits) {
  unless_equal(jail, (uint32_t)call, 4);
  load_argument(jail, argument);
  unless_bits(jail, bits, 1);
  answer(jail, EPERM);
  answer(jail, 0);
}

static void refuse_created(struct jail *jail, int call, int mode, int flags) {
  unless_equal(jail, (uint32_t)call, 6);
  load_argument(jail, flags);
  unless_bits(jail, O_CREAT | (O_TMPFILE & ~O_DIRECTORY), 3);
  load_argument(jail, mode);
  unless_bits(jail, S_ISUID, 1);
  answer(jail, EPERM);
  answer(jail, 0);
}

/* A pair that is connected cannot be sent elsewhere; one of datagrams can. */
static void check_pair(struct jail *jail) {
  unless_equal(jail, SYS_socketpair, 5);
  load_argument(jail, 1);
  add(jail, BPF_ALU | BPF_AND | BPF_K, 0, 0, 0xf);
  unless_equal(jail, SOCK_DGRAM, 1);
  answer(jail, jail->unix_sockets ? 0 : EPERM);
  answer(jail, 0);
}

static void allow_family(struct jail *jail, uint32_t family) {
  unless_equal(jail, family, 1);
  answer(jail, 0);
}

static void check_socket(struct jail *jail) {
  unless_equal(jail, SYS_socket, jail->unix_sockets ? 12 : 10);
  load_argument(jail, 0);
  allow_family(jail, AF_INET);
  allow_family(jail, AF_INET6);
  if (jail->unix_sockets) allow_family(jail, AF_UNIX);
  unless_equal(jail, AF_NETLINK, 3); /* of its protocols only that of addresses and routes */
  load_argument(jail, 2);
  unless_equal(jail, 0, 1);
  answer(jail, 0);
  answer(jail, EPERM);
}

static void check_ioctl(struct jail *jail) {
  size_t count = sizeof injecting / sizeof *injecting;
  unless_equal(jail, SYS_ioctl, (unsigned char)(2 * count + 2));
  load_argument(jail, 1);
  for (size_t i = 0; i < count; i++) {
    unless_equal(jail, injecting[i], 1);
    answer(jail, EPERM);
  }
  answer(jail, 0);
}

void jail_filter_make(struct jail *jail) {
  jail->filter = (struct sock_fprog){.filter = jail->filter_room};
  load(jail, offsetof(struct seccomp_data, arch));
  add(jail, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, (uint32_t)ARCH);
  answer(jail, ENOSYS); /* of another processor, as 32-bit programs are */
  load(jail, offsetof(struct seccomp_data, nr));
#ifdef __x86_64__
  add(jail, BPF_JMP | BPF_JGE | BPF_K, 0, 1, X32_BIT); /* the same calls by other numbers */
  answer(jail, ENOSYS);
#endif
  for (size_t i = 0; i < sizeof forbidden / sizeof *forbidden; i++)
    refuse(jail, forbidden[i], EPERM);
  for (size_t i = 0; i < sizeof absent / sizeof *absent; i++)
    refuse(jail, absent[i], ENOSYS);
  for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
    if (modes[i].flags)
      refuse_created(jail, modes[i].call, modes[i].mode, modes[i].flags);
    else
      refuse_bits(jail, modes[i].call, modes[i].mode, S_ISUID);
  refuse_bits(jail, SYS_clone, 0, NAMESPACES);
  refuse_bits(jail, SYS_unshare, 0, NAMESPACES);
  check_ioctl(jail);
  check_pair(jail);
  check_socket(jail);
  answer(jail, 0);
}

int jail_filter_enter(const struct jail *jail) {
  if (ARCH == 0 || jail->filter.len >= JAIL_FILTER)
    return jail_fail(jail, ENOSYS, "filter the system calls of this processor", "");
  if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &jail->filter) < 0)
    return jail_fail(jail, errno, "filter system calls", "");
  return 0;
}
