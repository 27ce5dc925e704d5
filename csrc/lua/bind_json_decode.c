/* bind_json_decode.c: builds Lua values from JSON tokens and refuses duplicate keys.
 * Members wait on the Lua stack until their table can be made with the right size; those of an
 * object with many are counted beforehand. Knows no grammar. Called by bind_json.c. */
#include <lauxlib.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "lua/bind_json.h"

enum {
  ITEMS_WAITING = 64,   /* array items on the stack before they move into the table */
  MEMBERS_WAITING = 24, /* object members likewise; each is compared with the others */
  KEY_ON_STACK = 256    /* escaped strings up to this length need no box */
};

struct decoder {
  lua_State *L;
  const struct json_options *options;
  struct json_reader reader;
  size_t ahead; /* bytes that may still be read twice, to count members: those of the text, once */
  struct error *error;
};

static bool decode_value(struct decoder *d, enum json_token token);

static bool decode_no_stack(struct decoder *d) {
  return error_set(d->error, ERROR_LIMIT, "%s: nested too deep for Lua's stack", d->options->name);
}

/* Pushes the string the reader stands on. */
static const char *decode_string(struct decoder *d, size_t *length) {
  const struct span raw = d->reader.string;
  *length = raw.length;
  if (!d->reader.escaped) return lua_pushlstring(d->L, raw.data, raw.length);
  if (raw.length <= KEY_ON_STACK) {
    char text[KEY_ON_STACK];
    *length = json_unescape(raw, text);
    return lua_pushlstring(d->L, text, *length);
  }
  luaL_Buffer box;
  char *text = luaL_buffinitsize(d->L, &box, raw.length);
  *length = json_unescape(raw, text);
  luaL_pushresultsize(&box, *length);
  return lua_tostring(d->L, -1);
}

/* Moves the `waiting` items on top of the stack to the places behind `count`. */
static void decode_flush_items(lua_State *L, int table, int count, int waiting) {
  if (count == 0) {
    lua_createtable(L, waiting, 0);
    lua_replace(L, table);
  }
  for (int i = count + waiting; i > count; i--)
    lua_rawseti(L, table, i);
}

static bool decode_array(struct decoder *d) {
  lua_State *L = d->L;
  if (!lua_checkstack(L, ITEMS_WAITING + 8)) return decode_no_stack(d);
  lua_pushnil(L);
  int table = lua_gettop(L), count = 0, waiting = 0;
  enum json_token token;
  while ((token = json_next(&d->reader)) != JSON_ARRAY_END) {
    if (!decode_value(d, token)) return false;
    if (++waiting == ITEMS_WAITING) {
      decode_flush_items(L, table, count, waiting);
      count += waiting;
      waiting = 0;
    }
  }
  if (waiting || count == 0) decode_flush_items(L, table, count, waiting);
  lua_pushvalue(L, lua_upvalueindex(JSON_ARRAY_MT));
  lua_setmetatable(L, table);
  return true;
}

/* A number that is the same for equal keys and hardly ever for different ones. */
static uint64_t decode_tag(const char *key, size_t length) {
  uint64_t head = 0, tail = 0;
  if (length >= 8) {
    memcpy(&head, key, 8);
    memcpy(&tail, key + length - 8, 8);
  } else if (length >= 4) {
    memcpy(&head, key, 4);
    memcpy(&tail, key + length - 4, 4);
  } else {
    for (size_t i = 0; i < length; i++)
      head = head << 8 | (unsigned char)key[i];
  }
  return (head ^ length) * UINT64_C(0x9E3779B97F4A7C15) ^ (tail << 23 | tail >> 41);
}

static bool decode_duplicate(struct decoder *d) {
  char problem[128];
  size_t length = d->reader.string.length;
  snprintf(problem, sizeof problem, "key \"%.*s%s\" appears twice",
           (int)(length > 60 ? 60 : length), d->reader.string.data, length > 60 ? "..." : "");
  return json_reader_complain(&d->reader, d->options->name, problem, d->error);
}

struct members {
  int table;   /* the slot of the table, nil at first */
  int waiting; /* members on the stack above it */
  bool made;
  uint64_t tags[MEMBERS_WAITING];
};

