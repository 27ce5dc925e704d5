/* limits.c: see limits.h. Knows Lua and loop_wake, nothing of policies. */
#include "lua/limits.h"

#include <lauxlib.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/sys.h"
#include "engine/loop.h"

enum {
  DEPTH = 250,   /* a little more than Lua's own limit of nested C calls */
  SOURCE = 512,  /* of the name of a chunk */
  POLL = 10000,  /* instructions between two looks at the flag: some 100 us */
  GRACE = 100000 /* instructions a question may take after the stop: some milliseconds */
};

struct limits {
  struct {
    lua_State *L;
    struct interrupt *interrupt;
  } entered[DEPTH]; /* for the thread that runs Lua only */
  atomic_int depth;
  bool polled;
  atomic_bool draining;
  _Atomic(struct loop *) loop; /* sleeps while nothing is entered */
  struct interrupt all;
  void (*start_ticks)(void); /* NULL: no ticks, or the hook does it */
  int64_t left_ns, from_ns;  /* of what may be spent, and since when; left 0: there is no end */
  char own[SOURCE];          /* what the names of skillrt's own chunks begin with */
  int questions;             /* under way, one inside the other */
  unsigned deferred;         /* how often an interruption waited for the script's code */
};

static const char limits_key;

struct limits *limits_of(lua_State *L) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &limits_key);
  struct limits *limits = lua_touserdata(L, -1);
  lua_pop(L, 1);
  if (limits) return limits;
  limits = lua_newuserdatauv(L, sizeof *limits, 0);
  *limits = (struct limits){.own = "@skillrt/"};
  atomic_store(&limits->depth, 1);
  lua_rawgeti(L, LUA_REGISTRYINDEX, LUA_RIDX_MAINTHREAD);
  limits->entered[0].L = lua_tothread(L, -1);
  limits->entered[0].interrupt = &limits->all;
  lua_pop(L, 1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &limits_key);
  return limits;
}

/* ---- flags ---- */

void interrupt_set(struct interrupt *i, const char *why) {
  if (atomic_exchange(&i->why, why)) return; /* it is set already, or was handled */
  atomic_store(&i->raising, true);
}

const char *interrupt_why(const struct interrupt *i) {
  const char *why = NULL;
  for (; i && !why; i = i->above)
    why = atomic_load(&i->why);
  return why;
}

static bool is_raising(const struct interrupt *i) {
  while (i && !atomic_load(&i->raising))
    i = i->above;
  return i != NULL;
}

void interrupt_notice(struct interrupt *i) {
  for (; i; i = i->above)
    if (atomic_load(&i->why)) atomic_store(&i->noticed, true);
}

void limits_drain(struct limits *limits) {
  atomic_store(&limits->draining, true);
  struct loop *loop = atomic_load(&limits->loop);
  if (loop) loop_wake(loop);
}

bool limits_draining(const struct limits *limits) {
  return atomic_load(&limits->draining);
}

/* ---- hooks ---- */

struct interrupt *limits_whole(struct limits *limits) {
  return &limits->all;
}

struct interrupt *limits_current(struct limits *limits) {
  return limits->entered[atomic_load(&limits->depth) - 1].interrupt;
}

static void raise_hook(lua_State *L, lua_Debug *where);

/* The hook runs between Lua's instructions only, so no C function is interrupted. */
static void raise_in_all(struct limits *limits) {
  int depth = atomic_load(&limits->depth);
  for (int i = 0; i < depth; i++)
    if (interrupt_why(limits->entered[i].interrupt))
      lua_sethook(limits->entered[i].L, raise_hook, LUA_MASKCOUNT, 1);
}

static bool is_own(const struct limits *limits, const lua_Debug *frame) {
  return strncmp(frame->source, limits->own, strlen(limits->own)) == 0;
}

void limits_own(struct limits *limits, const char *source) {
  snprintf(limits->own, sizeof limits->own, "%s", source);
}

void limits_question(struct limits *limits, int by) {
  limits->questions += by;
}

/* The innermost line that is not skillrt's own. */
static void note_where(const struct limits *limits, lua_State *L, struct interrupt *i) {
  lua_Debug frame;
  for (int level = 0; lua_getstack(L, level, &frame) && lua_getinfo(L, "Sl", &frame); level++) {
    if (is_own(limits, &frame) || *frame.what == 'C' || frame.currentline < 0) continue;
    snprintf(i->where, sizeof i->where, "%s:%d", frame.short_src, frame.currentline);
    return;
  }
}

