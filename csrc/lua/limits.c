/* limits.c: see limits.h. Knows Lua and runtime_stop, nothing of policies. */
#include "lua/limits.h"

#include <lauxlib.h>
#include <stdatomic.h>

#include "engine/runtime.h"

enum {
  DEPTH = 250,   /* a little more than Lua's own limit of nested C calls */
  GRACE = 100000 /* instructions a question may take after the stop: some milliseconds */
};

struct limits {
  lua_State *entered[DEPTH];
  atomic_int depth;
  _Atomic(struct runtime *) watched;
  _Atomic(const char *) why; /* NULL: not interrupted */
  atomic_bool noticed;
};

static const char limits_key;

struct limits *limits_of(lua_State *L) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &limits_key);
  struct limits *limits = lua_touserdata(L, -1);
  lua_pop(L, 1);
  if (limits) return limits;
  limits = lua_newuserdatauv(L, sizeof *limits, 0);
  *limits = (struct limits){.depth = 0};
  lua_rawgeti(L, LUA_REGISTRYINDEX, LUA_RIDX_MAINTHREAD);
  limits->entered[0] = lua_tothread(L, -1);
  atomic_store(&limits->depth, 1);
  lua_pop(L, 1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &limits_key);
  return limits;
}

static void interrupt_hook(lua_State *L, lua_Debug *where);

static void set_hooks(struct limits *limits, lua_Hook hook) {
  int depth = atomic_load(&limits->depth);
  int mask = hook ? LUA_MASKCOUNT : 0; /* between Lua's instructions only: C is not torn */
  for (int i = 0; i < depth; i++)
    lua_sethook(limits->entered[i], hook, mask, hook ? 1 : 0);
}

/* From here on at every instruction of all that is entered: a script's pcall may catch one. */
static void interrupt_hook(lua_State *L, lua_Debug *where) {
  (void)where;
  struct limits *limits = limits_of(L);
  limits_notice(limits);
  set_hooks(limits, interrupt_hook);
  lua_createtable(L, 0, 2);
  lua_pushliteral(L, "interrupted");
  lua_setfield(L, -2, "message");
  lua_pushliteral(L, "stopped");
  lua_setfield(L, -2, "code");
  lua_error(L);
}

bool limits_enter(struct limits *limits, lua_State *L) {
  int depth = atomic_load(&limits->depth);
  if (depth >= DEPTH) return false;
  limits->entered[depth] = L;
  atomic_store(&limits->depth, depth + 1);
  return true;
}

void limits_bound(struct limits *limits, lua_State *L) {
  if (limits_interrupted(limits)) lua_sethook(L, interrupt_hook, LUA_MASKCOUNT, GRACE);
}

void limits_leave(struct limits *limits) {
  int depth = atomic_load(&limits->depth);
  if (depth > 1) atomic_store(&limits->depth, depth - 1);
}

struct runtime *limits_watch(struct limits *limits, struct runtime *runtime) {
  return atomic_exchange(&limits->watched, runtime);
}

void limits_interrupt(struct limits *limits, const char *why) {
  atomic_store(&limits->why, why);
  set_hooks(limits, interrupt_hook);
  struct runtime *runtime = atomic_load(&limits->watched);
  if (runtime) runtime_stop(runtime, why);
}

bool limits_interrupted(const struct limits *limits) {
  return atomic_load(&limits->why) != NULL;
}

const char *limits_why(const struct limits *limits) {
  return atomic_load(&limits->why);
}

bool limits_noticed(const struct limits *limits) {
  return atomic_load(&limits->noticed);
}

void limits_notice(struct limits *limits) {
  atomic_store(&limits->noticed, true);
}

void limits_calm(struct limits *limits) {
  set_hooks(limits, NULL);
}

/* coroutine.resume with the coroutine noted; the original is the first upvalue. */
static int noted_resume(lua_State *L) {
  lua_State *co = lua_tothread(L, 1);
  luaL_argexpected(L, co, 1, "coroutine");
  struct limits *limits = limits_of(L);
  if (!limits_enter(limits, co)) return luaL_error(L, "coroutines nested too deep");
  limits_bound(limits, co);
  int count = lua_gettop(L);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  int status = lua_pcall(L, count, LUA_MULTRET, 0);
  limits_leave(limits);
  return status == LUA_OK ? lua_gettop(L) : lua_error(L);
}

int limits_install(lua_State *L) {
  static const char wrap[] = "local resume, create = ...\n"
                             "local function results(ok, ...)\n"
                             "  if ok then return ... end\n"
                             "  local problem = ...\n"
                             "  error(problem, 0)\n"
                             "end\n"
                             "return function(f)\n"
                             "  local co = create(f)\n"
                             "  return function(...) return results(resume(co, ...)) end\n"
                             "end\n";
  lua_getglobal(L, "coroutine");
  lua_getfield(L, -1, "resume");
  lua_pushcclosure(L, noted_resume, 1);
  lua_setfield(L, -2, "resume");
  if (luaL_loadbufferx(L, wrap, sizeof wrap - 1, "=coroutine.wrap", "t") != LUA_OK)
    return lua_error(L);
  lua_getfield(L, -2, "resume");
  lua_getfield(L, -3, "create");
  lua_call(L, 2, 1);
  lua_setfield(L, -2, "wrap");
  lua_pop(L, 1);
  limits_of(L);
  return 0;
}
