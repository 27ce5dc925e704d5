/* script_read.h: a journal read back for a script's policy.
 *
 * Where the policy says how a record ends that holds all there is to know (its field `newest`),
 * reading begins with the newest of these: a long run is taken up as fast as a short one.
 * Called by script.c. */
#ifndef SKILLRT_LUA_SCRIPT_READ_H
#define SKILLRT_LUA_SCRIPT_READ_H

#include "lua/script.h"

/* Tells the policy each record (its method `record`) and counts all there are, told or not. */
bool script_read(struct script *, uint64_t *records, struct error *);

#endif
