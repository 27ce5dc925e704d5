/* bind_json_out.c: the encoder's userdata: its buffer, its list of keys, its complaints,
 * and the scalars it writes. All memory comes from the Lua state's allocator and is freed by
 * __gc. Knows no table.
 * Called by bind_json_encode.c. */
#include "lua/bind_json_out.h"

#include <ctype.h>
#include <lauxlib.h>
#include <stdio.h>

#include "base/json.h"

enum { KEPT_BYTES = 64 << 10, KEPT_ENTRIES = 1024 }; /* memory that waits for the next call */

static const char encoder_name[] = "skillrt.base.json.encoder";

/* ---- the userdata ---- */

static void *encoder_alloc(const struct sys *sys, void *block, size_t old_size, size_t new_size) {
  struct encoder *c = sys->self;
  return c->alloc(c->alloc_data, block, block ? old_size : 0, new_size);
}

static void encoder_free(struct encoder *c) {
  buffer_clear(&c->out);
  if (c->entries) encoder_alloc(&c->sys, c->entries, c->entry_capacity * sizeof(struct entry), 0);
  c->entries = NULL;
  c->entry_count = c->entry_capacity = 0;
}

static int encoder_gc(lua_State *L) {
  encoder_free(luaL_checkudata(L, 1, encoder_name));
  return 0;
}

void encoder_push(lua_State *L) {
  struct encoder *c = lua_newuserdatauv(L, sizeof *c, 0);
  memset(c, 0, sizeof *c);
  c->alloc = lua_getallocf(L, &c->alloc_data);
  c->sys.self = c;
  c->sys.alloc = encoder_alloc;
  buffer_init(&c->out, &c->sys, 0);
  if (luaL_newmetatable(L, encoder_name)) {
    lua_pushcfunction(L, encoder_gc);
    lua_setfield(L, -2, "__gc");
    lua_pushboolean(L, 0);
    lua_setfield(L, -2, "__metatable");
  }
  lua_setmetatable(L, -2);
}

struct encoder *encoder_take(lua_State *L) {
  lua_pushvalue(L, lua_upvalueindex(JSON_ENCODER));
  struct encoder *c = lua_touserdata(L, -1);
  if (c->busy) { /* a finalizer encodes inside our run, or an earlier run was ended by an error */
    lua_pop(L, 1);
    encoder_push(L);
    c = lua_touserdata(L, -1);
    lua_copy(L, -1, lua_upvalueindex(JSON_ENCODER));
  }
  c->busy = true;
  return c;
}

void encoder_forget_entries(struct encoder *c) {
  if (c->entry_capacity <= KEPT_ENTRIES) return;
  encoder_alloc(&c->sys, c->entries, c->entry_capacity * sizeof(struct entry), 0);
  c->entries = NULL;
  c->entry_count = c->entry_capacity = 0;
}

void encoder_give_back(struct encoder *c) {
  if (c->out.capacity > KEPT_BYTES) buffer_clear(&c->out);
  encoder_forget_entries(c);
  c->busy = false;
}

/* ---- room ---- */

bool encode_too_large(struct encoder *c) {
  return error_set(c->error, ERROR_LIMIT, "%s: more than %zu bytes of JSON", c->options->name,
                   c->options->size);
}

char *encode_more_room(struct encoder *c, size_t size) {
  char *to = buffer_room(&c->out, size, c->error);
  if (to) return to;
  if (c->error->code == ERROR_LIMIT)
    encode_too_large(c);
  else
    error_set(c->error, ERROR_MEMORY, "%s: out of memory", c->options->name);
  return NULL;
}

bool encode_entries(struct encoder *c, size_t size) {
  if (c->entry_count + size <= c->entry_capacity) return true;
  size_t capacity = 2 * (c->entry_count + size) + 32;
  void *moved = encoder_alloc(&c->sys, c->entries, c->entry_capacity * sizeof(struct entry),
                              capacity * sizeof(struct entry));
  if (!moved) return error_set(c->error, ERROR_MEMORY, "%s: out of memory", c->options->name);
  c->entries = moved;
  c->entry_capacity = capacity;
  return true;
}

