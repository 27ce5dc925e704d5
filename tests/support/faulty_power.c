/* faulty_power.c: remembers which bytes and names below a folder were synced, and puts the
 * folder back to them. Works on the real file system, not through struct sys.
 * Must not know what the files mean. Called by faulty_calls.c and faulty_sys.c.
 *
 * Files and folders are nodes, found again by device and inode (an inode is never taken for
 * a file made later: a new name of a new inode makes a new node). A folder keeps its durable
 * names and the changes since its last sync, in order. */
#include "support/faulty_power.h"

#include <assert.h>
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CHANGES = 256, NAME = 256, SECTOR = 512 };

struct name {
  char text[NAME];
  struct node *node;
};

struct change { /* `gone` (if not "") goes and `came` (if its text is not "") comes, at once */
  char gone[NAME];
  struct name came;
};

struct node {
  struct node *next;
  dev_t device;
  ino_t inode;
  mode_t mode;
  bool folder;
  char *bytes; /* a file's, as synced; NULL: never */
  size_t length;
  char *latest; /* while restoring: the bytes as they were at the cut */
  size_t latest_length;
  struct name *names; /* a folder's, as synced */
  size_t name_count;
  struct change *changes;
  size_t change_count;
};

struct faulty_power {
  char root[PATH_MAX];
  struct node *nodes;
};

static void *grow(void *block, size_t size) {
  block = realloc(block, size ? size : 1);
  assert(block);
  return block;
}

static struct node *node_find(struct faulty_power *p, const struct stat *about) {
  for (struct node *node = p->nodes; node; node = node->next)
    if (node->device == about->st_dev && node->inode == about->st_ino) return node;
  return NULL;
}

static struct node *node_add(struct faulty_power *p, const struct stat *about) {
  struct node *old = node_find(p, about);
  if (old) old->inode = 0; /* its number was given to a new file */
  struct node *node = calloc(1, sizeof *node);
  assert(node);
  node->device = about->st_dev;
  node->inode = about->st_ino;
  node->mode = about->st_mode & 07777;
  node->folder = S_ISDIR(about->st_mode);
  node->next = p->nodes;
  p->nodes = node;
  return node;
}

static char *bytes_of(const char *path, int fd, size_t *length) {
  struct stat about;
  int file = path ? open(path, O_RDONLY | O_CLOEXEC) : fd;
  assert(file >= 0 && fstat(file, &about) == 0);
  char *bytes = grow(NULL, (size_t)about.st_size);
  ssize_t count = pread(file, bytes, (size_t)about.st_size, 0);
  if (count < 0 && !path) { /* opened for writing only */
    char name[64];
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    free(bytes);
    return bytes_of(name, -1, length);
  }
  assert(count == about.st_size);
  if (path) close(file);
  *length = (size_t)count;
  return bytes;
}

static void name_put(struct node *folder, const char *text, struct node *node) {
  assert(strlen(text) < NAME);
  for (size_t i = 0; i < folder->name_count; i++)
    if (strcmp(folder->names[i].text, text) == 0) {
      folder->names[i].node = node;
      return;
    }
  folder->names = grow(folder->names, (folder->name_count + 1) * sizeof *folder->names);
  struct name *name = &folder->names[folder->name_count++];
  snprintf(name->text, NAME, "%s", text);
  name->node = node;
}

static void name_drop(struct node *folder, const char *text) {
  for (size_t i = 0; i < folder->name_count; i++)
    if (strcmp(folder->names[i].text, text) == 0)
      folder->names[i--] = folder->names[--folder->name_count];
}

/* The changes up to `count` become durable. */
static void changes_apply(struct node *folder, size_t count) {
  for (size_t i = 0; i < count; i++) {
    struct change *change = &folder->changes[i];
    if (change->gone[0]) name_drop(folder, change->gone);
    if (change->came.text[0]) name_put(folder, change->came.text, change->came.node);
  }
  folder->change_count = 0;
}

static struct change *change_add(struct node *folder) {
  /* More of them than a test needs: the oldest have long reached the disk. */
  if (folder->change_count == CHANGES) changes_apply(folder, CHANGES);
  folder->changes = grow(folder->changes, CHANGES * sizeof *folder->changes);
  struct change *change = &folder->changes[folder->change_count++];
  memset(change, 0, sizeof *change);
  return change;
}

