/* raised.h: an error value of Lua as a struct error.
 *
 * A text, or a table { message =, code = }. Allocates nothing, so it may be called outside of a
 * protected call, also when memory is out. Called by ask.c and skillrt.c. */
#ifndef SKILLRT_LUA_RAISED_H
#define SKILLRT_LUA_RAISED_H

#include <lua.h>

#include "base/error.h"

/* `status` is what lua_pcall gave; the value stays on top. Needs three slots of the stack. */
void raised_take(lua_State *L, int status, struct error *);

#endif
