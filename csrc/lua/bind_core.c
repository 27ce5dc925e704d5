/* bind_core.c: the module skillrt.core: bytes, clocks, files and runs for Lua.
 *
 * Opened by main.c and skillrt.c from inside, or as core.so by plain lua5.4. Also where
 * `require` finds the Lua files that travel inside the program (embedded.h). */
#include "lua/bind.h"

#include <lauxlib.h>
#include <string.h>
#include <zlib.h>

#include "base/sha256.h"
#include "engine/loop.h"
#include "jail/jail.h"
#include "lua/bind_loop.h"
#include "lua/bind_store.h"
#include "lua/core.h"
#include "lua/embedded.h"
#include "lua/limits.h"
#include "transport/leftover.h"

static const char sys_key;

const struct sys *bind_sys(lua_State *L) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &sys_key);
  const struct sys *sys = lua_touserdata(L, -1);
  lua_pop(L, 1);
  return sys ? sys : sys_real();
}

void *bind_unconst(const void *pointer) {
  void *same;
  memcpy(&same, &pointer, sizeof same);
  return same;
}

void bind_set_sys(lua_State *L, const struct sys *sys) {
  lua_pushlightuserdata(L, bind_unconst(sys));
  lua_rawsetp(L, LUA_REGISTRYINDEX, &sys_key);
}

int bind_fail(lua_State *L, const struct error *error) {
  lua_pushnil(L);
  lua_pushstring(L, error->text);
  lua_pushstring(L, error_name(error->code));
  return 3;
}

/* drains() -> boolean: whether what is under way may end, and nothing new is begun */
static int core_drains(lua_State *L) {
  lua_pushboolean(L, limits_draining(limits_of(L)));
  return 1;
}

static int core_sha256(lua_State *L) {
  size_t size;
  const char *text = luaL_checklstring(L, 1, &size);
  char hex[65];
  sha256_hex(text, size, hex);
  lua_pushstring(L, hex);
  return 1;
}

/* FNV-1a, 64 bits: quick, for comparing within one process only. The end is MurmurHash3's: without
 * it texts that differ in their last bytes have hashes whose sums are soon the same. */
static int core_hash(lua_State *L) {
  size_t size;
  const char *text = luaL_checklstring(L, 1, &size);
  uint64_t hash = 14695981039346656037u;
  for (size_t i = 0; i < size; i++)
    hash = (hash ^ (unsigned char)text[i]) * 1099511628211u;
  hash = (hash ^ hash >> 33) * 0xff51afd7ed558ccdu;
  hash = (hash ^ hash >> 33) * 0xc4ceb9fe1a85ec53u;
  hash ^= hash >> 33;
  lua_pushinteger(L, (lua_Integer)hash);
  return 1;
}

static int core_wall_ms(lua_State *L) {
  const struct sys *sys = bind_sys(L);
  lua_pushinteger(L, sys->wall_ms(sys));
  return 1;
}

static int core_mono_ms(lua_State *L) {
  const struct sys *sys = bind_sys(L);
  lua_pushinteger(L, sys->mono_ns(sys) / 1000000);
  return 1;
}

static int core_mono_ns(lua_State *L) {
  const struct sys *sys = bind_sys(L);
  lua_pushinteger(L, sys->mono_ns(sys));
  return 1;
}

/* jail(): whether programs can be jailed here; what cannot be done where not; Landlock's ABI, 0:
 * none. */
static int core_jail(lua_State *L) {
  const struct jail_probe *probe = jail_probe();
  lua_pushboolean(L, probe->works);
  lua_pushstring(L, probe->failure);
  lua_pushinteger(L, probe->landlock);
  return 3;
}

static void random_bytes(lua_State *L, void *to, size_t size) {
  const struct sys *sys = bind_sys(L);
  int failed = sys->random(sys, to, size);
  if (failed < 0) luaL_error(L, "random: %s", strerror(-failed));
}

/* allow(ms, left?): the function that begins or continues now may run for so long without a wait,
 * and for so long in all; nil: as it likes. */
static int core_allow(lua_State *L) {
  struct limits *limits = limits_of(L);
  struct interrupt *current = limits_current(limits);
  int64_t stretch_ns = luaL_checkinteger(L, 1) * 1000000, left_ms = luaL_optinteger(L, 2, -1);
  int64_t until_ns = left_ms < 0 ? 0 : sys_real()->mono_ns(sys_real()) + left_ms * 1000000;
  limits_allow(limits, current, stretch_ns, until_ns);
  return 0;
}

/* own(source): what begins with it is the name of a chunk of skillrt's */
static int core_own(lua_State *L) {
  limits_own(limits_of(L), luaL_checkstring(L, 1));
  return 0;
}

