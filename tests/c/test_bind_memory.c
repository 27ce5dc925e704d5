/* test_bind_memory.c: what Lua has of C, where memory fails: at every n-th allocation, of Lua or
 * of the system, a piece of Lua either comes to its end or is told that memory is out; no
 * descriptor stays open, nothing is lost, and the same piece then works. */
#include <dirent.h>
#include <lauxlib.h>
#include <lualib.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "lua/bind.h"
#include "lua/core.h"
#include "lua/limits.h"
#include "support/check.h"
#include "support/faulty_sys.h"
#include "support/scratch.h"

struct poor {
  long left; /* allocations until they fail; negative: they do not */
  size_t loaned;
};

static void *poor_alloc(void *data, void *block, size_t old_size, size_t new_size) {
  struct poor *poor = data;
  if (!block) old_size = 0;
  if (new_size == 0) {
    poor->loaned -= old_size;
    free(block);
    return NULL;
  }
  if (new_size > old_size && poor->left >= 0) {
    if (poor->left == 0) return NULL;
    poor->left--;
  }
  void *moved = realloc(block, new_size);
  if (moved) poor->loaned += new_size - old_size;
  return moved;
}

/* Each with the folder `dir`, and what `core` is. */
static const struct {
  const char *name, *text;
} pieces[] = {
    {"files", "local path = dir .. '/file'\n"
              "good(core.files.write(path, ('x'):rep(5000)))\n"
              "assert(#good(core.files.read(path)) == 5000)\n"
              "assert(good(core.files.stat(path)).size == 5000)\n"
              "good(core.files.make_folders(dir .. '/a/b'))\n"
              "for i = 1, 20 do good(core.files.put(dir, 'a/' .. i, 'text')) end\n"
              "assert(#good(core.files.list(dir .. '/a')) == 21)\n"
              "assert(#good(core.files.list(dir, 'a')) == 21)\n"
              "good(core.files.rename(path, dir .. '/other'))\n"
              "good(core.files.remove(dir .. '/other'))\n"},
    {"a run that is made, and read",
     "local self = { out = {}, blobs = {} }\n"
     "function self.record() end\n"
     "function self.load() self.out[1] = '{\"n\":1}' end\n"
     "function self.choose() self.out[#self.out + 1] = '{\"n\":2}' return 'stop', 'paused', 'x' "
     "end\n"
     "function self.save() return { { 'view', 'text' } } end\n"
     "function self.durable() end\n"
     "function self.stop() end\n"
     "do\n"
     "  local run <close> = good(core.open(self, { directory = dir .. '/run', mode = 'create', "
     "run_id = 'r' }))\n"
     "  run:wait()\n"
     "  local status, _, message = run:status()\n"
     "  if status ~= 'paused' then error(message) end\n"
     "end\n"
     "local count = 0\n"
     "good(core.read(dir .. '/run', function() count = count + 1 return true end, {}))\n"
     "assert(count == 2)\n"},
    {"lists, inboxes and queues",
     "good(core.files.make_folders(dir .. '/kept/inbox'))\n"
     "local runs = 0\n"
     "good(core.list(dir, function(one) runs = runs + 1 return true end))\n"
     "local inbox = good(core.inbox(dir .. '/kept'))\n"
     "local name = good(inbox:put('{}', 'key', false))\n"
     "assert(good(inbox:waiting()) >= 1)\n"
     "local arrivals, whole = inbox:take()\n"
     "if not whole then error 'no memory for one' end\n"
     "for _, one in ipairs(good(arrivals)) do\n"
     "  assert(good(inbox:fate(one.name)) == 'waits')\n"
     "  good(inbox:acknowledge(one.name))\n"
     "end\n"
     "assert(good(inbox:fate(name)) == 'taken')\n"
     "good(core.label(dir .. '/kept', { queue = 'q', prio = 2 }))\n"
     "local claims = good(core.claims(dir, 'q'))\n"
     "for _, url in ipairs(good(claims:take(9))) do claims:settle(url) end\n"
     "claims = nil\n"
     "collectgarbage()\n"
     "good(core.pause(dir, 'q', true))\n"
     "good(core.pause(dir, 'q', false))\n"},
    {"what looks at texts",
     "local find = good(core.regex('^a+(b|c)[0-9]{2,5}$', false))\n"
     "assert(find 'aac123' and not find 'aad')\n"
     "assert(good(core.finder { 'one', 'other' }) 'another')\n"
     "local events = good(core.sse(('data: {\"a\":1}\\n\\n'):rep(40)))\n"
     "assert(#events == 40 and good(core.hash('text')))\n"
     "assert(#core.sha256 'text' == 64 and #good(core.uuid()) == 36)\n"
     "assert(#core.assets 'strategies/' > 0 and #core.asset 'strategies/priority.lua' > 0)\n"
     "local set = core.ranks(100, {})\n"
     "set.put(7, true)\n"
     "assert(set.is_open(7))\n"},
    {"programs and sockets of who serves",
     "local listener, port = core.serve.listen(0)\n"
     "good(listener, port)\n"
     "local program = good(core.serve.start({ 'true' }, 'said'))\n"
     "while not program:code() do core.terminal.pause(1) end\n"
     "local watch = good(core.watch(dir))\n"
     "watch:changed()\n"},
};

