/* run_index.c: see run_index.h. The file is text: a line with a checksum of all the others, then
 * for each run, the newest first,
 *
 *   <stamp16> <segment8> <due> <status> <name>/<about>
 *
 * An about that ends behind its time, {"at":MS, goes on as that of the line before: most runs of a
 * folder came to the same. */
#include "store/run_index.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/crc32c.h"
#include "store/file.h"

enum {
  INDEX_MAX = 256 << 20, /* bytes of its text */
  ADDED_FEW = 64,        /* so many new rows are not written yet: each list reads their journals */
  HEAD = 32,             /* bytes of the first line */
  STAMPS = 26,           /* bytes of a line's first two parts */
};

static const char index_name[] = ".run-index";

static struct run_row *rows_of(const struct run_index *x) {
  return (struct run_row *)(void *)x->rows.data;
}

static size_t rows_count(const struct run_index *x) {
  return x->rows.length / sizeof(struct run_row);
}

static const char *name_of(const struct run_index *x, const struct run_row *row) {
  return x->text.data + row->line + row->name;
}

/* ---- lines ---- */

/* The parts of a line, as pointers into the text. */
struct line {
  struct span due, status, name, about;
};

static bool hex_read(const char **from, int digits, uint64_t *to) {
  *to = 0;
  for (int i = 0; i < digits; i++, (*from)++) {
    char c = **from;
    if (!(c >= '0' && c <= '9') && !(c >= 'a' && c <= 'f')) return false;
    *to = *to << 4 | (uint64_t)(c <= '9' ? c - '0' : c - 'a' + 10);
  }
  return *(*from)++ == ' ';
}

/* What is there up to `end`, which `from` gets behind. */
static bool part_read(const char **from, const char *stop, char end, size_t most, struct span *to) {
  const char *at = memchr(*from, end, (size_t)(stop - *from));
  to->data = *from;
  to->length = at ? (size_t)(at - *from) : 0;
  if (at) *from = at + 1;
  return at && to->length <= most;
}

/* Parses the line at `from`; returns the next one, or NULL: it is no line. */
static const char *line_read(const char *from, const char *end, struct line *to) {
  const char *stop = memchr(from, '\n', (size_t)(end - from));
  if (!stop || stop - from < STAMPS) return NULL;
  from += STAMPS;
  if (!part_read(&from, stop, ' ', 20, &to->due) ||
      !part_read(&from, stop, ' ', STORE_STATUS - 1, &to->status) ||
      !part_read(&from, stop, '/', NAME_MAX, &to->name) || to->name.length == 0)
    return NULL;
  to->about = (struct span){.data = from, .length = (size_t)(stop - from)};
  return to->about.length < STORE_ABOUT ? stop + 1 : NULL;
}

static void part_copy(char *to, struct span part) {
  memcpy(to, part.data, part.length);
  to[part.length] = '\0';
}

/* `rest`: what follows the time in its about. */
static bool header_read(const struct line *line, const char *rest, struct header *to) {
  size_t length = line->about.length, more = strcspn(rest, "\n");
  to->due = strtoll(line->due.data, NULL, 10);
  part_copy(to->status, line->status);
  part_copy(to->about, line->about);
  if (rest >= line->about.data && rest < line->about.data + length) return true;
  if (length + more >= STORE_ABOUT) return false;
  part_copy(to->about + length, (struct span){.data = rest, .length = more});
  return true;
}

/* ---- rows by their names ---- */

/* Where a name is among the slots, or has its place. */
static uint32_t *slot_of(const struct run_index *x, struct span name) {
  uint32_t *slots = (uint32_t *)(void *)x->slots.data;
  size_t count = x->slots.length / sizeof *slots, at = crc32c(0, name.data, name.length);
  for (;; at++) {
    uint32_t *slot = &slots[at & (count - 1)];
    if (*slot == 0) return slot;
    const char *own = name_of(x, &rows_of(x)[*slot - 1]);
    if (strncmp(own, name.data, name.length) == 0 && own[name.length] == '/') return slot;
  }
}

