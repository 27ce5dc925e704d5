/* guest.h: what the halves of core.guest share: bind_guest.c (the process) and bind_pack.c (what is
 * said). */
#ifndef SKILLRT_LUA_GUEST_H
#define SKILLRT_LUA_GUEST_H

#include <lua.h>

enum { GUEST_FRAME = 16 << 20 }; /* bytes of a message, at most */

/* Adds pack and unpack to the table on top. */
void bind_pack(lua_State *);

#endif