/* ---- complaints ---- */

static bool path_is_name(const char *key, size_t length) {
  if (length == 0 || length > 60 || (key[0] >= '0' && key[0] <= '9')) return false;
  for (size_t i = 0; i < length; i++) {
    unsigned char c = (unsigned char)key[i];
    if (!(c == '_' || (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z')))
      return false;
  }
  return true;
}

/* ["odd key"], with what a terminal could stumble over replaced. */
static size_t path_quote(const char *key, size_t length, char *to) {
  size_t size = 0, shown = length > 40 ? 40 : length;
  to[size++] = '[', to[size++] = '"';
  for (size_t i = 0; i < shown; i++) {
    unsigned char c = (unsigned char)key[i];
    to[size++] = c >= 0x20 && c < 0x7F ? (char)c : '?';
  }
  for (int i = 0; i < 3 && shown < length; i++)
    to[size++] = '.';
  to[size++] = '"', to[size++] = ']';
  return size;
}

/* Writes the path from its end to its beginning; what does not fit is left out in front. */
static const char *path_text(const struct json_path *path, char *room, size_t size) {
  char *at = room + size - 1;
  *at = '\0';
  for (; path; path = path->up) {
    char part[72];
    size_t length;
    if (!path->key) {
      length = (size_t)snprintf(part, sizeof part, "[" LUA_INTEGER_FMT "]", path->index);
    } else if (path_is_name(path->key, path->key_length)) {
      part[0] = '.';
      memcpy(part + 1, path->key, path->key_length);
      length = path->key_length + 1;
    } else {
      length = path_quote(path->key, path->key_length, part);
    }
    if ((size_t)(at - room) < length + 3) {
      at -= 3;
      memcpy(at, "...", 3);
      break;
    }
    at -= length;
    memcpy(at, part, length);
  }
  return at;
}

bool encode_refuse(struct encoder *c, const struct json_path *path, const char *what) {
  char room[256];
  return error_set(c->error, ERROR_INVALID, "%s%s: cannot encode %s", c->options->name,
                   path_text(path, room, sizeof room), what);
}

/* ---- scalars ---- */

bool encode_line(struct encoder *c) {
  if (c->options->indent == 0) return true;
  size_t spaces = c->depth * (size_t)c->options->indent;
  char *to = encode_room(c, spaces + 1);
  if (!to) return false;
  to[0] = '\n';
  memset(to + 1, ' ', spaces);
  c->out.length += spaces + 1;
  return true;
}

bool encode_string(struct encoder *c, const char *at, size_t length, const struct json_path *path) {
  const char *end = at + length;
  if (!encode_byte(c, '"')) return false;
  for (;;) {
    const char *stop = json_scan(at, end);
    if (!encode_bytes(c, at, (size_t)(stop - at))) return false;
    if (stop == end) return encode_byte(c, '"');
    char escape[6];
    size_t size = json_escape(*stop, escape);
    if (size == 0) return encode_refuse(c, path, "a string that is not valid UTF-8");
    if (!encode_bytes(c, escape, size)) return false;
    at = stop + 1;
  }
}

bool encode_number(struct encoder *c, int index, const struct json_path *path) {
  char *to = encode_room(c, JSON_DOUBLE_ROOM);
  if (!to) return false;
  if (lua_isinteger(c->L, index)) {
    c->out.length += json_write_integer(lua_tointeger(c->L, index), to);
    return true;
  }
  double value = lua_tonumber(c->L, index);
  size_t length = json_write_double(value, to);
  if (length == 0) return encode_refuse(c, path, value != value ? "NaN" : "an infinite number");
  c->out.length += length;
  return true;
}