/* A float in [0, 1). */
static int core_random(lua_State *L) {
  uint64_t bits;
  random_bytes(L, &bits, sizeof bits);
  lua_pushnumber(L, (lua_Number)(bits >> 11) * 0x1.0p-53);
  return 1;
}

/* Version 4, as in RFC 9562. */
static int core_uuid(lua_State *L) {
  unsigned char b[16];
  random_bytes(L, b, sizeof b);
  b[6] = (unsigned char)((b[6] & 0x0f) | 0x40);
  b[8] = (unsigned char)((b[8] & 0x3f) | 0x80);
  static const char digits[] = "0123456789abcdef";
  char text[36];
  size_t at = 0;
  for (int i = 0; i < 16; i++) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text[at++] = '-';
    text[at++] = digits[b[i] >> 4];
    text[at++] = digits[b[i] & 15];
  }
  lua_pushlstring(L, text, sizeof text);
  return 1;
}

static void pause_in_loop(void *data, int ms) {
  loop_wait(data, NULL, 0, ms);
}

/* end_leftovers { { pid =, start = } ... } -> { whether any of it was left ... } | nil, message,
 * code. Ends the groups of programs that a dead process started; waits for them, up to 3 s, in
 * which other runs continue. */
static int core_end_leftovers(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 1);
  size_t count = lua_rawlen(L, 1);
  struct error error = {0};
  struct loop *loop = bind_loop(L, &error);
  if (!loop) return bind_fail(L, &error);
  struct leftover *list = lua_newuserdatauv(L, (count + 1) * sizeof *list, 0);
  lua_createtable(L, (int)count, 0);
  for (size_t i = 0; i < count; i++) {
    lua_rawgeti(L, 1, (lua_Integer)i + 1);
    lua_getfield(L, -1, "pid");
    lua_getfield(L, -2, "start");
    if (!leftover_find(bind_sys(L), luaL_checkinteger(L, -2), luaL_checkstring(L, -1), &list[i],
                       &error))
      return bind_fail(L, &error);
    lua_pop(L, 3);
    lua_pushboolean(L, list[i].living > 0);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return leftover_end(list, count, pause_in_loop, loop, &error) ? 1 : bind_fail(L, &error);
}

static const struct embedded_file *find_embedded(const char *name) {
  for (const struct embedded_file *file = embedded_files; file->name; file++)
    if (strcmp(file->name, name) == 0) return file;
  return NULL;
}

#ifdef SKILLRT_FROM_DISK
static bool push_from_disk(lua_State *L, const char *name) {
  const char *path = lua_pushfstring(L, "%s/%s", SKILLRT_FROM_DISK, name);
  struct error error;
  struct buffer *text = bind_buffer(L, 16u << 20);
  if (!buffer_read_file(text, path, false, &error)) {
    lua_pop(L, 2);
    return false;
  }
  lua_pushlstring(L, text->data ? text->data : "", text->length);
  lua_replace(L, -3);
  lua_pop(L, 1);
  return true;
}
#endif

/* Pushes a group as it was before it was packed; a Lua state keeps it from then on. */
static const char *push_group(lua_State *L, const struct embedded_group *group) {
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, group) == LUA_TSTRING) return lua_tostring(L, -1);
  lua_pop(L, 1);
  luaL_Buffer text;
  char *to = luaL_buffinitsize(L, &text, group->size);
  uLongf size = group->size;
  if (uncompress((Bytef *)to, &size, (const Bytef *)group->data, group->packed) != Z_OK ||
      size != group->size)
    luaL_error(L, "the files inside the program are damaged; build it anew");
  luaL_pushresultsize(&text, group->size);
  lua_pushvalue(L, -1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, group);
  return lua_tostring(L, -1);
}

static void push_packed(lua_State *L, const struct embedded_file *file) {
  const char *all = push_group(L, &embedded_groups[file->group]);
  lua_pushlstring(L, all + file->offset, file->size);
  lua_remove(L, -2);
}

/* Pushes the file's text; false (and nothing) where there is none. */
static bool push_asset(lua_State *L, const char *name) {
#ifdef SKILLRT_FROM_DISK
  if (push_from_disk(L, name)) return true;
#endif
  const struct embedded_file *file = find_embedded(name);
  if (file && !file->text)
    push_packed(L, file);
  else if (file)
    lua_pushlstring(L, file->text, file->size);
  return file != NULL;
}

/* asset(name) -> text or nil: "strategies/priority.lua", "templates/en/skill.mustache". */
static int core_asset(lua_State *L) {
  if (!push_asset(L, luaL_checkstring(L, 1))) lua_pushnil(L);
  return 1;
}

