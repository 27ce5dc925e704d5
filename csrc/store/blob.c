/* blob.c: keeps and fetches blobs under "<run>/blobs".
 * Must not know what a blob means. Called by directory.c; its checks also by memory.c. */
#include "store/blob.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/sha256.h"
#include "store/file.h"

bool blob_digest_valid(const char *digest) {
  size_t length = strlen(digest);
  return length == 64 && strspn(digest, "0123456789abcdef") == length;
}

bool blob_check(const char *digest, struct span value, struct error *e) {
  char found[65];
  if (!blob_digest_valid(digest))
    return error_set(e, ERROR_INVALID, "blob \"%.80s\": a name is 64 lower-case hex digits",
                     digest);
  sha256_hex(value.data, value.length, found);
  if (strcmp(found, digest) != 0)
    return error_set(e, ERROR_INVALID, "blob %s: the value's SHA-256 is %s", digest, found);
  return true;
}

static bool blob_path(char *to, const char *folder, const char *digest, struct error *e) {
  char name[80];
  snprintf(name, sizeof name, "blobs/%s", digest);
  return file_path(to, folder, name, e);
}

/* Whether the file is there and whole. */
static bool blob_there(const struct sys *sys, const char *path, const char *digest, size_t size) {
  struct sys_stat about;
  struct buffer bytes;
  if (sys->stat(sys, path, &about) < 0 || about.kind != SYS_FILE || (uint64_t)about.size != size)
    return false;
  buffer_init(&bytes, sys, size);
  bool good = file_read(sys, path, &bytes, NULL) && blob_check(digest, buffer_span(&bytes), NULL);
  buffer_clear(&bytes);
  return good;
}

/* Makes an existing blob durable: its writer may have died before its sync, or used `process`. */
static bool blob_settle(const struct sys *sys, const char *path, struct error *e) {
  char parent[PATH_MAX];
  int fd = file_open(sys, path, O_RDONLY, e);
  if (fd < 0) return false;
  bool good = file_sync(sys, fd, false, path, e);
  sys->close(sys, fd);
  sys_parent(parent, path);
  return good && sys_sync_directory(sys, parent, e);
}

bool blob_put(const struct sys *sys, const char *folder, const char *digest, struct span value,
              bool durable, struct error *e) {
  char path[PATH_MAX], parent[PATH_MAX];
  if (!blob_check(digest, value, e) || !blob_path(path, folder, digest, e)) return false;
  sys_parent(parent, path);
  if (blob_there(sys, path, digest, value.length)) return !durable || blob_settle(sys, path, e);
  if (file_make_folders(sys, parent, durable, e))
    return sys_replace_file(sys, path, value.data, value.length, durable, e);
  return false;
}

bool blob_get(const struct sys *sys, const char *folder, const char *digest, struct buffer *to,
              struct error *e) {
  char path[PATH_MAX], found[65];
  struct error why = {0};
  size_t before = to->length;
  if (!blob_digest_valid(digest))
    return error_set(e, ERROR_INVALID, "blob \"%.80s\": a name is 64 lower-case hex digits",
                     digest);
  if (!blob_path(path, folder, digest, e)) return false;
  if (!file_read(sys, path, to, &why)) {
    if (why.code == ERROR_MISSING)
      return error_set(e, ERROR_CORRUPT, "%s: this blob is missing, but the journal names it",
                       path);
    if (e) *e = why;
    return false;
  }
  sha256_hex(to->data ? to->data + before : "", to->length - before, found);
  if (strcmp(found, digest) == 0) return true;
  to->length = before;
  if (to->data) to->data[before] = '\0';
  return error_set(e, ERROR_CORRUPT, "%s: this blob's content was changed (its SHA-256 is %s)",
                   path, found);
}
