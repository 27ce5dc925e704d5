/* jail_landlock.c: in the child: what the mounts of a jail say, said once more to Landlock, in
 * whose way no mount stands. Its newest ABI that we know, or none: then the mounts hold alone. */
#include "jail/jail_inside.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Later than the headers of Debian 12. */
enum {
  ACCESS_TRUNCATE = 1 << 14,
  ACCESS_IOCTL_DEVICE = 1 << 15,
  SCOPE_ABSTRACT_UNIX = 1,
  SCOPE_SIGNAL = 2
};

enum {
  READING = LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR,
  OF_FILES = LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE |
             LANDLOCK_ACCESS_FS_WRITE_FILE | ACCESS_TRUNCATE | ACCESS_IOCTL_DEVICE,
  LEAST_ABI = 2 /* the first that lets a file move from one folder to another */
};

/* It does not restrict the network: the loopback of a network namespace is shared with no one. */
struct rules {
  uint64_t files, network, scopes;
};

int jail_landlock_abi(void) {
  long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
  return abi < LEAST_ABI ? 0 : (int)abi;
}

IN_CHILD static uint64_t files_of(int abi) {
  uint64_t all = (LANDLOCK_ACCESS_FS_REFER << 1) - 1;
  if (abi >= 3) all |= ACCESS_TRUNCATE;
  if (abi >= 5) all |= ACCESS_IOCTL_DEVICE;
  return all;
}

IN_CHILD static int allow(const struct jail *jail, int rules, const char *path, bool is_folder,
                          uint64_t access) {
  struct landlock_path_beneath_attr rule = {
      .allowed_access = is_folder ? access : access & OF_FILES,
      .parent_fd = open(path, O_PATH | O_CLOEXEC),
  };
  if (rule.parent_fd < 0) return 0; /* covered by another place */
  long failed = syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
  int number = errno;
  close(rule.parent_fd);
  return failed ? jail_fail(jail, number, "say to Landlock what is granted: ", path) : 0;
}

IN_CHILD static int allow_places(const struct jail *jail, int rules, uint64_t all) {
  int failed = allow(jail, rules, "/", true, READING);
  for (size_t i = 0; i < jail->count && !failed; i++) {
    const struct place *place = &jail->places[i];
    if (place->fd >= 0 && (place->kind == PLACE_WRITE || place->kind == PLACE_FRESH))
      failed = allow(jail, rules, place->path, place->is_folder, all);
  }
  return failed;
}

int jail_landlock_enter(const struct jail *jail) {
  int abi = jail_landlock_abi();
  if (abi == 0) return 0;
  struct rules wanted = {
      .files = files_of(abi),
      .scopes = abi >= 6 ? SCOPE_ABSTRACT_UNIX | SCOPE_SIGNAL : 0,
  };
  size_t size = abi >= 6 ? sizeof wanted : abi >= 4 ? 16 : 8;
  int rules = (int)syscall(SYS_landlock_create_ruleset, &wanted, size, 0);
  if (rules < 0) return jail_fail(jail, errno, "make rules for Landlock", "");
  int failed = allow_places(jail, rules, wanted.files);
  if (!failed && syscall(SYS_landlock_restrict_self, rules, 0) < 0)
    failed = jail_fail(jail, errno, "be restricted by Landlock", "");
  close(rules);
  return failed;
}
