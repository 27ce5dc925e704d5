/* jail_root.c: in the child: the folders of a jail, made of copies of mounts, and the move into
 * them. What is not there is not forbidden but absent; what is there has flags of its mount, which
 * hold for an administrator, too. Needs Linux 5.12 (mount_setattr). */
#include "jail/jail_inside.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { SAFE = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, READ_ONLY = SAFE | MOUNT_ATTR_RDONLY };

IN_CHILD static int protect(int fd, unsigned attributes, unsigned how) {
  struct mount_attr attr = {.attr_set = attributes};
  return mount_setattr(fd, "", AT_EMPTY_PATH | how, &attr, sizeof attr);
}

/* A file system of its own; -1 with errno. */
IN_CHILD static int make_mount(const char *type, const char *const *options, unsigned attributes) {
  int context = fsopen(type, FSOPEN_CLOEXEC), mount = -1;
  if (context < 0) return -1;
  bool fine = true;
  for (; fine && *options; options += 2)
    fine = fsconfig(context, options[1] ? FSCONFIG_SET_STRING : FSCONFIG_SET_FLAG, options[0],
                    options[1], 0) == 0;
  if (fine && fsconfig(context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) == 0)
    mount = fsmount(context, FSMOUNT_CLOEXEC, attributes);
  int failed = errno;
  close(context);
  errno = failed;
  return mount;
}

IN_CHILD static int make_fresh(const char *mode) {
  const char *const options[] = {"mode", mode, "size", "1g", NULL};
  return make_mount("tmpfs", options, SAFE);
}

/* What lies below the new root, through no link. */
IN_CHILD static int find(int root, const char *path) {
  struct open_how how = {.flags = O_PATH | O_CLOEXEC,
                         .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_BENEATH};
  while (*path == '/')
    path++;
  return (int)syscall(SYS_openat2, root, *path ? path : ".", &how, sizeof how);
}

/* Makes the folders on the way, and the last part as what it is to be covered by. That it cannot be
 * made shows when it is looked for. */
