/* test_guest.c: core.guest, both sides of it: this program starts itself as the child, which is
 * confined and then tells the truth, lies, or breaks. So both run under the sanitizers: who asks
 * (lua/bind_guest.c, lua/bind_pack.c), and who is confined (jail/confine.c). What the child says
 * that lies is drawn from seeds. */
#include <errno.h>
#include <fcntl.h>
#include <lauxlib.h>
#include <lualib.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lua/bind.h"
#include "lua/limits.h"
#include "support/check.h"

enum { LIES = 200 };

static lua_State *open_lua(void) {
  lua_State *L = luaL_newstate();
  luaL_openlibs(L);
  bind_set_sys(L, sys_real());
  limits_install(L);
  luaL_requiref(L, "skillrt.core", luaopen_skillrt_core, 0);
  lua_setglobal(L, "core");
  return L;
}

static bool run(lua_State *L, const char *text) {
  if (luaL_dostring(L, text) == LUA_OK) return true;
  printf("#   %s\n", lua_tostring(L, -1));
  return false;
}

/* ---- the child ---- */

/* How many of these calls were let through. */
static int calls_let_through(lua_State *L) {
  int through = 0;
  through += open("/etc/hostname", O_RDONLY | O_CLOEXEC) >= 0;
  through += open("/proc/self/environ", O_RDONLY | O_CLOEXEC) >= 0;
  through += socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0) >= 0;
  through += socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0) >= 0;
  through += syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL) >= 0;
  through += syscall(SYS_clone3, NULL, 0) >= 0 || errno != EPERM;
  through += execl("/bin/true", "true", (char *)NULL) >= 0 || errno != EPERM;
  through += kill(getppid(), 0) == 0 || kill(1, 0) == 0;
  through += ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0;
  through += unlink("/not/there") == 0 || errno != EPERM;
  through += syscall(SYS_memfd_create, "x", 0) >= 0;
  through += syscall(SYS_io_uring_setup, 4, NULL) >= 0 || errno != EPERM;
  through += dup(0) >= 0 || pipe((int[2]){0, 0}) == 0;
#ifdef __x86_64__
  through += syscall(0x40000000 + SYS_socket, AF_UNIX, SOCK_STREAM, 0) >= 0;
#endif
  lua_pushinteger(L, through);
  return 1;
}

static uint32_t drawn;

static unsigned draw(unsigned below) {
  drawn = drawn * 1664525u + 1013904223u;
  return (drawn >> 8) % below;
}

/* lie(seed, message): bytes that are a message with some of it changed, cut, or none at all. */
static int lie(lua_State *L) {
  size_t size;
  char bytes[4096];
  drawn = (uint32_t)luaL_checkinteger(L, 1);
  const char *message = luaL_checklstring(L, 2, &size);
  if (size > sizeof bytes) size = sizeof bytes;
  memcpy(bytes, message, size);
  for (unsigned n = draw(8); n > 0; n--)
    bytes[4 + draw((unsigned)size - 4)] = "ztfinsTAEX0R\377\200 \1"[draw(16)];
  if (draw(4) == 0) { /* with its length, or without */
    size = 4 + draw((unsigned)size - 4);
    uint32_t length = (uint32_t)size - 4;
    if (draw(2)) memcpy(bytes, &length, sizeof length);
  }
  if (write(1, bytes, size) < 0) perror("pipe");
  _exit(0); /* who asks waits for no more */
}

static const char child[] =
    "local core, through, lie = ...\n"
    "local function none() return 'f', 1 end\n"
    "local unpack = function(text) return core.guest.unpack(function(l, n) return { l, n } end, "
    "text) end\n"
    "assert(core.guest.confine(128 << 20))\n"
    "local sample = core.guest.pack(none, 'ask', -7, { a = { 1, 2.5, true }, [3] = print }, 'x', "
    "nil, false)\n"
    "while true do\n"
    "  local what, value = unpack(core.guest.listen())\n"
    "  if what == 'calls' then core.guest.say(core.guest.pack(none, through()))\n"
    "  elseif what == 'say' then core.guest.say(core.guest.pack(none, value))\n"
    "  elseif what == 'lie' then lie(value, sample)\n"
    "  elseif what == 'raw' then core.guest.say(value)\n"
    "  elseif what == 'end' then os.exit(3)\n"
    "  elseif what == 'loop' then while true do end\n"
    "  elseif what == 'grow' then local t = {} while true do t[#t + 1] = ('x'):rep(1 << 20) .. #t "
    "end "
    "end\n"
    "end\n";