/* Takes everything below `path` for durable. */
static struct node *power_scan(struct faulty_power *p, const char *path) {
  struct stat about;
  assert(lstat(path, &about) == 0);
  struct node *node = node_add(p, &about);
  if (!node->folder) {
    node->bytes = bytes_of(path, -1, &node->length);
    return node;
  }
  DIR *folder = opendir(path);
  assert(folder);
  for (struct dirent *entry; (entry = readdir(folder));) {
    char below[PATH_MAX];
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
    snprintf(below, sizeof below, "%s/%s", path, entry->d_name);
    name_put(node, entry->d_name, power_scan(p, below));
  }
  closedir(folder);
  return node;
}

struct faulty_power *faulty_power_new(const char *root) {
  struct faulty_power *p = calloc(1, sizeof *p);
  assert(p && strlen(root) < sizeof p->root);
  strcpy(p->root, root);
  power_scan(p, root);
  return p;
}

static void power_forget(struct faulty_power *p) {
  for (struct node *node = p->nodes, *next; node; node = next) {
    next = node->next;
    free(node->bytes);
    free(node->latest);
    free(node->names);
    free(node->changes);
    free(node);
  }
  p->nodes = NULL;
}

void faulty_power_free(struct faulty_power *p) {
  if (!p) return;
  power_forget(p);
  free(p);
}

/* The folder's node of a path, or NULL where it is not ours; `*last` is the last part. */
static struct node *folder_of(struct faulty_power *p, const char *path, const char **last) {
  char folder[PATH_MAX];
  struct stat about;
  const char *slash = strrchr(path, '/');
  *last = slash ? slash + 1 : path;
  if (slash)
    snprintf(folder, sizeof folder, "%.*s", slash == path ? 1 : (int)(slash - path), path);
  else
    strcpy(folder, ".");
  return stat(folder, &about) == 0 ? node_find(p, &about) : NULL;
}

void faulty_power_named(struct faulty_power *p, const char *path) {
  struct stat about;
  const char *last;
  struct node *folder = folder_of(p, path, &last);
  if (!folder || lstat(path, &about) < 0) return;
  struct change *change = change_add(folder);
  snprintf(change->came.text, NAME, "%s", last);
  change->came.node = node_add(p, &about);
}

void faulty_power_gone(struct faulty_power *p, const char *path) {
  const char *last;
  struct node *folder = folder_of(p, path, &last);
  if (folder) snprintf(change_add(folder)->gone, NAME, "%s", last);
}

void faulty_power_renamed(struct faulty_power *p, const char *from, const char *to) {
  struct stat about;
  const char *old, *new;
  struct node *source = folder_of(p, from, &old), *target = folder_of(p, to, &new);
  struct node *node = lstat(to, &about) == 0 ? node_find(p, &about) : NULL;
  if (!target || !node) return;
  struct change *change = change_add(target);
  snprintf(change->came.text, NAME, "%s", new);
  change->came.node = node;
  if (source == target)
    snprintf(change->gone, NAME, "%s", old);
  else if (source)
    snprintf(change_add(source)->gone, NAME, "%s", old);
}

void faulty_power_synced(struct faulty_power *p, int fd) {
  struct stat about;
  struct node *node = fstat(fd, &about) == 0 ? node_find(p, &about) : NULL;
  if (!node) return;
  if (node->folder) {
    changes_apply(node, node->change_count);
    return;
  }
  free(node->bytes);
  node->bytes = bytes_of(NULL, fd, &node->length);
}