IN_CHILD static void make_way(int root, const char *path, bool is_folder) {
  char part[JAIL_PATH];
  size_t length = strlen(path);
  for (size_t i = 1; i <= length; i++) {
    if (path[i] != '/' && path[i] != 0) continue;
    memcpy(part, path + 1, i - 1);
    part[i - 1] = 0;
    if (path[i] == '/' || is_folder)
      mkdirat(root, part, 0755);
    else
      close(openat(root, part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  }
}

IN_CHILD static int cover(const struct jail *jail, int root, int mount, const char *path,
                          bool is_folder) {
  make_way(root, path, is_folder);
  int at = find(root, path);
  if (at < 0) return jail_fail(jail, errno, "find a place for ", path);
  int failed = move_mount(mount, "", at, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH);
  if (failed) return jail_fail(jail, errno, "show ", path);
  close(at);
  return 0;
}

/* A name that was given and leads through links leads there now, too, where nothing else does. */
IN_CHILD static void link_name(int root, const struct place *place) {
  if (strcmp(place->given, place->path) == 0) return;
  char folder[JAIL_PATH];
  const char *last = strrchr(place->given, '/');
  size_t length = (size_t)(last - place->given);
  memcpy(folder, place->given, length);
  folder[length] = 0;
  if (length > 0) make_way(root, folder, true);
  symlinkat(place->path, root, place->given + 1);
}

/* Whether what it lies in is of the machine, and not empty. */
IN_CHILD static bool lies_in_shown(const struct jail *jail, const struct place *place) {
  const struct place *nearest = NULL;
  for (size_t i = 0; i < jail->count && jail->order[i] != place; i++) { /* the last holds */
    const struct place *other = jail->order[i];
    size_t length = strlen(other->path);
    bool around = length < 2 ||
                  (strncmp(place->path, other->path, length) == 0 && place->path[length] == '/');
    if (around && (other->fd >= 0 || (other->kind == PLACE_FRESH && jail->strict))) nearest = other;
  }
  return nearest && nearest->kind != PLACE_FRESH && nearest->kind != PLACE_HIDDEN;
}

IN_CHILD static int show_place(struct jail *jail, int root, struct place *place) {
  bool fresh = place->kind == PLACE_FRESH, hidden = place->kind == PLACE_HIDDEN && place->is_folder;
  if (place->fd < 0 && !(fresh && jail->strict)) return 0;
  if (strcmp(place->path, "/") == 0) return 0; /* the root itself: jail_root_enter */
  if (place->kind == PLACE_HIDDEN && !lies_in_shown(jail, place)) return 0;
  if (fresh || hidden) {
    place->fd = make_fresh(hidden ? "0755" : strcmp(place->path, "/tmp") == 0 ? "1777" : "0755");
    place->is_folder = true;
    if (place->fd < 0) return jail_fail(jail, errno, "make a file system in memory", "");
  } else if (protect(place->fd, place->kind == PLACE_WRITE ? SAFE : READ_ONLY, AT_RECURSIVE)) {
    return jail_fail(jail, errno, "protect ", place->path);
  }
  int failed = cover(jail, root, place->fd, place->path, place->is_folder);
  if (!failed && jail->strict) link_name(root, place);
  return failed;
}

IN_CHILD static int show_devices(const struct jail *jail, int root, const int devices[]) {
  static const char *const names[] = {"/dev/null",   "/dev/zero",    "/dev/full",
                                      "/dev/random", "/dev/urandom", NULL};
  static const char *const links[][2] = {{"/proc/self/fd", "dev/fd"},
                                         {"/proc/self/fd/0", "dev/stdin"},
                                         {"/proc/self/fd/1", "dev/stdout"},
                                         {"/proc/self/fd/2", "dev/stderr"},
                                         {"pts/ptmx", "dev/ptmx"}};
  const char *const of_terminals[] = {"newinstance", NULL, "ptmxmode", "0666", NULL};
  int failed = 0;
  for (int i = 0; names[i] && !failed; i++)
    failed = cover(jail, root, devices[i], names[i], false);
  for (size_t i = 0; i < sizeof links / sizeof *links; i++)
    symlinkat(links[i][0], root, links[i][1]);
  int terminals = make_mount("devpts", of_terminals, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC);
  if (terminals < 0) return failed; /* it has no terminals */
  return failed ? failed : cover(jail, root, terminals, "/dev/pts", true);
}

IN_CHILD static int show_processes(const struct jail *jail, int root) {
  const char *const options[] = {"hidepid", "ptraceable", NULL}; /* not the first process */
  int mount = make_mount("proc", options, READ_ONLY | MOUNT_ATTR_NOEXEC);
  if (mount < 0)
    return jail_fail(jail, errno, "show its own /proc (a container may hide parts of it)", "");
  return cover(jail, root, mount, "/proc", true);
}

/* Devices are copied while the old ones are there. */
IN_CHILD static int copy_devices(const struct jail *jail, int devices[]) {
  static const char *const names[] = {"/dev/null",   "/dev/zero",    "/dev/full",
                                      "/dev/random", "/dev/urandom", NULL};
  for (int i = 0; names[i]; i++) {
    devices[i] = open_tree(AT_FDCWD, names[i], OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
    if (devices[i] < 0) return jail_fail(jail, errno, "copy ", names[i]);
    protect(devices[i], MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, 0);
  }
  return 0;
}

/* The new root: empty, or a copy of ours; laid over a folder that every machine has. */
IN_CHILD static int open_root(const struct jail *jail) {
  int root = -1;
  if (jail->strict) root = make_fresh("0755");
  for (size_t i = 0; i < jail->count && !jail->strict; i++)
    if (strcmp(jail->order[i]->path, "/") == 0) root = jail->order[i]->fd;
  if (root < 0) return jail_fail(jail, errno, "make a root", ""), -1;
  if (!jail->strict && protect(root, READ_ONLY, AT_RECURSIVE) < 0)
    return jail_fail(jail, errno, "protect ", "/"), -1;
  if (move_mount(root, "", AT_FDCWD, "/tmp", MOVE_MOUNT_F_EMPTY_PATH) < 0)
    return jail_fail(jail, errno, "lay a root over /tmp", ""), -1;
  return root;
}

/* Nothing of the old one is left. */
IN_CHILD static int move_in(const struct jail *jail, int root) {
  if (fchdir(root) < 0 || syscall(SYS_pivot_root, ".", ".") < 0 || umount2(".", MNT_DETACH) < 0 ||
      chdir("/") < 0)
    return jail_fail(jail, errno, "leave the old root", "");
  return 0;
}

int jail_root_enter(struct jail *jail) {
  int devices[8], failed = 0;
  if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
    return jail_fail(jail, errno, "have mounts of its own", "");
  if ((failed = jail_places_open(jail)) || (failed = copy_devices(jail, devices))) return failed;
  int root = open_root(jail);
  if (root < 0) return EPERM;
  for (size_t i = 0; i < jail->count && !failed; i++)
    failed = show_place(jail, root, jail->order[i]);
  if (failed || (failed = show_devices(jail, root, devices)) ||
      (failed = show_processes(jail, root)) || (failed = move_in(jail, root)))
    return failed;
  for (size_t i = 0; i < jail->count; i++) /* what is empty stays so */
    if (jail->places[i].kind == PLACE_HIDDEN && jail->places[i].fd > 0)
      protect(jail->places[i].fd, READ_ONLY, 0);
  if (jail->strict && protect(root, READ_ONLY, 0) < 0)
    return jail_fail(jail, errno, "protect ", "/");
  return 0;
}
