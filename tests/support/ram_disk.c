/* ram_disk.c: the files of a disk in memory, see ram_disk.h. What a cut leaves of them is in
 * ram_disk_cut.c. Must not know what the files mean. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/ram_disk_inside.h"

static struct ram_disk *self_of(const struct sys *sys) {
  return sys->self;
}

void *ram_grow(void *block, size_t size) {
  block = realloc(block, size ? size : 1);
  assert(block);
  return block;
}

struct ram_node *ram_node_new(struct ram_disk *d, bool folder) {
  struct ram_node *node = calloc(1, sizeof *node);
  assert(node);
  node->folder = folder;
  node->number = ++d->numbers;
  node->next = d->nodes;
  d->nodes = node;
  return node;
}

void ram_names_put(struct ram_names *names, const char *text, struct ram_node *node) {
  for (size_t i = 0; i < names->count; i++)
    if (strcmp(names->list[i].text, text) == 0) {
      names->list[i].node = node;
      return;
    }
  names->list = ram_grow(names->list, (names->count + 1) * sizeof *names->list);
  struct ram_name *name = &names->list[names->count++];
  snprintf(name->text, sizeof name->text, "%s", text);
  name->node = node;
}

void ram_names_drop(struct ram_names *names, const char *text) {
  for (size_t i = 0; i < names->count; i++)
    if (strcmp(names->list[i].text, text) == 0) {
      names->list[i] = names->list[--names->count];
      return;
    }
}

void ram_change_apply(struct ram_names *names, const struct ram_change *change) {
  if (change->gone[0]) ram_names_drop(names, change->gone);
  if (change->came.node) ram_names_put(names, change->came.text, change->came.node);
}

/* `gone` (if not "") goes and `came` (if it has a node) comes, at once. */
static void change(struct ram_node *folder, const char *gone, const char *came,
                   struct ram_node *node) {
  folder->changes = ram_grow(folder->changes, (folder->change_count + 1) * sizeof *folder->changes);
  struct ram_change *change = &folder->changes[folder->change_count++];
  snprintf(change->gone, sizeof change->gone, "%s", gone);
  snprintf(change->came.text, sizeof change->came.text, "%s", came);
  change->came.node = node;
  ram_change_apply(&folder->names, change);
}

static struct ram_node *name_find(const struct ram_node *folder, const char *text, size_t length) {
  for (size_t i = 0; i < folder->names.count; i++)
    if (strlen(folder->names.list[i].text) == length &&
        strncmp(folder->names.list[i].text, text, length) == 0)
      return folder->names.list[i].node;
  return NULL;
}

/* ---- paths ---- */

static struct ram_file *file_of(struct ram_disk *d, int fd) {
  struct ram_file *file = fd >= RAM_FIRST && fd < RAM_FILES ? &d->files[fd] : NULL;
  return file && file->node ? file : NULL;
}

/* The folder of a path's last part, which goes to `last`; NULL: `*failed` says why. */
static struct ram_node *parent_of(struct ram_disk *d, struct ram_node *at, const char *path,
                                  const char **last, int *failed) {
  int fd, used = 0;
  if (sscanf(path, "/proc/self/fd/%d/%n", &fd, &used) == 1 && used > 0) {
    struct ram_file *file = file_of(d, fd);
    at = file ? file->node : NULL;
    path += used;
  }
  path += strspn(path, "/");
  *failed = -ENOENT;
  for (const char *slash; at && (slash = strchr(path, '/'));) {
    at = at->folder ? name_find(at, path, (size_t)(slash - path)) : NULL;
    path = slash + strspn(slash, "/");
  }
  if (at && !at->folder) *failed = -ENOTDIR;
  *last = path;
  return at && at->folder ? at : NULL;
}

static struct ram_node *node_of(struct ram_disk *d, const char *path, int *failed) {
  const char *last;
  struct ram_node *folder = parent_of(d, d->root, path, &last, failed);
  if (!folder || !*last) return folder;
  struct ram_node *node = name_find(folder, last, strlen(last));
  *failed = -ENOENT;
  return node;
}

/* ---- descriptors ---- */

static int file_new(struct ram_disk *d, struct ram_node *node, int flags) {
  if (node->folder && (flags & (O_WRONLY | O_RDWR))) return -EISDIR;
  if (!node->folder && (flags & O_DIRECTORY)) return -ENOTDIR;
  for (int fd = RAM_FIRST; fd < RAM_FILES; fd++)
    if (!d->files[fd].node) {
      d->files[fd] = (struct ram_file){.node = node, .flags = flags};
      if (flags & O_TRUNC) node->length = 0;
      d->open++;
      return fd;
    }
  return -EMFILE;
}

static int open_at(struct ram_disk *d, struct ram_node *at, const char *path, int flags) {
  const char *last;
  int failed;
  struct ram_node *folder = parent_of(d, at, path, &last, &failed);
  if (!folder) return failed;
  struct ram_node *node = *last ? name_find(folder, last, strlen(last)) : folder;
  if (node && (flags & O_CREAT) && (flags & O_EXCL)) return -EEXIST;
  if (!node && !(flags & O_CREAT)) return -ENOENT;
  if (!node) {
    node = ram_node_new(d, false);
    change(folder, "", last, node);
  }
  return file_new(d, node, flags);
}

