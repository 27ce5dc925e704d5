/* bind_store.h: looks at runs from outside, by the URL of their store, without a lock. */
#ifndef SKILLRT_LUA_BIND_STORE_H
#define SKILLRT_LUA_BIND_STORE_H

#include <lua.h>

#include "store/store.h"

/* Pushes what was found when a store was opened, as a table. */
void bind_report(lua_State *L, const struct store_report *);
/* The URL of a store at this argument; one that needs a module is told where that lies, as far as
 * package.cpath says. */
const char *bind_url(lua_State *L, int at);
/* Reads a label, as core.label takes it; its texts stay those of the table. */
void bind_label(lua_State *L, int at, struct label *);
/* Puts read, salvage and holder into the table at the top. */
int bind_store(lua_State *L);

#endif