/* Between what a question puts down and what it answers nothing may be left out: there, an
 * interruption waits for the script's own code, or for the end of the question. It looks at
 * different distances, so that no loop can be in step with it. */
static bool waits(struct limits *limits, lua_State *L, lua_Debug *where) {
  enum { LEAST = 5, SPREAD = 8 };
  if (!where || !limits->questions || !lua_getinfo(L, "S", where) || !is_own(limits, where))
    return false;
  interrupt_notice(limits_current(limits));
  lua_sethook(L, raise_hook, LUA_MASKCOUNT, LEAST + (int)(limits->deferred++ % SPREAD));
  return true;
}

/* From here on raises at every instruction, in all entered coroutines: a script's pcall may catch
 * it. */
static void raise_hook(lua_State *L, lua_Debug *where) {
  struct limits *limits = limits_of(L);
  struct interrupt *current = limits_current(limits);
  if (waits(limits, L, where)) return;
  if (!current->where[0]) note_where(limits, L, current);
  interrupt_notice(current);
  raise_in_all(limits);
  lua_createtable(L, 0, 2);
  lua_pushliteral(L, "interrupted");
  lua_setfield(L, -2, "message");
  lua_pushliteral(L, "stopped");
  lua_setfield(L, -2, "code");
  lua_error(L);
}

bool limits_raising(struct limits *limits) {
  return is_raising(limits_current(limits));
}

int limits_raise(lua_State *L) {
  raise_hook(L, NULL);
  return 0;
}

static void limit_met(struct interrupt *i, const char *why) {
  interrupt_set(i, why);
  if (i->tell) i->tell(i);
}

static const char *overtime(struct interrupt *i, int64_t now) {
  if (i->until_ns && now >= i->until_ns) return "run_timeout";
  if (!i->since_ns) i->since_ns = now;
  return i->stretch_ns && now - i->since_ns >= i->stretch_ns ? "step_timeout" : NULL;
}

void limits_tick(struct limits *limits) {
  int64_t now = 0;
  for (struct interrupt *i = limits_current(limits); i; i = i->above) {
    if (!i->stretch_ns && !i->until_ns) continue;
    if (!now) now = sys_real()->mono_ns(sys_real());
    const char *why = overtime(i, now);
    if (!why) continue;
    limit_met(i, why);
    if (!limits->polled && is_raising(i)) raise_in_all(limits); /* not where it was met before */
  }
}

void limits_allow(struct limits *limits, struct interrupt *i, int64_t stretch_ns,
                  int64_t until_ns) {
  i->stretch_ns = stretch_ns;
  i->until_ns = until_ns;
  i->since_ns = 0;
  if (limits->start_ticks && (stretch_ns || until_ns)) limits->start_ticks();
}

void limits_ticker(struct limits *limits, void (*start)(void)) {
  limits->start_ticks = start;
}

/* ---- processor time ---- */

static int64_t spent_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

void limits_spend(struct limits *limits, int64_t ns) {
  limits->left_ns = ns;
  limits->from_ns = spent_ns();
}

static void count_time(struct limits *limits) {
  int64_t now = spent_ns();
  limits->left_ns -= now - limits->from_ns;
  limits->from_ns = now;
  if (limits->left_ns > 0) return;
  limits->left_ns = 1; /* it stays spent */
  limit_met(limits_current(limits), "out_of_time");
}

static void poll_hook(lua_State *L, lua_Debug *where) {
  struct limits *limits = limits_of(L);
  limits_tick(limits);
  if (limits->left_ns) count_time(limits);
  if (is_raising(limits_current(limits))) raise_hook(L, where);
}

static void usual_hook(const struct limits *limits, lua_State *L) {
  if (limits->polled)
    lua_sethook(L, poll_hook, LUA_MASKCOUNT, POLL);
  else
    lua_sethook(L, NULL, 0, 0);
}

static bool is_ours(lua_Hook hook) {
  return hook == raise_hook || hook == poll_hook;
}

/* Leaves a hook that the script has set. */
void limits_bound(struct limits *limits, lua_State *L) {
  lua_Hook hook = lua_gethook(L);
  if (hook && !is_ours(hook)) return;
  if (interrupt_why(limits_current(limits)))
    lua_sethook(L, raise_hook, LUA_MASKCOUNT, GRACE);
  else if (hook != (limits->polled ? poll_hook : NULL)) /* else it continues to count */
    usual_hook(limits, L);
}

