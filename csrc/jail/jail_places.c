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

/* What is ours to keep is not looked for behind links that the last program may have made. */
IN_CHILD static int open_place(const struct place *place) {
  struct open_how how = {.flags = O_PATH | O_CLOEXEC};
  if (place->kind == PLACE_KEPT) how.resolve = RESOLVE_NO_SYMLINKS;
  return (int)syscall(SYS_openat2, AT_FDCWD, place->given, &how, sizeof how);
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

/* Nothing of ours is left open where it fails: the child ends. */
IN_CHILD static int resolve(struct jail *jail, struct place *place) {
  struct stat about;
  bool granted = place->kind >= PLACE_READ;
  int fd = open_place(place);
  place->path = place->given;
  if (fd < 0) return granted ? jail_fail(jail, errno, "grant ", place->given) : 0;
  if (fstat(fd, &about) < 0 || !(place->path = path_of(jail, fd)))
    return jail_fail(jail, errno ? errno : ENAMETOOLONG, "look at ", place->given);
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
  close(fd);
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
  return 0;
}