static int be_child(void) {
  lua_State *L = open_lua();
  if (luaL_loadstring(L, child) != LUA_OK) return 1;
  lua_getglobal(L, "core");
  lua_pushcfunction(L, calls_let_through);
  lua_pushcfunction(L, lie);
  lua_call(L, 3, 0);
  return 0;
}

/* ---- who asks ---- */

static const char parent[] =
    "local guest\n"
    "local function hook(letter, number) return letter .. number end\n"
    "function name() return 'f', 1 end\n"
    "function ask(...)\n"
    "  guest = guest or assert(core.guest.start('/proc/self/exe'))\n"
    "  local text, how = guest:ask(core.guest.pack(name, ...), seconds or 100)\n"
    "  if not text then guest = nil return nil, how end\n"
    "  local said = table.pack(pcall(core.guest.unpack, hook, text))\n"
    "  return table.unpack(said, 1, said.n)\n"
    "end\n"
    "function drop() if guest then guest:close() guest = nil end end\n";

static void test_truth(lua_State *L) {
  TEST("a child that is confined computes and answers, and makes no other call of the kernel") {
    CHECK(run(L, "local ok, through = ask('calls') assert(ok and through == 0, through)"));
  }
  TEST("what is said comes whole: numbers, texts with zeros, arrays, deep tables") {
    CHECK(run(L, "local deep = { 1 } for i = 1, 90 do deep = { deep } end\n"
                 "for _, one in ipairs { 1 << 62, -0.5, 'a\\0b', ('x'):rep(100000), '' } do\n"
                 "  local ok, back = ask('say', one) assert(ok and back == one and math.type(back) "
                 "== math.type(one)) end\n"
                 "local ok, back = ask('say', deep) assert(ok)\n"
                 "for i = 1, 90 do back = back[1] end assert(back[1] == 1)\n"
                 "assert(select(2, ask('say', nil)) == nil)"));
  }
  TEST("what is too deep, or too long, is not sent") {
    CHECK(run(L,
              "local deep = {} for i = 1, 200 do deep = { deep } end\n"
              "assert(not pcall(core.guest.pack, name, deep))\n"
              "local round = {} round[1] = round assert(not pcall(core.guest.pack, name, round))\n"
              "assert(not pcall(core.guest.pack, name, ('x'):rep(17 << 20)))"));
  }
}

static void test_lies(lua_State *L) {
  TEST("whatever a child says is read or refused, and the next child answers") {
    CHECK(run(L, "local read, refused, ended = 0, 0, 0\n"
                 "for seed = 1, lies do\n"
                 "  local ok, how = ask('lie', seed)\n"
                 "  if ok then read = read + 1 elseif ok == false then refused = refused + 1\n"
                 "  else ended = ended + 1 end\n"
                 "  drop()\n"
                 "  if seed % 50 == 0 then assert(select(2, ask('say', seed)) == seed) drop() end\n"
                 "end\n"
                 "print(('#   %d read, %d refused, %d ended'):format(read, refused, ended))\n"
                 "assert(refused > 0)"));
  }
  TEST("a length that is too long, a frame that is empty, and more than one are no danger") {
    CHECK(run(L, "assert(not ask('raw', '\\255\\255\\255\\255xx')) drop()\n"
                 "assert(ask('raw', '\\0\\0\\0\\0') == true)\n"
                 "assert(not ask('raw', '\\1\\0\\0\\0zzzzzz')) drop()\n"
                 "assert(ask('raw', '\\1\\0\\0\\0z') == true)"));
  }
}

static void test_ends(lua_State *L) {
  TEST("a child that ends, runs on or has no more memory is an answer, and nothing is left of it") {
    CHECK(run(L, "local none, how = ask('end') assert(none == nil and how == 'ended', how)\n"
                 "seconds = 0.2 none, how = ask('loop') seconds = 100\n"
                 "assert(none == nil and how == 'took too long and was ended', how)"));
    CHECK(run(L, "local none, how = ask('grow') assert(none == nil and how:find 'ended', how)"));
    CHECK(run(L, "drop() collectgarbage()"));
  }
}

int main(int argc, char **argv) {
  if (argc == 2 && strcmp(argv[1], "--guest") == 0) return be_child();
  lua_State *L = open_lua();
  lua_pushinteger(L, LIES);
  lua_setglobal(L, "lies");
  CHECK(run(L, parent));
  test_truth(L);
  test_lies(L);
  test_ends(L);
  lua_close(L);
  return check_finish();
}