static bool slots_grow(struct run_index *x, struct error *e) {
  size_t count = x->slots.length / sizeof(uint32_t), rows = rows_count(x);
  if (rows * 2 < count) return true;
  size_t wanted = count ? count * 2 : 256;
  buffer_reset(&x->slots);
  char *room = buffer_room(&x->slots, wanted * sizeof(uint32_t), e);
  if (!room) return false;
  memset(room, 0, wanted * sizeof(uint32_t));
  x->slots.length = wanted * sizeof(uint32_t);
  for (size_t i = 0; i < rows; i++) {
    const char *name = name_of(x, &rows_of(x)[i]);
    *slot_of(x, (struct span){.data = name, .length = strcspn(name, "/")}) = (uint32_t)i + 1;
  }
  return true;
}

/* The line that begins at `at` of the text becomes a row; what follows it, or NULL. */
static const char *row_add(struct run_index *x, size_t at, bool is_here, struct error *e) {
  struct line line;
  struct header header;
  const char *rest, *next = line_read(x->text.data + at, x->text.data + x->text.length, &line);
  int64_t when = 0;
  if (next) {
    part_copy(header.about, line.about);
    when = header_at(&header, &rest);
    if (when > 0 && *rest)
      x->rest = (uint32_t)(line.about.data - x->text.data + (rest - header.about));
  }
  if (when <= 0 || x->rest == 0) error_set(e, ERROR_CORRUPT, "a line is damaged");
  if (when <= 0 || x->rest == 0 || !slots_grow(x, e)) return NULL;
  struct run_row row = {.at = when,
                        .line = (uint32_t)at,
                        .rest = x->rest,
                        .name = (uint16_t)(line.name.data - x->text.data - (ptrdiff_t)at),
                        .is_here = is_here};
  uint32_t *slot = slot_of(x, line.name);
  if (*slot) {
    rows_of(x)[*slot - 1] = row;
  } else if (buffer_append(&x->rows, &row, sizeof row, e)) {
    *slot = (uint32_t)rows_count(x);
  } else {
    return NULL;
  }
  return next;
}

struct run_row *run_index_find(struct run_index *x, const char *name, uint64_t *stamp,
                               uint32_t *segment) {
  if (x->slots.length == 0) return NULL;
  uint32_t *slot = slot_of(x, (struct span){.data = name, .length = strlen(name)});
  struct run_row *row = *slot ? &rows_of(x)[*slot - 1] : NULL;
  const char *from = row ? x->text.data + row->line : NULL;
  uint64_t number;
  if (!row || !hex_read(&from, 16, stamp) || !hex_read(&from, 8, &number)) return NULL;
  *segment = (uint32_t)number;
  return row;
}

static bool line_write(struct buffer *to, const char stamps[STAMPS], const char *name,
                       const struct header *header, struct error *e) {
  return buffer_append(to, stamps, STAMPS, e) &&
         buffer_format(to, e, "%" PRId64 " %s %s/%s\n", header->due, header->status, name,
                       header->about);
}

bool run_index_put(struct run_index *x, const char *name, uint64_t stamp, uint32_t segment,
                   const struct header *header, struct error *e) {
  char stamps[STAMPS + 1];
  size_t at = x->text.length;
  snprintf(stamps, sizeof stamps, "%016" PRIx64 " %08" PRIx32 " ", stamp, segment);
  if (!line_write(&x->text, stamps, name, header, e)) return false;
  x->added++;
  return row_add(x, at, true, e) != NULL;
}

/* ---- the file ---- */

uint64_t run_index_stamp(const struct sys_stat *found, uint32_t segment) {
  const uint64_t parts[] = {found->device, found->inode, (uint64_t)found->size,
                            (uint64_t)found->mtime_ns, segment};
  uint64_t stamp = 0;
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    stamp = (stamp ^ parts[i]) * UINT64_C(0x9e3779b97f4a7c15);
    stamp ^= stamp >> 29;
  }
  return stamp;
}

/* Writes the first line of a text whose other lines follow HEAD. */
static void head_write(char to[HEAD + 1], const struct buffer *text) {
  snprintf(to, HEAD + 1, "skillrt run index 2, %08" PRIx32 "  \n",
           crc32c(0, text->data + HEAD, text->length - HEAD));
}

static bool head_fits(const struct buffer *text) {
  char head[HEAD + 1];
  if (text->length < HEAD) return false;
  head_write(head, text);
  return memcmp(head, text->data, HEAD) == 0;
}

