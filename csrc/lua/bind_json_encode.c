/* bind_json_encode.c: walks Lua values and writes them as JSON, without calling their metamethods.
 * A table's first key says what it is; items out of order and sorted keys take a second look.
 * Owns no memory (see bind_json_out.c). Called by bind_json.c. */
#include <lauxlib.h>
#include <string.h>

#include "base/json.h"
#include "lua/bind_json_out.h"

enum {
  PAIRS_ON_STACK = 512, /* sorted members of one table whose values stay on the stack */
  PAIRS_AT_ONCE = 16    /* the stack is asked for room for so many together, two slots each */
};

static bool encode_value(struct encoder *c, int index, const struct json_path *path);

/* ---- arrays ---- */

static bool encode_item(struct encoder *c, int index, lua_Integer place, struct json_path *here) {
  here->index = place;
  return (place == 1 || encode_byte(c, ',')) && encode_line(c) && encode_value(c, index, here);
}

/* All keys must be 1..n, in whatever order they come; gives n. */
static bool encode_count_items(struct encoder *c, int table, const struct json_path *path,
                               lua_Integer *count) {
  lua_State *L = c->L;
  lua_Integer most = 0, n = 0;
  lua_pushnil(L);
  while (lua_next(L, table)) {
    lua_pop(L, 1);
    if (lua_type(L, -1) == LUA_TSTRING)
      return encode_refuse(c, path, "a table with both items and named members");
    if (!lua_isinteger(L, -1) || lua_tointeger(L, -1) < 1)
      return encode_refuse(c, path, "a table whose keys are neither strings nor 1..n");
    if (lua_tointeger(L, -1) > most) most = lua_tointeger(L, -1);
    n++;
  }
  if (most != n)
    return encode_refuse(c, path, "an array with holes (use null for what is missing)");
  *count = n;
  return true;
}

static bool encode_items_in_order(struct encoder *c, int table, struct json_path *here) {
  lua_State *L = c->L;
  lua_Integer count;
  if (!encode_count_items(c, table, here->up, &count)) return false;
  for (lua_Integer i = 1; i <= count; i++) {
    lua_rawgeti(L, table, i);
    if (!encode_item(c, lua_gettop(L), i, here)) return false;
    lua_pop(L, 1);
  }
  return true;
}

/* The first key and its value are on the stack. lua_next nearly always gives 1, 2, 3 ... */
static bool encode_array(struct encoder *c, int table, struct json_path *here) {
  lua_State *L = c->L;
  size_t start = c->out.length;
  lua_Integer n = 0;
  here->key = NULL;
  int value = lua_gettop(L);
  do {
    if (!lua_isinteger(L, value - 1) || lua_tointeger(L, value - 1) != n + 1) {
      c->out.length = start;
      lua_pop(L, 2);
      return encode_items_in_order(c, table, here);
    }
    if (!encode_item(c, value, ++n, here)) return false;
    lua_pop(L, 1);
  } while (lua_next(L, table));
  return true;
}

/* ---- objects ---- */

static bool encode_name(struct encoder *c, bool first, struct json_path *here) {
  if ((!first && !encode_byte(c, ',')) || !encode_line(c) ||
      !encode_string(c, here->key, here->key_length, here))
    return false;
  return c->options->indent ? encode_bytes(c, ": ", 2) : encode_byte(c, ':');
}

static bool encode_member(struct encoder *c, bool first, int value, struct json_path *here) {
  return encode_name(c, first, here) && encode_value(c, value, here);
}

static bool encode_wrong_key(struct encoder *c, const struct json_path *here) {
  return encode_refuse(c, here->up, "a table with both named members and other keys");
}

static bool encode_members(struct encoder *c, int table, struct json_path *here) {
  lua_State *L = c->L;
  int value = lua_gettop(L);
  bool first = true;
  do {
    if (lua_type(L, value - 1) != LUA_TSTRING) return encode_wrong_key(c, here);
    here->key = lua_tolstring(L, value - 1, &here->key_length);
    if (!encode_member(c, first, value, here)) return false;
    first = false;
    lua_pop(L, 1);
  } while (lua_next(L, table));
  return true;
}

/* Keeps the pair on top of the stack reachable while others come: on the stack itself or,
 * when that grows long, the key in the table `keys`. Leaves the key on top for lua_next. */
