/* embedded.h: the Lua modules, strategies and templates that travel inside the program.
 * The table is written by csrc/embed.lua at build time, in the order of the names. */
#ifndef SKILLRT_LUA_EMBEDDED_H
#define SKILLRT_LUA_EMBEDDED_H

#include <stddef.h>

/* Files that are packed together: what stands side by side in a folder is much alike. */
struct embedded_group {
  const char *data; /* zlib (RFC 1950) */
  size_t packed, size;
};
extern const struct embedded_group embedded_groups[];

struct embedded_file {
  const char *name; /* "lua/skillrt/run/turn.lua"; NULL ends the table */
  const char *text; /* NUL-terminated; a module's is compiled (see embed.lua): load with "bt".
                       NULL: it lies in a group */
  size_t size;      /* bytes without the NUL */
  size_t group, offset;
};
extern const struct embedded_file embedded_files[];

#endif