static uint64_t draw(uint64_t *seed) { /* splitmix64 */
  uint64_t z = (*seed += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

/* Reads what every living file holds now, and removes it all. */
static void power_read(struct faulty_power *p, const char *path, bool top) {
  struct stat about;
  DIR *folder = opendir(path);
  assert(folder);
  for (struct dirent *entry; (entry = readdir(folder));) {
    char below[PATH_MAX];
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
    snprintf(below, sizeof below, "%s/%s", path, entry->d_name);
    assert(lstat(below, &about) == 0);
    if (S_ISDIR(about.st_mode)) {
      power_read(p, below, false);
      continue;
    }
    struct node *node = node_find(p, &about);
    if (node) {
      free(node->latest);
      node->latest = bytes_of(below, -1, &node->latest_length);
    }
    unlink(below);
  }
  closedir(folder);
  if (!top) rmdir(path);
}

/* What a cut leaves of a file whose last bytes were not synced. */
static size_t power_tear(struct node *node, uint64_t *seed) {
  size_t from = node->bytes ? node->length : 0, to = node->latest_length;
  bool grown =
      node->latest && to > from && (from == 0 || memcmp(node->latest, node->bytes, from) == 0);
  if (!grown) /* changed in place or cut: all or nothing of it */
    return node->latest && draw(seed) % 2 ? to : SIZE_MAX;
  size_t length = from + draw(seed) % (to - from + 1);
  if (length > from && draw(seed) % 4 == 0) { /* a sector that did not make it */
    size_t hole = from + draw(seed) % (length - from), end = (hole | (SECTOR - 1)) + 1;
    memset(node->latest + hole, 0, (end < length ? end : length) - hole);
  }
  return length;
}

/* Each sector as it was synced, or as it was last, whatever became of the others; any length
 * between. To be freed. */
static char *power_mix(const struct node *node, uint64_t *seed, size_t *length) {
  size_t before = node->bytes ? node->length : 0,
         after = node->latest ? node->latest_length : before;
  size_t least = before < after ? before : after, most = before < after ? after : before;
  char *bytes = grow(NULL, most);
  memset(bytes, 0, most);
  for (size_t at = 0; at < most; at += SECTOR) {
    bool latest = node->latest && draw(seed) % 2;
    size_t have = latest ? after : before, end = at + SECTOR < have ? at + SECTOR : have;
    if (at < end) memcpy(bytes + at, (latest ? node->latest : node->bytes) + at, end - at);
  }
  uint64_t choice = draw(seed) % 4;
  *length = choice == 0 ? before : choice == 1 ? after : least + draw(seed) % (most - least + 1);
  return bytes;
}

/* The names in a folder after the cut: a copy, so that the model stays as it is. */
static struct node power_names(const struct node *node, enum faulty_cut how, uint64_t *seed) {
  struct node left = *node;
  left.names = grow(NULL, node->name_count * sizeof *node->names);
  if (node->name_count) memcpy(left.names, node->names, node->name_count * sizeof *node->names);
  if (how == FAULTY_TORN) changes_apply(&left, draw(seed) % (node->change_count + 1));
  for (size_t i = 0; how == FAULTY_ANY && i < node->change_count; i++)
    if (draw(seed) % 2) {
      struct node one = left;
      one.changes = &node->changes[i];
      changes_apply(&one, 1);
      left.names = one.names;
      left.name_count = one.name_count;
    }
  return left;
}

static void power_file(struct node *node, const char *path, enum faulty_cut how, uint64_t *seed) {
  size_t torn = how == FAULTY_TORN ? power_tear(node, seed) : SIZE_MAX, length;
  const char *bytes = torn == SIZE_MAX ? node->bytes : node->latest;
  char *mix = NULL;
  length = torn != SIZE_MAX ? torn : node->bytes ? node->length : 0;
  if (how == FAULTY_ANY) bytes = mix = power_mix(node, seed, &length);
  int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, node->mode);
  assert(fd >= 0);
  if (length) assert(write(fd, bytes, length) == (ssize_t)length);
  close(fd);
  free(mix);
}

static void power_write(struct node *node, const char *path, bool top, enum faulty_cut how,
                        uint64_t *seed) {
  if (!node->folder) {
    power_file(node, path, how, seed);
    return;
  }
  if (!top) assert(mkdir(path, node->mode) == 0);
  struct node left = power_names(node, how, seed);
  for (size_t i = 0; i < left.name_count; i++) {
    char below[PATH_MAX];
    snprintf(below, sizeof below, "%s/%s", path, left.names[i].text);
    power_write(left.names[i].node, below, false, how, seed);
  }
  free(left.names);
}

static struct node *power_root(struct faulty_power *p) {
  struct stat about;
  assert(lstat(p->root, &about) == 0);
  return node_find(p, &about);
}

void faulty_power_restore(struct faulty_power *p, enum faulty_cut how, uint64_t seed) {
  struct node *root = power_root(p);
  power_read(p, p->root, true);
  power_write(root, p->root, true, how, &seed);
  power_forget(p);
  power_scan(p, p->root);
}
