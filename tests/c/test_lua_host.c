/* test_lua_host.c: a Lua program that owns its loop: two runs of skill:open, turned only when the
 * descriptor or the time of wait_fd and wait_ms says so. The waiting is here: plain Lua has none.
 */
#include <errno.h>
#include <lauxlib.h>
#include <lualib.h>
#include <poll.h>

#include "lua/bind.h"
#include "lua/core.h"
#include "lua/limits.h"
#include "support/check.h"
#include "support/faulty_sys.h"
#include "support/scratch.h"

enum { BOUND_MS = 20000 };

static const char program[] =
    "local folder = ...\n"
    "local skill = require 'skillrt'.skill { name = 's', actions = {\n"
    "  { id = 'a', run = function(_, ctx)\n"
    "    local said = ctx.await { kind = 'command', argv = { 'sh', '-c', 'sleep 0.05; echo hi' } "
    "}\n"
    "    ctx.sleep(0.05)\n"
    "    return { said = said ~= nil }\n"
    "  end } } }\n"
    "local one = assert(skill:open { work_dir = folder .. '/one', durability = 'process' })\n"
    "local two = assert(skill:open { work_dir = folder .. '/two', durability = 'process' })\n"
    "assert(one:wait_fd() == two:wait_fd() and one:result() == nil)\n"
    "repeat\n"
    "  local going = one:turn()\n" /* turns both, once: what they begin now, the poll has to see */
    "  if not going then going = two:turn() end\n"
    "  if going then assert(poll(one:wait_fd(), one:wait_ms())) end\n"
    "until not going\n"
    "local both = one:result().status .. ' ' .. two:result().status\n"
    "one:close() two:close()\n"
    "return both\n";

static const char beginning[] =
    "local folder = ... .. '/three'\n"
    "local skillrt = require 'skillrt'\n"
    "local skill = skillrt.skill { name = 's', actions = { { id = 'a', run = function() end } } }\n"
    "local result, message = skill:run { work_dir = folder, durability = 'process' }\n"
    "assert(not result and message:find('No space left on device; the run has begun: skillrt "
    "resume '\n"
    "  .. folder, 1, true), message)\n"
    "return assert(skillrt.resume(folder, { skill = skill })).status\n";

static int wakes;

/* poll(fd, ms): false where neither came within the bound, or too often */
static int l_poll(lua_State *L) {
  int ms = (int)luaL_checkinteger(L, 2);
  struct pollfd fd = {.fd = (int)luaL_checkinteger(L, 1), .events = POLLIN};
  int ready = poll(&fd, 1, ms < 0 ? BOUND_MS : ms);
  wakes++;
  lua_pushboolean(L, wakes < 1000 && (ready > 0 || ms >= 0));
  return 1;
}

static void hook_of_script(lua_State *L, lua_Debug *where) {
  (void)L, (void)where;
}

int main(void) {
  static struct scratch folder;
  scratch_make(&folder);
  TEST(
      "runs of a Lua program are turned when their descriptor is readable or their time has come") {
    lua_State *L = luaL_newstate();
    luaL_openlibs(L);
    bind_set_sys(L, sys_real());
    core_install(L);
    limits_install(L);
    lua_register(L, "poll", l_poll);
    CHECK(luaL_loadstring(L, program) == LUA_OK);
    lua_pushstring(L, folder.path);
    lua_pcall(L, 1, 1, 0);
    CHECK_STR(lua_tostring(L, -1), "completed completed");
    CHECK(wakes > 1); /* it slept */
    lua_close(L);
  }
  TEST("a run that begins on a full disk says that it has begun, and is resumed") {
    struct faulty *f = faulty_new(sys_real());
    lua_State *L = luaL_newstate();
    luaL_openlibs(L);
    bind_set_sys(L, faulty_sys(f));
    core_install(L);
    limits_install(L);
    CHECK(luaL_loadstring(L, beginning) == LUA_OK);
    faulty_fail(f, FAULTY_BIT(FAULTY_RENAME), 2, ENOSPC, FAULTY_ONCE); /* of state.json */
    lua_pushstring(L, folder.path);
    CHECK(lua_pcall(L, 1, 1, 0) == LUA_OK);
    CHECK_STR(lua_tostring(L, -1), "completed");
    lua_close(L);
    faulty_free(f);
  }
  TEST("a limit of time that was met and handled interrupts nothing again") {
    lua_State *L = luaL_newstate();
    struct limits *limits = limits_of(L);
    struct interrupt late = {.until_ns = 1};
    CHECK(limits_enter(limits, L, &late));
    limits_tick(limits);
    CHECK_STR(interrupt_why(&late), "run_timeout");
    CHECK(lua_gethook(L) && limits_raising(limits));
    limits_calm(limits, &late);
    limits_tick(limits);
    CHECK(!lua_gethook(L) && !limits_raising(limits));
    limits_leave(limits);
    lua_close(L);
  }
  TEST("a hook that a script has set stays while no limit is met") {
    lua_State *L = luaL_newstate();
    struct limits *limits = limits_of(L);
    struct interrupt none = {0};
    lua_sethook(L, hook_of_script, LUA_MASKCOUNT, 1000);
    CHECK(limits_enter(limits, L, &none));
    limits_poll(limits);
    CHECK(lua_gethook(L) == hook_of_script && lua_gethookcount(L) == 1000);
    limits_leave(limits);
    lua_close(L);
  }
  TEST("amid a question skillrt's own code is not interrupted, and the script's is that it calls") {
    static const char own[] = "for i = 1, 1000 do end done = true if f then f() end";
    lua_State *L = luaL_newstate();
    luaL_openlibs(L);
    struct limits *limits = limits_of(L);
    for (int round = 0; round < 3; round++) {
      bool amid = round > 0, calls = round > 1;
      struct interrupt late = {.until_ns = 1};
      if (calls) CHECK(luaL_dostring(L, "f = load('while true do end', '@script.lua')") == LUA_OK);
      lua_pushnil(L);
      lua_setglobal(L, "done");
      CHECK(luaL_loadbuffer(L, own, strlen(own), "@skillrt/own.lua") == LUA_OK);
      CHECK(limits_enter(limits, L, &late));
      if (amid) limits_question(limits, 1);
      limits_tick(limits);
      bool good = lua_pcall(L, 0, 0, 0) == LUA_OK;
      CHECK(atomic_load(&late.noticed));
      limits_calm(limits, &late);
      if (amid) limits_question(limits, -1);
      limits_leave(limits);
      CHECK(lua_getglobal(L, "done") == (amid ? LUA_TBOOLEAN : LUA_TNIL));
      CHECK(good == (amid && !calls));
      CHECK_STR(late.where, calls ? "script.lua:1" : "");
      lua_settop(L, 0);
    }
    lua_close(L);
  }
  scratch_remove(&folder);
  return check_finish();
}