static const char around[] =
    "function good(value, message, code)\n"
    "  if value == nil then error(('%s: %s'):format(code, message), 0) end\n"
    "  return value, message, code\n"
    "end\n"
    "function try(piece) return xpcall(piece, tostring) end\n";

static int open_files(void) {
  DIR *folder = opendir("/proc/self/fd");
  int count = 0;
  while (folder && readdir(folder))
    count++;
  closedir(folder);
  return count;
}

static int prepare(lua_State *L) {
  luaL_openlibs(L);
  core_install(L);
  limits_install(L);
  CHECK(luaL_dostring(L, "core = require 'skillrt.core'") == LUA_OK);
  CHECK(luaL_dostring(L, around) == LUA_OK);
  return 0;
}

/* Performs the piece; else the message is at the top. */
static bool perform(lua_State *L) {
  lua_settop(L, 1);
  lua_pushvalue(L, 1);
  return lua_pcall(L, 0, 0, 0) == LUA_OK;
}

/* A state with the folder, and the piece at 1. */
static lua_State *state_of(struct poor *poor, struct faulty *f, const char *folder,
                           const char *piece) {
  lua_State *L = lua_newstate(poor_alloc, poor, 0);
  bind_set_sys(L, faulty_sys(f));
  lua_pushcfunction(L, prepare);
  CHECK(lua_pcall(L, 0, 0, 0) == LUA_OK);
  lua_pushstring(L, folder);
  lua_setglobal(L, "dir");
  CHECK(luaL_loadstring(L, piece) == LUA_OK);
  return L;
}

/* Whether the piece came to its end with so many allocations; where it did not, it was told why. */
static bool try_piece(struct scratch *s, const char *piece, bool of_lua, long n) {
  struct faulty *f = faulty_new(sys_real());
  struct poor poor = {.left = -1};
  int before = open_files();
  scratch_empty(s);
  lua_State *L = state_of(&poor, f, s->path, piece);
  if (of_lua)
    poor.left = n;
  else
    faulty_fail_alloc(f, (uint64_t)n + 1, false, false);
  bool whole = perform(L);
  poor.left = -1;
  if (!whole && !strstr(lua_tostring(L, -1), "memory"))
    CHECK_STR(lua_tostring(L, -1), "not enough memory");
  bool met = of_lua ? !whole : faulty_count(f, FAULTY_BIT(FAULTY_ALLOC)) > (uint64_t)n;
  faulty_reset(f);
  lua_settop(L, 1);
  lua_gc(L, LUA_GCCOLLECT);
  scratch_empty(s);
  if (!perform(L)) CHECK_STR(lua_tostring(L, -1), "it works again");
  lua_close(L);
  CHECK(poor.loaned == 0 && faulty_outstanding(f) == 0 && open_files() == before);
  faulty_free(f);
  return !met;
}

int main(void) {
  struct scratch s;
  uv_loop_t loop;
  scratch_make(&s);
  CHECK(uv_loop_init(&loop) == 0 && uv_loop_close(&loop) == 0); /* opens what a process has once */
  for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
    TEST(pieces[i].name) {
      const char *piece = pieces[i].text;
      for (int of_lua = 0; of_lua < 2; of_lua++) {
        long n = 0;
        while (n < 5000 && !try_piece(&s, piece, of_lua, n))
          n += n < 300 ? 1 : 5;
        CHECK(n > (of_lua ? 3 : 0) && n < 5000);
      }
    }
  }
  scratch_remove(&s);
  return check_finish();
}
