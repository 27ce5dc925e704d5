/* bind_json_out.h: what an encoding run writes into, and how it complains.
 * Shared by bind_json_encode.c, which walks, bind_json_sort.c, which sorts, and bind_json_out.c,
 * which owns the memory. */
#ifndef SKILLRT_LUA_BIND_JSON_OUT_H
#define SKILLRT_LUA_BIND_JSON_OUT_H

#include <lua.h>
#include <string.h>

#include "lua/bind_json.h"

/* From a table up to the root: where a value stands, for messages and to notice cycles. */
struct json_path {
  const struct json_path *up;
  const void *table;
  const char *key; /* NULL: an item */
  size_t key_length;
  lua_Integer index;
};

/* What the value of an entry is. */
enum { ENTRY_SLOT, ENTRY_INTEGER, ENTRY_DOUBLE, ENTRY_BOOLEAN, ENTRY_TEXT };

enum { ENTRY_TEXT_MOST = (1 << 29) - 1 }; /* bytes of a text that an entry holds */

/* A member to be sorted: a large object has many, so it is 32 bytes. */
struct entry {
  uint64_t prefix; /* the first eight bytes as a big-endian number: most comparisons end here */
  const char *key;
  union {
    lua_Integer integer; /* of a boolean, too */
    lua_Number number;
    const char *text;
    int slot; /* > 0: the value is at this index; < 0: the key is item -slot of the key table */
  } value;
  uint32_t length; /* of the key: below options->size */
  unsigned text_length : 29, type : 3;
};

struct encoder {
  struct sys sys; /* only alloc: the Lua state's own */
  lua_Alloc alloc;
  void *alloc_data;
  struct buffer out;
  struct entry *entries; /* of all open objects, one behind the other */
  size_t entry_count, entry_capacity;
  bool busy;

  /* of one run */
  lua_State *L;
  const struct json_options *options;
  struct error *error;
  unsigned depth;
  struct json_marks marks;
};

enum { OUT_SLACK = 64 }; /* room beyond the size limit, so that fixed rooms may be asked for */

/* Makes room for `size` more entries, or sets the error. */
bool encode_entries(struct encoder *, size_t size);
/* What a name begins with, as a number that compares as the bytes do. */
uint64_t encode_prefix(const char *key, size_t length);
/* Sorts members by the bytes of their names, in place. */
void encode_sort(struct entry *, size_t count);
/* The run has ended: frees many entries before its text is copied. */
void encoder_forget_entries(struct encoder *);
/* "<name>.findings[3].cb: cannot encode <what>". False. */
bool encode_refuse(struct encoder *, const struct json_path *, const char *what);
bool encode_too_large(struct encoder *);
char *encode_more_room(struct encoder *, size_t size);
bool encode_string(struct encoder *, const char *text, size_t length, const struct json_path *);
bool encode_number(struct encoder *, int index, const struct json_path *);
/* A new line at the current depth, if the text is to be indented. */
bool encode_line(struct encoder *);

/* Room for `size` bytes behind the text, or NULL with the error set. */
static inline char *encode_room(struct encoder *c, size_t size) {
  if (size < c->out.capacity - c->out.length) return c->out.data + c->out.length;
  return encode_more_room(c, size);
}

static inline bool encode_bytes(struct encoder *c, const char *text, size_t length) {
  char *to = encode_room(c, length);
  if (!to) return false;
  memcpy(to, text, length);
  c->out.length += length;
  return true;
}

static inline bool encode_byte(struct encoder *c, char byte) {
  char *to = encode_room(c, 1);
  if (!to) return false;
  *to = byte;
  c->out.length++;
  return true;
}

#endif