/* assets(prefix) -> names that begin with it, in order. */
static int core_assets(lua_State *L) {
  size_t size;
  const char *prefix = luaL_checklstring(L, 1, &size);
  lua_newtable(L);
  lua_Integer count = 0;
  for (const struct embedded_file *file = embedded_files; file->name; file++) {
    if (strncmp(file->name, prefix, size) == 0) {
      lua_pushstring(L, file->name);
      lua_rawseti(L, -2, ++count);
    }
  }
  return 1;
}

/* package.searchers entry: "skillrt.mode.hybrid" is "lua/skillrt/mode/hybrid.lua". */
static int search_embedded(lua_State *L) {
  const char *module = luaL_checkstring(L, 1);
  const char *path = luaL_gsub(L, module, ".", "/");
  const char *name = lua_pushfstring(L, "lua/%s.lua", path);
  if (!push_asset(L, name)) {
    name = lua_pushfstring(L, "lua/%s/init.lua", path);
    if (!push_asset(L, name)) {
      lua_pushfstring(L, "no file '%s' inside the program", name);
      return 1;
    }
  }
  size_t size;
  const char *text = lua_tolstring(L, -1, &size);
  const char *chunk = lua_pushfstring(L, "@%s", name + strlen("lua/"));
  if (luaL_loadbufferx(L, text, size, chunk, "bt") != LUA_OK) return lua_error(L);
  lua_pushstring(L, name);
  return 2;
}

/* A folder somebody happens to stand in is no place to look for modules: what LUA_PATH or Lua's own
 * default names relative to it is left out. The table package is on top. */
static void keep_absolute(lua_State *L, const char *field) {
  lua_getfield(L, -1, field);
  const char *place = lua_tostring(L, -1);
  luaL_Buffer kept;
  luaL_buffinit(L, &kept);
  for (bool first = true; place && *place;) {
    size_t size = strcspn(place, ";");
    if (*place == '/') {
      if (!first) luaL_addchar(&kept, ';');
      luaL_addlstring(&kept, place, size);
      first = false;
    }
    place += size + (place[size] == ';');
  }
  luaL_pushresult(&kept);
  lua_setfield(L, -3, field);
  lua_pop(L, 1);
}

int core_install(lua_State *L) {
  luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_PRELOAD_TABLE);
  lua_pushcfunction(L, luaopen_skillrt_core);
  lua_setfield(L, -2, "skillrt.core");
  lua_pop(L, 1);
  lua_getglobal(L, "package");
  keep_absolute(L, "path");
  keep_absolute(L, "cpath");
  lua_getfield(L, -1, "searchers");
  for (lua_Integer i = luaL_len(L, -1); i >= 2; i--) {
    lua_rawgeti(L, -1, i);
    lua_rawseti(L, -2, i + 1);
  }
  lua_pushcfunction(L, search_embedded);
  lua_rawseti(L, -2, 2);
  lua_pop(L, 2);
  return 0;
}

/* The metatable of Lua's large buffers is made with the first of them. Were memory out amid that,
 * no later one could be made. */
static void make_buffer(lua_State *L) {
  luaL_Buffer buffer;
  luaL_buffinitsize(L, &buffer, LUAL_BUFFERSIZE + 1);
  luaL_pushresult(&buffer);
  lua_pop(L, 1);
}

__attribute__((visibility("default"))) int luaopen_skillrt_core(lua_State *L) {
  static const luaL_Reg functions[] = {{"sha256", core_sha256},
                                       {"hash", core_hash},
                                       {"wall_ms", core_wall_ms},
                                       {"mono_ms", core_mono_ms},
                                       {"mono_ns", core_mono_ns},
                                       {"jail", core_jail},
                                       {"random", core_random},
                                       {"allow", core_allow},
                                       {"own", core_own},
                                       {"uuid", core_uuid},
                                       {"drains", core_drains},
                                       {"asset", core_asset},
                                       {"assets", core_assets},
                                       {"end_leftovers", core_end_leftovers},
                                       {NULL, NULL}};
  make_buffer(L);
  luaL_newlib(L, functions);
  lua_pushliteral(L, SKILLRT_VERSION);
  lua_setfield(L, -2, "version");
  bind_json(L);
  lua_setfield(L, -2, "json");
  bind_sse(L);
  lua_setfield(L, -2, "sse");
  bind_finder(L);
  lua_setfield(L, -2, "finder");
  bind_ranks(L);
  lua_setfield(L, -2, "ranks");
  bind_regex(L);
  lua_setfield(L, -2, "regex");
  bind_files(L);
  lua_setfield(L, -2, "files");
  bind_terminal(L);
  lua_setfield(L, -2, "terminal");
  bind_serve(L);
  lua_setfield(L, -2, "serve");
  bind_guest(L);
  lua_setfield(L, -2, "guest");
  bind_run(L);
  bind_store(L);
  bind_watch(L);
  bind_claims(L);
  return 1;
}
