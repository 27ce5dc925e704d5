/* confine.c: see confine.h. A list of what is left, where jail_filter.c has one of what is refused.
 */
#include "jail/confine.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined __x86_64__
enum { ARCH = (int)AUDIT_ARCH_X86_64 };
#elif defined __aarch64__
enum { ARCH = (int)AUDIT_ARCH_AARCH64 };
#else
enum { ARCH = 0 };
#endif

/* Of numbers below the bit of x32, which are others. */
static const unsigned short left[] = {
    SYS_read,         SYS_write,           SYS_close,        SYS_futex,          SYS_brk,
    SYS_mmap,         SYS_munmap,          SYS_mremap,       SYS_mprotect,       SYS_madvise,
    SYS_exit,         SYS_exit_group,      SYS_rt_sigreturn, SYS_rt_sigprocmask, SYS_clock_gettime,
    SYS_gettimeofday, SYS_restart_syscall, SYS_getrandom,
#ifdef __SANITIZE_ADDRESS__
    SYS_sigaltstack, /* it asks for it at each longjmp, and ends where it gets no answer */
#endif
};

enum { LEFT = sizeof left / sizeof *left, ROOM = LEFT + 6 };

static void limit(int resource, rlim_t most) {
  struct rlimit now;
  if (getrlimit((__rlimit_resource_t)resource, &now) < 0) return;
  if (now.rlim_max > most) now.rlim_max = most;
  now.rlim_cur = now.rlim_max;
  setrlimit((__rlimit_resource_t)resource, &now);
}

static size_t make(struct sock_filter room[ROOM]) {
  struct sock_filter *at = room;
  *at++ =
      (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch));
  *at++ = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)ARCH, 0, LEFT + 1);
  *at++ = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
  for (unsigned i = 0; i < LEFT; i++)
    *at++ = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, left[i],
                                         (unsigned char)(LEFT - i), 0);
  *at++ = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
  *at++ = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  return (size_t)(at - room);
}

bool confine(size_t memory, struct error *error) {
  struct sock_filter room[ROOM];
  struct sock_fprog filter = {.len = (unsigned short)make(room), .filter = room};
  limit(RLIMIT_CORE, 0);
#ifndef __SANITIZE_ADDRESS__
  limit(RLIMIT_AS, memory);
#else
  (void)memory; /* which takes terabytes of addresses */
#endif
  if (ARCH == 0) return error_system(error, ENOSYS, "filter the system calls of this processor");
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
    return error_system(error, errno, "give up new privileges");
  if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter) < 0)
    return error_system(error, errno, "filter system calls");
  return true;
}
