/* jail_drop.c: in the child: what it gives up for itself and all that it starts: capabilities, also
 * those that an administrator's programs would get, privileges of set-user-ID programs, core files.
 */
#include "jail/jail_inside.h"

#include <errno.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { CAPABILITIES = 64, PROCESSES = 4096 };

/* Never more than there was. */
IN_CHILD static void limit(int resource, rlim_t most) {
  struct rlimit now;
  if (getrlimit((__rlimit_resource_t)resource, &now) < 0) return;
  if (now.rlim_max > most) now.rlim_max = most;
  if (now.rlim_cur > now.rlim_max) now.rlim_cur = now.rlim_max;
  setrlimit((__rlimit_resource_t)resource, &now);
}

int jail_drop(void) {
  struct __user_cap_header_struct version = {.version = _LINUX_CAPABILITY_VERSION_3};
  const struct __user_cap_data_struct none[2] = {{0}};
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_NPROC, PROCESSES);
  prctl(PR_SET_SECUREBITS, SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |
                               SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED |
                               SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED);
  for (unsigned long one = 0; one < CAPABILITIES; one++)
    prctl(PR_CAPBSET_DROP, one, 0, 0, 0); /* those that this kernel has */
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0) return errno;
  return syscall(SYS_capset, &version, none) < 0 ? errno : 0;
}
