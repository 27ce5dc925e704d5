/* audit.h: what a journal amounts to, read by itself, and whether what was told of it is there.
 *
 * A Lua state of its own with tests/support/crash_audit.lua. One thread at a time. */
#ifndef SKILLRT_TESTS_AUDIT_H
#define SKILLRT_TESTS_AUDIT_H

#include <lua.h>
#include <stdbool.h>
#include <stddef.h>

struct audit {
  lua_State *L;
  lua_Integer told;
};

struct audit_found {
  long lost;       /* records that were told and are not there */
  long duplicated; /* steps that ended twice */
  long kept;       /* records of all the books */
};

void audit_open(struct audit *); /* aborts where it cannot */
void audit_close(struct audit *);
/* Nothing was told. */
void audit_forget(struct audit *);
/* A record that was told to be durable. */
void audit_told(struct audit *, const char *json, size_t size);
/* A text that is equal for two runs that came to the same end, or what is wrong with the journal;
 * to be freed. With `any_order` it does not matter which action ended first. */
char *audit_summary(struct audit *, const char *directory, bool any_order, struct audit_found *);

#endif
