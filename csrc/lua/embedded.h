/* embedded.h: the Lua modules, strategies and templates that travel inside the program.
 * The table is written by csrc/embed.lua at build time, in the order of the names. */
#ifndef SKILLRT_LUA_EMBEDDED_H
#define SKILLRT_LUA_EMBEDDED_H

#include <stddef.h>

struct embedded_file {
  const char *name; /* "lua/skillrt/run/policy.lua"; NULL ends the table */
  const char *text; /* NUL-terminated; a module's is compiled (see embed.lua): load with "bt" */
  size_t size;      /* bytes without the NUL */
  size_t packed;    /* 0: as it is; else so many bytes of zlib (RFC 1950) make size */
};
extern const struct embedded_file embedded_files[];

#endif