static int ram_open(const struct sys *sys, const char *path, int flags, unsigned mode) {
  (void)mode;
  return open_at(self_of(sys), self_of(sys)->root, path, flags);
}

static int ram_open_below(const struct sys *sys, int folder, const char *name, int flags) {
  struct ram_file *file = file_of(self_of(sys), folder);
  if (!file) return -EBADF;
  return name[0] == '/' ? -EXDEV : open_at(self_of(sys), file->node, name, flags);
}

static int ram_close(const struct sys *sys, int fd) {
  struct ram_file *file = file_of(self_of(sys), fd);
  if (!file) return -EBADF;
  if (file->node->locked == fd) file->node->locked = 0;
  *file = (struct ram_file){0};
  self_of(sys)->open--;
  return 0;
}

static ssize_t ram_pread(const struct sys *sys, int fd, void *to, size_t size, int64_t offset) {
  const struct ram_file *file = file_of(self_of(sys), fd);
  if (!file) return -EBADF;
  const struct ram_node *node = file->node;
  if (node->folder) return -EISDIR;
  if (offset < 0 || (size_t)offset >= node->length) return 0;
  size_t left = node->length - (size_t)offset, count = size < left ? size : left;
  memcpy(to, node->bytes + offset, count);
  return (ssize_t)count;
}

static ssize_t ram_read(const struct sys *sys, int fd, void *to, size_t size) {
  struct ram_file *file = file_of(self_of(sys), fd);
  if (!file) return -EBADF;
  ssize_t count = ram_pread(sys, fd, to, size, file->offset);
  if (count > 0) file->offset += count;
  return count;
}

static void lengthen(struct ram_node *node, size_t length) {
  if (length > node->room) node->bytes = ram_grow(node->bytes, node->room = length * 2);
  if (length > node->length) memset(node->bytes + node->length, 0, length - node->length);
  node->length = length;
}

static ssize_t ram_write(const struct sys *sys, int fd, const void *from, size_t size) {
  struct ram_file *file = file_of(self_of(sys), fd);
  if (!file || !(file->flags & (O_WRONLY | O_RDWR))) return -EBADF;
  struct ram_node *node = file->node;
  size_t at = file->flags & O_APPEND ? node->length : (size_t)file->offset;
  if (at + size > node->length) lengthen(node, at + size);
  if (size) memcpy(node->bytes + at, from, size);
  file->offset = (int64_t)(at + size);
  return (ssize_t)size;
}

static int ram_sync(const struct sys *sys, int fd) {
  struct ram_file *file = file_of(self_of(sys), fd);
  if (!file) return -EBADF;
  struct ram_node *node = file->node;
  if (node->folder) {
    for (size_t i = 0; i < node->change_count; i++)
      ram_change_apply(&node->synced_names, &node->changes[i]);
    node->change_count = 0;
    return 0;
  }
  node->synced = ram_grow(node->synced, node->length);
  if (node->length) memcpy(node->synced, node->bytes, node->length);
  node->synced_length = node->length;
  return 0;
}

static int ram_truncate(const struct sys *sys, int fd, int64_t size) {
  struct ram_file *file = file_of(self_of(sys), fd);
  if (!file || size < 0) return -EBADF;
  lengthen(file->node, (size_t)size);
  return 0;
}

static int ram_reserve(const struct sys *sys, int fd, int64_t offset, int64_t size) {
  (void)offset, (void)size;
  return file_of(self_of(sys), fd) ? 0 : -EBADF;
}

static int64_t ram_seek(const struct sys *sys, int fd, int64_t offset, int whence) {
  struct ram_file *file = file_of(self_of(sys), fd);
  if (!file) return -EBADF;
  int64_t from = whence == SEEK_CUR   ? file->offset
                 : whence == SEEK_END ? (int64_t)file->node->length
                                      : 0;
  if (from + offset < 0) return -EINVAL;
  return file->offset = from + offset;
}

static int ram_lock(const struct sys *sys, int fd) {
  struct ram_file *file = file_of(self_of(sys), fd);
  if (!file) return -EBADF;
  if (file->node->locked && file->node->locked != fd) return -EWOULDBLOCK;
  file->node->locked = fd;
  return 0;
}

static int ram_locked(const struct sys *sys, int fd) {
  const struct ram_file *file = file_of(self_of(sys), fd);
  return file ? file->node->locked && file->node->locked != fd : -EBADF;
}

/* ---- names ---- */

static int ram_rename(const struct sys *sys, const char *from, const char *to) {
  struct ram_disk *d = self_of(sys);
  const char *old, *new;
  int failed;
  struct ram_node *source = parent_of(d, d->root, from, &old, &failed);
  struct ram_node *target = source ? parent_of(d, d->root, to, &new, &failed) : NULL;
  if (!target) return failed;
  struct ram_node *node = name_find(source, old, strlen(old));
  if (!node) return -ENOENT;
  if (source != target) change(source, old, "", NULL);
  change(target, source == target ? old : "", new, node);
  return 0;
}

