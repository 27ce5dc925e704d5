/* script.h: a policy whose answers come from Lua.
 *
 * Wraps a Lua table (lua/skillrt/run/turn.lua) as a struct policy. Every question runs in a
 * protected call on a thread of its own, so a Lua error, also one of memory, never crosses
 * into the engine. Made by bind_run.c. */
#ifndef SKILLRT_LUA_SCRIPT_H
#define SKILLRT_LUA_SCRIPT_H

#include <lua.h>

#include "engine/policy.h"
#include "lua/limits.h"

struct script {
  struct policy policy; /* hand this to the engine */
  lua_State *L;         /* the thread the questions run on */
  int anchor;           /* registry reference of that thread */
  int kept;             /* registry reference of the box */
  struct script **box;  /* how read_blob finds the script, which it may outlive */
  struct limits *limits;
  struct interrupt *interrupt; /* the interrupt of this run and its sub-runs; owned by the caller */
  struct store *store;         /* while load is asked */
  bool loaded;
  uint64_t *numbers; /* of the last decision, in a userdata that the policy keeps */
  size_t numbers_room;
  struct error said; /* by a C call inside the question */
};

/* The policy table is at `at` (not negative). Raises on memory. `script` is in a userdata of the
 * caller, whose finalizer calls script_clear also after that. The interrupt outlives the script;
 * `inside`: it stops with the code that runs now. */
void script_init(struct script *, lua_State *L, int at, struct interrupt *, bool inside);
void script_clear(struct script *, lua_State *L);

#endif
