/* scratch.c: temporary folders for tests. Must not know what they are for. */
#include "support/scratch.h"

#include <assert.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/crc32c.h"

void scratch_make(struct scratch *s) {
  const char *tmp = getenv("TMPDIR");
  const char *base = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : tmp && *tmp ? tmp : "/tmp";
  snprintf(s->path, sizeof s->path, "%.3000s/skillrt-test-XXXXXX", base);
  char *made = mkdtemp(s->path);
  assert(made);
}

static void remove_below(const char *path) {
  DIR *folder = opendir(path);
  if (!folder) return;
  for (struct dirent *entry; (entry = readdir(folder));) {
    char below[PATH_MAX];
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
    int length = snprintf(below, sizeof below, "%s/%s", path, entry->d_name);
    assert(length > 0 && (size_t)length < sizeof below);
    if (entry->d_type == DT_DIR) remove_below(below);
    int failed = remove(below);
    assert(failed == 0);
  }
  closedir(folder);
}

void scratch_empty(struct scratch *s) {
  remove_below(s->path);
}

void scratch_remove(struct scratch *s) {
  scratch_empty(s);
  int failed = rmdir(s->path);
  assert(failed == 0);
}

const char *scratch_path(struct scratch *s, const char *name) {
  static char texts[8][PATH_MAX];
  static unsigned next;
  char *text = texts[next++ % 8];
  int length = snprintf(text, PATH_MAX, "%s/%s", s->path, name);
  assert(length > 0 && length < PATH_MAX);
  return text;
}

char *scratch_read(struct scratch *s, const char *name, size_t *length) {
  struct stat about;
  int fd = open(scratch_path(s, name), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return NULL;
  int failed = fstat(fd, &about);
  assert(failed == 0);
  char *bytes = malloc((size_t)about.st_size + 1);
  assert(bytes);
  ssize_t count = read(fd, bytes, (size_t)about.st_size);
  assert(count == about.st_size);
  close(fd);
  bytes[count] = '\0';
  if (length) *length = (size_t)count;
  return bytes;
}

void scratch_write(struct scratch *s, const char *name, const void *bytes, size_t length) {
  int fd = open(scratch_path(s, name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  assert(fd >= 0);
  ssize_t count = length ? write(fd, bytes, length) : 0;
  assert(count == (ssize_t)length);
  close(fd);
}

int scratch_count(struct scratch *s, const char *name, const char *begin) {
  DIR *folder = opendir(scratch_path(s, name));
  int count = 0;
  if (!folder) return 0;
  for (struct dirent *entry; (entry = readdir(folder));)
    count += entry->d_name[0] != '.' && strncmp(entry->d_name, begin, strlen(begin)) == 0;
  closedir(folder);
  return count;
}

/* A sum over the entries, so that their order does not matter. */
unsigned long scratch_print(struct scratch *s, const char *name) {
  unsigned long sum = 0;
  DIR *folder = opendir(scratch_path(s, name));
  if (!folder) return 0;
  for (struct dirent *entry; (entry = readdir(folder));) {
    char below[PATH_MAX];
    size_t length = 0;
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
    int size = snprintf(below, sizeof below, "%s/%s", name, entry->d_name);
    assert(size > 0 && (size_t)size < sizeof below);
    unsigned long print = crc32c(0, entry->d_name, strlen(entry->d_name));
    if (entry->d_type == DT_DIR) {
      print = print * 31 + scratch_print(s, below);
    } else {
      char *bytes = scratch_read(s, below, &length);
      print = print * 31 + crc32c((unsigned)print, bytes, length) + length;
      free(bytes);
    }
    sum += print * 2654435761u;
  }
  closedir(folder);
  return sum;
}