static int take_away(const struct sys *sys, const char *path, bool folder) {
  struct ram_disk *d = self_of(sys);
  const char *last;
  int failed;
  struct ram_node *parent = parent_of(d, d->root, path, &last, &failed);
  struct ram_node *node = parent ? name_find(parent, last, strlen(last)) : NULL;
  if (!node) return parent ? -ENOENT : failed;
  if (node->folder != folder) return folder ? -ENOTDIR : -EISDIR;
  if (node->names.count > 0) return -ENOTEMPTY;
  change(parent, last, "", NULL);
  return 0;
}

static int ram_unlink(const struct sys *sys, const char *path) {
  return take_away(sys, path, false);
}

static int ram_rmdir(const struct sys *sys, const char *path) {
  return take_away(sys, path, true);
}

static int ram_mkdir(const struct sys *sys, const char *path, unsigned mode) {
  struct ram_disk *d = self_of(sys);
  const char *last;
  int failed;
  struct ram_node *parent = parent_of(d, d->root, path, &last, &failed);
  (void)mode;
  if (!parent) return failed;
  if (!*last || name_find(parent, last, strlen(last))) return -EEXIST;
  change(parent, "", last, ram_node_new(d, true));
  return 0;
}

static void describe(const struct ram_node *node, struct sys_stat *to) {
  *to = (struct sys_stat){.kind = node->folder ? SYS_DIRECTORY : SYS_FILE,
                          .size = (int64_t)node->length,
                          .mode = node->folder ? 0700 : 0600,
                          .device = 1,
                          .inode = node->number};
}

static int ram_stat(const struct sys *sys, const char *path, struct sys_stat *to) {
  int failed;
  const struct ram_node *node = node_of(self_of(sys), path, &failed);
  if (!node) return failed;
  describe(node, to);
  return 0;
}

static int ram_fstat(const struct sys *sys, int fd, struct sys_stat *to) {
  const struct ram_file *file = file_of(self_of(sys), fd);
  if (!file) return -EBADF;
  describe(file->node, to);
  return 0;
}

/* `each` may change the folder: the names are those of before. */
static int ram_list(const struct sys *sys, const char *path,
                    bool (*each)(void *, const char *, enum sys_kind), void *data) {
  int failed;
  const struct ram_node *node = node_of(self_of(sys), path, &failed);
  if (!node) return failed;
  if (!node->folder) return -ENOTDIR;
  size_t count = node->names.count;
  struct ram_name *names = ram_grow(NULL, count * sizeof *names);
  if (count) memcpy(names, node->names.list, count * sizeof *names);
  bool on = true;
  for (size_t i = 0; i < count && on; i++)
    on = each(data, names[i].text, names[i].node->folder ? SYS_DIRECTORY : SYS_FILE);
  free(names);
  return 0;
}

static int ram_boot(const struct sys *sys, char to[SYS_BOOT]) {
  return snprintf(to, SYS_BOOT, "boot-%u", self_of(sys)->boot) < 0 ? -EIO : 0;
}

static int ram_is_local(const struct sys *sys, int fd) {
  (void)sys, (void)fd;
  return 1;
}

/* ---- life ---- */

struct ram_disk *ram_disk_new(void) {
  struct ram_disk *d = calloc(1, sizeof *d);
  assert(d);
  d->root = ram_node_new(d, true);
  d->sys = *sys_real();
  d->sys.self = d;
  d->sys.open = ram_open;
  d->sys.open_below = ram_open_below;
  d->sys.close = ram_close;
  d->sys.read = ram_read;
  d->sys.pread = ram_pread;
  d->sys.write = ram_write;
  d->sys.fsync = d->sys.fdatasync = ram_sync;
  d->sys.truncate = ram_truncate;
  d->sys.reserve = ram_reserve;
  d->sys.seek = ram_seek;
  d->sys.lock = ram_lock;
  d->sys.locked = ram_locked;
  d->sys.rename = ram_rename;
  d->sys.unlink = ram_unlink;
  d->sys.mkdir = ram_mkdir;
  d->sys.rmdir = ram_rmdir;
  d->sys.stat = ram_stat;
  d->sys.fstat = ram_fstat;
  d->sys.list = ram_list;
  d->sys.boot = ram_boot;
  d->sys.is_local = ram_is_local;
  return d;
}

void ram_disk_free(struct ram_disk *d) {
  for (struct ram_node *node = d ? d->nodes : NULL, *next; node; node = next) {
    next = node->next;
    free(node->bytes);
    free(node->synced);
    free(node->names.list);
    free(node->synced_names.list);
    free(node->changes);
    free(node);
  }
  free(d);
}

const struct sys *ram_disk_sys(struct ram_disk *d) {
  return &d->sys;
}

int ram_disk_open_files(const struct ram_disk *d) {
  return d->open;
}
