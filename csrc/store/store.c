/* store.c: which store a URL means, and what all of them share.
 * Must not know how any of them works. Called by whoever opens or looks at a run. */
#include "store/store.h"

#include <limits.h>
#include <string.h>

#include "store/directory.h"
#include "store/memory.h"

static bool begins(const char *text, const char *with) {
  return strncmp(text, with, strlen(with)) == 0;
}

static int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* The path of "file:path", "file:///path" or plain "path", into `to` (PATH_MAX bytes). */
static bool url_path(const char *url, char *to, struct error *e) {
  const char *at = url;
  bool file = begins(url, "file:");
  size_t length = 0;
  if (file) at += begins(url, "file:///") ? strlen("file://") : strlen("file:");
  if (file ? begins(at, "//") : begins(at + strspn(at, "abcdefghijklmnopqrstuvwxyz"), "://"))
    return error_set(e, ERROR_INVALID,
                     "%.200s: no store of this kind; a path, file:PATH or memory: names one", url);
  for (; *at; at++) {
    char byte = *at;
    if (file && byte == '%' && hex_digit(at[1]) >= 0 && hex_digit(at[2]) >= 0) {
      byte = (char)(hex_digit(at[1]) * 16 + hex_digit(at[2]));
      at += 2;
    }
    if (byte == '\0') return error_set(e, ERROR_INVALID, "%.200s: holds a NUL byte", url);
    if (length + 1 >= PATH_MAX) return error_set(e, ERROR_LIMIT, "%.200s...: path too long", url);
    to[length++] = byte;
  }
  to[length] = '\0';
  return length > 0 || error_set(e, ERROR_INVALID, "%s: names no path", url);
}

static bool url_memory(const char *url) {
  return strcmp(url, "memory:") == 0;
}

bool store_open(const struct sys *sys, const char *url, const struct store_options *options,
                struct store **store, struct store_report *report, struct error *e) {
  char path[PATH_MAX];
  struct store_report unused;
  if (!report) report = &unused;
  *report = (struct store_report){0};
  bool good;
  if (!url_memory(url))
    good = url_path(url, path, e) && directory_open(sys, path, options, store, report, e);
  else
    good = options->mode == STORE_CREATE ? memory_open(sys, store, e)
                                         : error_set(e, ERROR_MISSING, "%s: holds no run", url);
  if (good) (*store)->report = *report;
  return good;
}

void store_salvage(const struct sys *sys, const char *url,
                   bool (*each)(void *data, const struct record *, struct error *), void *data) {
  char path[PATH_MAX];
  if (!url_memory(url) && url_path(url, path, NULL)) directory_salvage(sys, path, each, data);
}

bool store_holder(const struct sys *sys, const char *url, char line[STORE_HOLDER]) {
  char path[PATH_MAX];
  return !url_memory(url) && url_path(url, path, NULL) && directory_holder(sys, path, line);
}

void store_close(struct store **store) {
  if (!*store) return;
  (*store)->ops->close(*store);
  *store = NULL;
}
