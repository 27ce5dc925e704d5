/* jail_places.c: in the child: what lies at the places of a jail, held open before the world is
 * another, and in which order they are shown: what lies inside of another place comes behind it. */
#include "jail/jail_inside.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The kernel gives up where something is renamed meanwhile. */
IN_CHILD static int open_in(int folder, const char *name, uint64_t resolve) {
  struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = resolve};
  int fd = -1, tries = 100;
  do
    fd = (int)syscall(SYS_openat2, folder, name, &how, sizeof how);
  while (fd < 0 && errno == EAGAIN && --tries > 0);
  return fd;
}

/* Remembers the folder in which the kept places that follow are looked for; it closes the last. */
IN_CHILD static void remember(struct jail *jail, int fd) {
  if (jail->granted >= 0) close(jail->granted);
  jail->granted = fd;
}

IN_CHILD void jail_name_of(int fd, char to[JAIL_FD_NAME]) {
  static const char folder[] = "/proc/self/fd/";
  char digits[12];
  int count = 0;
  do
    digits[count++] = (char)('0' + fd % 10);
  while (fd /= 10);
  size_t at = sizeof folder - 1;
  memcpy(to, folder, at);
  while (count > 0)
    to[at++] = digits[--count];
  to[at] = 0;
}

/* The path of what is open, without links, in the room for texts. */
IN_CHILD static const char *path_of(struct jail *jail, int fd) {
  char name[JAIL_FD_NAME], *path = jail->text + jail->text_used;
  size_t room = sizeof jail->text - jail->text_used;
  if (room <= JAIL_PATH) return NULL;
  jail_name_of(fd, name);
  ssize_t length = readlink(name, path, JAIL_PATH);
  if (length <= 0 || length == JAIL_PATH || path[0] != '/') return NULL;
  path[length] = 0;
  jail->text_used += (size_t)length + 1;
  return path;
}

/* What is ours to keep is not looked for behind links that the last program may have made, and in
 * the very folder that was granted, wherever links led to it. */
IN_CHILD static int open_place(struct jail *jail, struct place *place) {
  if (place->kind == PLACE_KEPT && place->below)
    return open_in(jail->granted, place->below, RESOLVE_NO_SYMLINKS);
  if (!place->base)
    return open_in(AT_FDCWD, place->given, place->kind == PLACE_KEPT ? RESOLVE_NO_SYMLINKS : 0);
  int base = open_in(AT_FDCWD, place->base, 0);
  if (base < 0) return -1;
  const char *path = path_of(jail, base);
  int fd = path ? open_in(base, place->below, RESOLVE_BENEATH) : -1;
  int failed = path ? errno : ENAMETOOLONG;
  place->base = path;
  close(base);
  errno = failed;
  return fd;
}

/* Nothing of ours is left open where it fails: the child ends. */
IN_CHILD static int resolve(struct jail *jail, struct place *place) {
  struct stat about;
  bool granted = place->kind >= PLACE_READ;
  int fd = open_place(jail, place);
  place->path = place->given;
  if (fd < 0) return granted ? jail_fail(jail, errno, "grant ", place->given) : 0;
  if (fstat(fd, &about) < 0 || !(place->path = path_of(jail, fd)))
    return jail_fail(jail, errno ? errno : ENAMETOOLONG, "look at ", place->given);
  if (place->edits && jail_lists_keeps(place->path + strlen(place->base))) place->kind = PLACE_READ;
  place->is_folder = S_ISDIR(about.st_mode);
  if (place->kind == PLACE_FRESH || (place->kind == PLACE_HIDDEN && place->is_folder)) {
    place->fd = 0; /* it is there */
    close(fd);
    return 0;
  }
  if (place->kind == PLACE_HIDDEN) { /* a device that cannot be opened stands for a file */
    close(fd);
    fd = open("/dev/null", O_PATH | O_CLOEXEC);
  }
  place->fd = open_tree(fd, "", AT_EMPTY_PATH | AT_RECURSIVE | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
  if (place->fd < 0) return jail_fail(jail, errno, "copy the mounts of ", place->path);
  granted ? remember(jail, fd) : (void)close(fd);
  return 0;
}

/* As the tree has them: "/a" in front of "/a/b". */
IN_CHILD static bool comes_before(const struct place *a, const struct place *b) {
  const char *one = a->path, *other = b->path;
  while (*one && *one == *other)
    one++, other++;
  if (*one != *other)
    return *one == 0 || (*other != 0 && (unsigned char)*one < (unsigned char)*other);
  return a->kind < b->kind;
}

int jail_places_open(struct jail *jail) {
  for (size_t i = 0; i < jail->count; i++) {
    struct place *place = &jail->places[i];
    int failed = resolve(jail, place);
    if (failed) return failed;
    size_t at = i;
    for (; at > 0 && comes_before(place, jail->order[at - 1]); at--)
      jail->order[at] = jail->order[at - 1];
    jail->order[at] = place;
  }
  remember(jail, -1);
  return 0;
}
