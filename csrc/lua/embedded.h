/* embedded.h: the Lua files, strategies and templates that travel inside the program.
 * The table is written by csrc/embed.lua at build time. */
#ifndef SKILLRT_LUA_EMBEDDED_H
#define SKILLRT_LUA_EMBEDDED_H

#include <stddef.h>

struct embedded_file {
  const char *name; /* "lua/skillrt/policy.lua"; NULL ends the table */
  const char *text; /* NUL-terminated */
  size_t size;      /* bytes without the NUL */
};
extern const struct embedded_file embedded_files[];

#endif