void limits_poll(struct limits *limits) {
  limits->polled = true;
  limits_bound(limits, limits->entered[0].L);
}

bool limits_enter(struct limits *limits, lua_State *L, struct interrupt *interrupt) {
  int depth = atomic_load(&limits->depth);
  if (depth >= DEPTH) return false;
  if (limits->left_ns && depth == 1) limits->from_ns = spent_ns();
  limits->entered[depth].L = L;
  limits->entered[depth].interrupt = interrupt ? interrupt : limits_current(limits);
  atomic_store(&limits->depth, depth + 1);
  return true;
}

void limits_leave(struct limits *limits) {
  int depth = atomic_load(&limits->depth);
  if (limits->left_ns && depth == 2) count_time(limits);
  if (depth > 1) atomic_store(&limits->depth, depth - 1);
}

/* ---- the whole Lua state ---- */

void limits_watch(struct limits *limits, struct loop *loop) {
  atomic_store(&limits->loop, loop);
}

void limits_interrupt(struct limits *limits, const char *why) {
  if (limits_interrupted(limits)) return;
  interrupt_set(&limits->all, why);
  if (!limits->polled) raise_in_all(limits);
  struct loop *loop = atomic_load(&limits->loop);
  if (loop) loop_wake(loop);
}

bool limits_interrupted(const struct limits *limits) {
  return atomic_load(&limits->all.why) != NULL;
}

bool limits_noticed(const struct limits *limits) {
  return atomic_load(&limits->all.noticed);
}

void limits_calm(struct limits *limits, struct interrupt *interrupt) {
  int depth = atomic_load(&limits->depth);
  for (struct interrupt *i = interrupt ? interrupt : &limits->all; i; i = i->above)
    atomic_store(&i->raising, false);
  for (int i = 0; i < depth; i++)
    if (lua_gethook(limits->entered[i].L) == raise_hook) usual_hook(limits, limits->entered[i].L);
}

static int not_resumed(lua_State *L, const char *why) {
  lua_pushboolean(L, 0);
  lua_pushstring(L, why);
  return 2;
}

/* coroutine.resume with the coroutine noted. Nothing between enter and leave raises. */
static int noted_resume(lua_State *L) {
  lua_State *co = lua_tothread(L, 1);
  luaL_argexpected(L, co, 1, "coroutine");
  int count = lua_gettop(L) - 1, results;
  if (!lua_checkstack(co, count)) return not_resumed(L, "too many arguments to resume");
  struct limits *limits = limits_of(L);
  if (!limits_enter(limits, co, NULL)) return luaL_error(L, "coroutines nested too deep");
  limits_bound(limits, co);
  lua_xmove(L, co, count);
  int status = lua_resume(co, L, count, &results);
  limits_leave(limits);
  bool good = status == LUA_OK || status == LUA_YIELD;
  if (good && !lua_checkstack(L, results + 1)) {
    lua_pop(co, results);
    return not_resumed(L, "too many results to resume");
  }
  if (!good) results = 1; /* the error */
  lua_xmove(co, L, results);
  lua_pushboolean(L, good);
  lua_insert(L, -(results + 1));
  return 1 + results;
}

int limits_install(lua_State *L) {
  static const char wrap[] = "local resume, create, close = ...\n"
                             "local function results(co, ok, ...)\n"
                             "  if ok then return ... end\n"
                             "  local problem = ...\n"
                             "  local closed, instead = close(co)\n"
                             "  error(closed and problem or instead, 0)\n"
                             "end\n"
                             "return function(f)\n"
                             "  local co = create(f)\n"
                             "  return function(...) return results(co, resume(co, ...)) end\n"
                             "end\n";
  lua_getglobal(L, "coroutine");
  lua_pushcfunction(L, noted_resume);
  lua_setfield(L, -2, "resume");
  if (luaL_loadbufferx(L, wrap, sizeof wrap - 1, "=coroutine.wrap", "t") != LUA_OK)
    return lua_error(L);
  lua_getfield(L, -2, "resume");
  lua_getfield(L, -3, "create");
  lua_getfield(L, -4, "close");
  lua_call(L, 3, 1);
  lua_setfield(L, -2, "wrap");
  lua_pop(L, 1);
  limits_of(L);
  return 0;
}