static int encode_keep_pair(lua_State *L, size_t kept, int *keys, int *moved) {
  int slot = lua_gettop(L);
  bool room = kept % PAIRS_AT_ONCE != 0 || lua_checkstack(L, 2 * PAIRS_AT_ONCE + 8);
  if (*keys == 0 && kept < PAIRS_ON_STACK && room) {
    lua_pushvalue(L, -2);
    return slot;
  }
  if (*keys == 0) {
    lua_newtable(L);
    lua_insert(L, -3);
    *keys = lua_gettop(L) - 2;
  }
  lua_pop(L, 1);
  lua_pushvalue(L, -1);
  lua_rawseti(L, *keys, ++*moved);
  return -*moved;
}

/* Takes a plain value on top of the stack into its entry: to look for it again takes long where
 * there are many. False: it is none. */
static bool entry_take(lua_State *L, struct entry *entry) {
  size_t length;
  switch (lua_type(L, -1)) {
  case LUA_TNUMBER:
    entry->type = lua_isinteger(L, -1) ? ENTRY_INTEGER : ENTRY_DOUBLE;
    if (entry->type == ENTRY_INTEGER)
      entry->value.integer = lua_tointeger(L, -1);
    else
      entry->value.number = lua_tonumber(L, -1);
    return true;
  case LUA_TBOOLEAN:
    entry->type = ENTRY_BOOLEAN;
    entry->value.integer = lua_toboolean(L, -1);
    return true;
  case LUA_TSTRING:
    entry->value.text = lua_tolstring(L, -1, &length);
    if (length > ENTRY_TEXT_MOST) return false;
    entry->type = ENTRY_TEXT;
    entry->text_length = (unsigned)length & ENTRY_TEXT_MOST;
    return true;
  default:
    return false;
  }
}

/* The members that entries point into are held, whatever a proxy's function does to the table. */
static bool encode_hold(struct encoder *c, int table, size_t count) {
  lua_State *L = c->L;
  if (!lua_checkstack(L, 8)) return encode_refuse(c, NULL, "a table nested too deep");
  lua_createtable(L, 0, (int)count);
  lua_pushnil(L);
  while (lua_next(L, table)) {
    lua_pushvalue(L, -2);
    lua_insert(L, -2);
    lua_rawset(L, -4);
  }
  return true;
}

/* Lists the members of the table; the first key and its value are on the stack. Their names alone
 * may need more than there is room for: then nothing is sorted without need. */
static bool encode_list(struct encoder *c, int table, const struct json_path *here, int *keys) {
  lua_State *L = c->L;
  size_t base = c->entry_count, least = c->out.length;
  int moved = 0;
  bool taken = false, tables = false;
  do {
    if (lua_type(L, -2) != LUA_TSTRING) return encode_wrong_key(c, here);
    if (!encode_entries(c, 1)) return false;
    struct entry entry = {0};
    size_t length;
    entry.key = lua_tolstring(L, -2, &length);
    least += length + 4; /* two quotes, a colon and a value */
    if (least > c->options->size) return encode_too_large(c);
    entry.length = (uint32_t)length;
    entry.prefix = encode_prefix(entry.key, length);
    tables = tables || lua_type(L, -1) == LUA_TTABLE;
    if (c->entry_count - base >= PAIRS_ON_STACK && entry_take(L, &entry)) {
      taken = true;
      lua_pop(L, 1);
    } else {
      entry.value.slot = encode_keep_pair(L, c->entry_count - base, keys, &moved);
    }
    c->entries[c->entry_count++] = entry;
  } while (lua_next(L, table));
  return !(taken && tables) || encode_hold(c, table, c->entry_count - base);
}

static bool encode_taken(struct encoder *c, const struct entry *entry,
                         const struct json_path *here) {
  lua_State *L = c->L;
  if (entry->type == ENTRY_TEXT)
    return encode_string(c, entry->value.text, entry->text_length, here);
  if (entry->type == ENTRY_BOOLEAN)
    return encode_bytes(c, entry->value.integer ? "true" : "false", entry->value.integer ? 4 : 5);
  if (entry->type == ENTRY_DOUBLE)
    lua_pushnumber(L, entry->value.number);
  else
    lua_pushinteger(L, entry->value.integer);
  bool good = encode_number(c, lua_gettop(L), here);
  lua_pop(L, 1);
  return good;
}