/* As much as the file has: a list of many runs must not take twice the memory. */
static bool text_read_file(struct run_index *x, const char *path) {
  struct sys_stat found;
  int fd = file_open(x->sys, path, O_RDONLY, NULL);
  if (fd < 0) return false;
  char *room = NULL;
  if (x->sys->fstat(x->sys, fd, &found) == 0 && found.size < INDEX_MAX)
    room = buffer_room(&x->text, (size_t)found.size, NULL);
  bool good = room && sys_pread_all(x->sys, fd, room, (size_t)found.size, 0, path, NULL);
  x->sys->close(x->sys, fd);
  if (!good) return false;
  x->text.length = (size_t)found.size;
  room[found.size] = '\0';
  return true;
}

void run_index_init(struct run_index *x, const struct sys *sys, const char *folder) {
  char path[PATH_MAX];
  x->sys = sys;
  x->added = 0;
  x->rest = 0;
  buffer_init(&x->text, sys, INDEX_MAX);
  buffer_init(&x->rows, sys, INDEX_MAX);
  buffer_init(&x->slots, sys, INDEX_MAX);
  if (!file_path(path, folder, index_name, NULL) || !text_read_file(x, path)) return;
  const char *from = head_fits(&x->text) ? x->text.data + HEAD : NULL;
  while (from && from < x->text.data + x->text.length)
    from = row_add(x, (size_t)(from - x->text.data), false, NULL);
  if (!from) run_index_clear(x);
}

void run_index_clear(struct run_index *x) {
  buffer_clear(&x->text);
  buffer_clear(&x->rows);
  buffer_clear(&x->slots);
}

/* ---- in order ---- */

static int by_age(const void *a, const void *b, void *index) {
  const struct run_row *x = a, *y = b;
  if (x->at != y->at) return x->at > y->at ? -1 : 1;
  const char *i = name_of(index, x), *j = name_of(index, y);
  while (*i == *j && *i != '/')
    i++, j++;
  return (*i == '/' ? 0 : (unsigned char)*i) - (*j == '/' ? 0 : (unsigned char)*j);
}

/* As the file has them, mostly: then a copy for sorting is spared. */
static void rows_sort(struct run_index *x) {
  struct run_row *rows = rows_of(x);
  size_t count = rows_count(x), i = 1;
  while (i < count && by_age(&rows[i - 1], &rows[i], x) < 0)
    i++;
  if (i >= count) return;
  buffer_reset(&x->slots); /* the numbers of the rows change */
  qsort_r(rows, count, sizeof *rows, by_age, x);
}

/* What is known of a run that is here, by the number of its row. */
static bool row_read(const struct run_index *x, size_t number, char name[NAME_MAX + 1],
                     struct header *to) {
  const struct run_row *row = &rows_of(x)[number];
  const char *text = x->text.data;
  struct line line;
  if (!row->is_here || !line_read(text + row->line, text + x->text.length, &line) ||
      !header_read(&line, text + row->rest, to))
    return false;
  part_copy(name, line.name);
  return true;
}

void run_index_each(struct run_index *x,
                    bool (*each)(void *data, const char *name, const struct header *), void *data) {
  bool more = true;
  rows_sort(x);
  for (size_t i = 0; i < rows_count(x) && more; i++) {
    struct header header;
    char name[NAME_MAX + 1];
    if (row_read(x, i, name, &header)) more = each(data, name, &header);
  }
}

void run_index_keep(const struct run_index *x, const char *folder) {
  char path[PATH_MAX], name[NAME_MAX + 1], last[STORE_ABOUT] = "";
  struct buffer text;
  if (x->added < ADDED_FEW || !file_path(path, folder, index_name, NULL)) return;
  buffer_init(&text, x->sys, INDEX_MAX);
  char *head = buffer_room(&text, HEAD, NULL);
  bool good = head != NULL;
  if (good) text.length = HEAD;
  for (size_t i = 0; good && i < rows_count(x); i++) {
    struct header header;
    const char *rest;
    if (!row_read(x, i, name, &header) || header_at(&header, &rest) <= 0) continue;
    bool is_same = strcmp(rest, last) == 0;
    strcpy(last, rest);
    if (is_same) header.about[rest - header.about] = '\0';
    good = line_write(&text, x->text.data + rows_of(x)[i].line, name, &header, NULL);
  }
  if (good) {
    char first[HEAD + 1];
    head_write(first, &text);
    memcpy(text.data, first, HEAD);
    sys_replace_file(x->sys, path, text.data, text.length, false, NULL);
  }
  buffer_clear(&text);
}
