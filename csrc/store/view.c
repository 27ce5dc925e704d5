/* view.c: writes views and checks the digest of state.json.
 * Must not know JSON beyond the two fields named in view.h. Called by directory.c. */
#include "store/view.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/below.h"
#include "base/sha256.h"
#include "store/file.h"
#include "store/store.h"

enum { DIGEST = 64, STATE_MAX = 1 << 30 };

/* Where the two fields stand in the bytes of a state.json. */
struct view_mark {
  size_t digest; /* offset of the 64 digits */
  uint64_t seq;
};

/* "<name>.new-<8 hex digits>": a file on its way to its name. */
static bool view_is_left(const char *name) {
  size_t length = strlen(name);
  return length > 13 && memcmp(name + length - 13, ".new-", 5) == 0 &&
         strspn(name + length - 8, "0123456789abcdef") == 8;
}

bool store_owns(const char *name) {
  static const char *const own[] = {"run.lock",    "journal",       "journal.leaving",
                                    "journal.new", "journal.moved", "journal.to",
                                    "blobs",       "inbox",         "label"};
  for (size_t i = 0; i < sizeof own / sizeof *own; i++)
    if (strcmp(name, own[i]) == 0) return true;
  return strncmp(name, "journal.cut", 11) == 0 || view_is_left(name);
}

bool view_name_valid(const char *name) {
  size_t length = strlen(name), part_length = strcspn(name, "/");
  char first[256]; /* a longer one is refused below */
  snprintf(first, sizeof first, "%.*s", (int)(part_length < 255 ? part_length : 255), name);
  if (length == 0 || length > 1024 || store_owns(first)) return false;
  for (size_t i = 0; i < length; i++)
    if ((unsigned char)name[i] < 0x20 || name[i] == 0x7f || name[i] == '\\') return false;
  for (const char *part = name;; part++) {
    size_t size = strcspn(part, "/");
    if (size == 0 || size > 250) return false;
    if (part[0] == '.' && (size == 1 || (size == 2 && part[1] == '.'))) return false;
    part += size;
    if (*part == '\0') return true;
  }
}

static const char *view_find(struct span in, const char *text) {
  return in.length ? memmem(in.data, in.length, text, strlen(text)) : NULL;
}

static bool view_seq(struct span object, uint64_t *seq) {
  static const char name[] = "\"seq\":";
  const char *at = view_find(object, name), *end = object.data + object.length;
  uint64_t value = 0;
  if (!at) return false;
  at += sizeof name - 1;
  while (at < end && *at == ' ')
    at++;
  const char *first = at;
  for (; at < end && *at >= '0' && *at <= '9' && at - first < 19; at++)
    value = value * 10 + (uint64_t)(*at - '0');
  *seq = value;
  return at > first;
}

static bool view_digest(struct span content, struct span object, size_t *offset) {
  static const char name[] = "\"digest\":";
  const char *at = view_find(object, name), *end = object.data + object.length;
  if (!at) return false;
  at += sizeof name - 1;
  while (at < end && *at == ' ')
    at++;
  if (end - at < DIGEST + 2 || at[0] != '"' || at[DIGEST + 1] != '"') return false;
  for (int i = 1; i <= DIGEST; i++)
    if (!((at[i] >= '0' && at[i] <= '9') || (at[i] >= 'a' && at[i] <= 'f'))) return false;
  *offset = (size_t)(at + 1 - content.data);
  return true;
}

static bool view_locate(struct span content, struct view_mark *mark) {
  static const char line[] = "\n  \"_skillrt\": {", name[] = "\"_skillrt\"";
  const char *begin = view_find(content, line);
  if (!begin) begin = view_find(content, name);
  if (!begin) return false;
  struct span object = {begin, content.length - (size_t)(begin - content.data)};
  const char *end = memchr(begin, '}', object.length);
  if (!end) return false;
  object.length = (size_t)(end - begin);
  return view_digest(content, object, &mark->digest) && view_seq(object, &mark->seq);
}

/* The digest of the bytes with zeros in its own place. */
static void view_hash(struct span content, size_t digest, char out[DIGEST + 1]) {
  struct sha256 hash;
  char zeros[DIGEST];
  memset(zeros, '0', sizeof zeros);
  sha256_init(&hash);
  sha256_add(&hash, content.data, digest);
  sha256_add(&hash, zeros, sizeof zeros);
  sha256_add(&hash, content.data + digest + DIGEST, content.length - digest - DIGEST);
  sha256_finish_hex(&hash, out);
}

