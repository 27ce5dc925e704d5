/* bind.h: what the bindings share: the sys they go through, and how errors cross to Lua.
 *
 * Each bind_X(L) pushes one table of functions. The world returns nil, message, code; a
 * caller's bug raises. Called by bind_core.c only. */
#ifndef SKILLRT_LUA_BIND_H
#define SKILLRT_LUA_BIND_H

#include <lua.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/sys.h"

#if LUA_VERSION_NUM < 505 /* 5.5 takes a seed */
#define lua_newstate(allocate, data, seed) lua_newstate(allocate, data)
#endif

/* The struct sys of this Lua state: set by bind_set_sys, else the real one. */
const struct sys *bind_sys(lua_State *L);
void bind_set_sys(lua_State *L, const struct sys *sys);

/* For the places of Lua's API that take what they do not change without saying so. */
void *bind_unconst(const void *pointer);

/* Pushes a userdata that holds an empty buffer and frees it, also when something raises. */
struct buffer *bind_buffer(lua_State *L, size_t maximum);

/* Pushes nil, message, code and returns 3. */
int bind_fail(lua_State *L, const struct error *error);

int bind_json(lua_State *L);   /* bind_json.c: the codec */
int bind_sse(lua_State *L);    /* bind_sse.c: pushes one function, events out of a body */
int bind_finder(lua_State *L); /* bind_finder.c: pushes one function, whether a text holds words */
int bind_ranks(lua_State *L);  /* bind_ranks.c: pushes one function, a set of ranks */
int bind_regex(lua_State *L);  /* bind_regex.c: pushes one function, a regular expression */
int bind_files(lua_State *L);  /* bind_files.c: whole files */
int bind_terminal(lua_State *L); /* bind_terminal.c: descriptors people look at */
int bind_watch(lua_State *L);    /* bind_watch.c: folders that somebody waits for */
int bind_claims(lua_State *L);   /* bind_claims.c: runs that wait for a process */
int bind_serve(lua_State *L);    /* bind_serve.c: what a command that serves others waits for */
int bind_guest(lua_State *L);    /* bind_guest.c: a stranger's Lua in a process of its own */
int bind_run(lua_State *L);      /* bind_run.c: pushes open onto the table at the top */

/* bind_listen.c: a function of core.serve, its type, and the descriptor of a value of it, or -1. */
int bind_listen(lua_State *L);
void bind_listen_type(lua_State *L);
int bind_listen_fd(lua_State *L, int index);

int luaopen_skillrt_core(lua_State *L);

#endif