/* The key on top of the stack: is it among the members already seen? */
static bool decode_is_new(lua_State *L, const struct members *m, uint64_t tag) {
  int key = lua_gettop(L);
  for (int i = 0; i < m->waiting; i++)
    if (m->tags[i] == tag && lua_rawequal(L, m->table + 1 + 2 * i, key)) return false;
  if (m->made) {
    lua_pushvalue(L, key);
    int found = lua_rawget(L, m->table);
    lua_pop(L, 1);
    return found == LUA_TNIL;
  }
  return true;
}

/* How many members the open object has from here on, or had within what may be read ahead. */
static int decode_count_ahead(struct decoder *d) {
  struct json_reader ahead = d->reader;
  const char *last = ahead.at + d->ahead;
  int count = 0;
  while (ahead.at < last && ahead.depth >= d->reader.depth) {
    enum json_token token = json_next(&ahead);
    if (token == JSON_ERROR || token == JSON_END) break;
    count += token == JSON_KEY && ahead.depth == d->reader.depth && count < INT_MAX / 2;
  }
  d->ahead -= ahead.at < last ? (size_t)(ahead.at - d->reader.at) : d->ahead;
  return count;
}

static void decode_flush_members(lua_State *L, struct members *m, int more) {
  if (!m->made) {
    lua_createtable(L, 0, m->waiting + more);
    lua_replace(L, m->table);
    m->made = true;
  }
  for (; m->waiting > 0; m->waiting--)
    lua_rawset(L, m->table);
}

static bool decode_object(struct decoder *d) {
  lua_State *L = d->L;
  if (!lua_checkstack(L, 2 * MEMBERS_WAITING + 8)) return decode_no_stack(d);
  lua_pushnil(L);
  struct members m;
  m.table = lua_gettop(L);
  m.waiting = 0;
  m.made = false;
  enum json_token token;
  while ((token = json_next(&d->reader)) == JSON_KEY) {
    if (m.waiting == MEMBERS_WAITING)
      decode_flush_members(L, &m, m.made ? 0 : 1 + decode_count_ahead(d));
    size_t length;
    const char *key = decode_string(d, &length);
    uint64_t tag = decode_tag(key, length);
    if (!decode_is_new(L, &m, tag)) return decode_duplicate(d);
    if (!decode_value(d, json_next(&d->reader))) return false;
    m.tags[m.waiting++] = tag;
  }
  if (token != JSON_OBJECT_END) return json_reader_error(&d->reader, d->options->name, d->error);
  decode_flush_members(L, &m, 0);
  return true;
}

/* Pushes the value that begins with `token`. On false the stack may hold leftovers. */
static bool decode_value(struct decoder *d, enum json_token token) {
  lua_State *L = d->L;
  size_t length;
  switch (token) {
  case JSON_STRING:
    decode_string(d, &length);
    return true;
  case JSON_INTEGER:
    lua_pushinteger(L, d->reader.integer);
    return true;
  case JSON_DOUBLE:
    lua_pushnumber(L, d->reader.number);
    return true;
  case JSON_TRUE:
  case JSON_FALSE:
    lua_pushboolean(L, token == JSON_TRUE);
    return true;
  case JSON_NULL:
    lua_pushlightuserdata(L, NULL);
    return true;
  case JSON_ARRAY:
    return decode_array(d);
  case JSON_OBJECT:
    return decode_object(d);
  default:
    return json_reader_error(&d->reader, d->options->name, d->error);
  }
}

bool json_decode(lua_State *L, struct span text, const struct json_options *options,
                 struct error *e) {
  if (text.length > options->size)
    return error_set(e, ERROR_LIMIT, "%s: %zu bytes, more than the limit of %zu", options->name,
                     text.length, options->size);
  struct decoder d = {.L = L, .options = options, .ahead = text.length, .error = e};
  json_reader_init(&d.reader, text, options->depth);
  int top = lua_gettop(L);
  bool good = decode_value(&d, json_next(&d.reader));
  if (good && json_next(&d.reader) != JSON_END)
    good = json_reader_error(&d.reader, options->name, e);
  if (!good) lua_settop(L, top);
  return good;
}