static bool encode_sorted(struct encoder *c, int table, struct json_path *here) {
  lua_State *L = c->L;
  size_t base = c->entry_count;
  int keys = 0;
  if (!encode_list(c, table, here, &keys)) return false;
  size_t count = c->entry_count - base;
  encode_sort(c->entries + base, count);
  if (!lua_checkstack(L, 8))
    return encode_refuse(c, here->up, "a table nested too deep for Lua's stack");
  for (size_t i = 0; i < count; i++) {
    struct entry entry = c->entries[base + i]; /* the list may move below us */
    here->key = entry.key;
    here->key_length = entry.length;
    if (entry.type != ENTRY_SLOT) {
      if (!encode_name(c, i == 0, here) || !encode_taken(c, &entry, here)) return false;
      continue;
    }
    int value = entry.value.slot;
    if (value < 0) {
      lua_rawgeti(L, keys, -value);
      lua_rawget(L, table);
      value = lua_gettop(L);
    }
    if (!encode_member(c, i == 0, value, here)) return false;
    if (entry.value.slot < 0) lua_pop(L, 1);
  }
  c->entry_count = base;
  return true;
}

/* ---- values ---- */

static bool encode_filled(struct encoder *c, int table, enum json_mark mark,
                          const struct json_path *path) {
  lua_State *L = c->L;
  struct json_path here = {.up = path, .table = lua_topointer(L, table)};
  for (const struct json_path *above = path; above; above = above->up)
    if (above->table == here.table) return encode_refuse(c, path, "a table inside itself");
  bool object = lua_type(L, -2) == LUA_TSTRING;
  if (object && mark == JSON_MARK_ARRAY)
    return encode_refuse(c, path, "named members of a table marked as an array");
  c->depth++;
  if (!encode_byte(c, object ? '{' : '[')) return false;
  bool good = !object              ? encode_array(c, table, &here)
              : c->options->sorted ? encode_sorted(c, table, &here)
                                   : encode_members(c, table, &here);
  c->depth--;
  return good && encode_line(c) && encode_byte(c, object ? '}' : ']');
}

/* May one more container be opened? Empty ones count too: readers count them. */
static bool encode_may_open(struct encoder *c, const struct json_path *path) {
  if (c->depth < c->options->depth) return true;
  encode_refuse(c, path, "tables nested so deep");
  c->error->code = ERROR_LIMIT;
  return false;
}

static bool encode_table(struct encoder *c, int table, const struct json_path *path) {
  lua_State *L = c->L;
  int top = lua_gettop(L);
  enum json_mark mark;
  if (!lua_checkstack(L, 40))
    return encode_refuse(c, path, "a table nested too deep for Lua's stack");
  const char *refusal = json_resolve(L, &c->marks, &table, &mark);
  if (refusal) return encode_refuse(c, path, refusal);
  if (!encode_may_open(c, path)) return false;
  lua_pushnil(L);
  bool good = lua_next(L, table) ? encode_filled(c, table, mark, path)
                                 : encode_bytes(c, mark == JSON_MARK_NONE ? "{}" : "[]", 2);
  lua_settop(L, top);
  return good;
}

static bool encode_light(struct encoder *c, const void *address, const struct json_path *path) {
  if (!address) return encode_bytes(c, "null", 4);
  if (json_is_empty_array(c->L, &c->marks, address))
    return encode_may_open(c, path) && encode_bytes(c, "[]", 2);
  return encode_refuse(c, path, "a light userdata");
}

/* `index` is absolute. */
static bool encode_value(struct encoder *c, int index, const struct json_path *path) {
  lua_State *L = c->L;
  size_t length;
  const char *text;
  switch (lua_type(L, index)) {
  case LUA_TSTRING:
    text = lua_tolstring(L, index, &length);
    return encode_string(c, text, length, path);
  case LUA_TNUMBER:
    return encode_number(c, index, path);
  case LUA_TTABLE:
    return encode_table(c, index, path);
  case LUA_TBOOLEAN:
    return lua_toboolean(L, index) ? encode_bytes(c, "true", 4) : encode_bytes(c, "false", 5);
  case LUA_TLIGHTUSERDATA:
    return encode_light(c, lua_touserdata(L, index), path);
  case LUA_TNIL:
    return encode_refuse(c, path, "nil");
  case LUA_TFUNCTION:
    return encode_refuse(c, path, "a function");
  case LUA_TTHREAD:
    return encode_refuse(c, path, "a coroutine");
  default:
    return encode_refuse(c, path, "a userdata");
  }
}

bool encoder_run(struct encoder *c, lua_State *L, int index, const struct json_options *options,
                 struct span *text, struct error *e) {
  c->L = L;
  c->options = options;
  c->error = e;
  c->depth = 0;
  c->entry_count = 0;
  json_marks_init(L, &c->marks);
  c->out.length = 0;
  c->out.maximum = options->size + OUT_SLACK;
  bool good = encode_value(c, index, NULL);
  if (good && c->out.length > options->size) good = encode_too_large(c);
  encoder_forget_entries(c);
  *text = buffer_span(&c->out);
  return good;
}