/* state.json: with its digest, and only if it changed. */
static bool view_write_state(const struct sys *sys, const char *path, struct span content,
                             char *last, struct error *e) {
  struct view_mark mark;
  struct buffer filled;
  char digest[DIGEST + 1];
  if (!view_locate(content, &mark) || strspn(content.data + mark.digest, "0") < DIGEST)
    return error_set(e, ERROR_INVALID,
                     "%s: its \"_skillrt\" must hold a digest of 64 zeros and a seq", path);
  view_hash(content, mark.digest, digest);
  if (strcmp(digest, last) == 0) return true;
  buffer_init(&filled, sys, STATE_MAX);
  bool good = buffer_append(&filled, content.data, content.length, e);
  if (good) {
    memcpy(filled.data + mark.digest, digest, DIGEST);
    good = sys_replace_file(sys, path, filled.data, filled.length, false, e);
  }
  buffer_clear(&filled);
  if (good) memcpy(last, digest, sizeof digest);
  return good;
}

bool view_write(const struct sys *sys, const char *folder, const char *name, struct span content,
                char *digest, struct error *e) {
  char path[PATH_MAX];
  if (!view_name_valid(name))
    return error_set(e, ERROR_INVALID,
                     "view \"%.100s\": the name must stay inside the run's folder", name);
  if (!file_path(path, folder, name, e)) return false;
  if (strcmp(name, "state.json") == 0) return view_write_state(sys, path, content, digest, e);
  return below_replace(sys, folder, name, content, 0600, false, e);
}

/* Whether brackets stay open or a string does: an editor leaves no such file, a power cut does.
 * So do zeros. */
static bool view_torn(struct span content) {
  size_t depth = 0;
  bool text = false, any = false;
  for (size_t i = 0; i < content.length; i++) {
    char byte = content.data[i];
    if (byte == '\0') return true;
    if (text && byte == '\\')
      i++;
    else if (byte == '"')
      text = !text;
    else if (!text && (byte == '{' || byte == '['))
      depth++, any = true;
    else if (!text && (byte == '}' || byte == ']'))
      depth -= depth > 0;
  }
  return text || depth > 0 || !any;
}

/* The digest is that of the text we write, which ends in a newline: a power cut may take it. */
static bool view_intact(struct buffer *bytes, const struct view_mark *mark) {
  char digest[DIGEST + 1];
  view_hash(buffer_span(bytes), mark->digest, digest);
  if (memcmp(bytes->data + mark->digest, digest, DIGEST) == 0) return true;
  if (bytes->data[bytes->length - 1] == '\n' || !buffer_byte(bytes, '\n', NULL)) return false;
  view_hash(buffer_span(bytes), mark->digest, digest);
  return memcmp(bytes->data + mark->digest, digest, DIGEST) == 0;
}

bool view_check(const struct sys *sys, const char *folder, struct view_state *found,
                struct error *e) {
  char path[PATH_MAX];
  struct error why = {0};
  struct buffer bytes;
  struct view_mark mark;
  *found = (struct view_state){0};
  if (!file_path(path, folder, "state.json", e)) return false;
  buffer_init(&bytes, sys, STATE_MAX);
  bool good = file_read(sys, path, &bytes, &why);
  if (!good && why.code == ERROR_MISSING) {
    found->missing = good = true;
  } else if (!good && e) {
    *e = why;
  } else if (good && bytes.length == 0) {
    found->missing = true;
  } else if (good) {
    struct span content = buffer_span(&bytes);
    found->torn = view_torn(content);
    found->foreign = !view_find(content, "\"_skillrt\"");
    found->edited = !view_locate(content, &mark);
    if (!found->edited) found->edited = !view_intact(&bytes, &mark);
    if (!found->edited) found->seq = mark.seq;
  }
  buffer_clear(&bytes);
  return good;
}

struct sweep {
  const struct sys *sys;
  const char *folder;
};

static bool sweep_each(void *data, const char *name, enum sys_kind kind) {
  const struct sweep *s = data;
  char path[PATH_MAX];
  if (kind == SYS_FILE && view_is_left(name) && file_path(path, s->folder, name, NULL))
    s->sys->unlink(s->sys, path);
  return true;
}

void view_sweep(const struct sys *sys, const char *folder) {
  char blobs[PATH_MAX];
  struct sweep top = {.sys = sys, .folder = folder}, below = {.sys = sys, .folder = blobs};
  sys->list(sys, folder, sweep_each, &top);
  if (file_path(blobs, folder, "blobs", NULL)) sys->list(sys, blobs, sweep_each, &below);
}
