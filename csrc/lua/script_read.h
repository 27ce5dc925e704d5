/* script_read.h: a journal read back for a script's policy.
 *
 * The policy's field `newest` says how a checkpoint record ends. Reading begins with the newest
 * such record, so that a long run is resumed as fast as a short one. Called by script.c. */
#ifndef SKILLRT_LUA_SCRIPT_READ_H
#define SKILLRT_LUA_SCRIPT_READ_H

#include "lua/script.h"

/* Gives the policy each record (its method `record`), and counts all records of the journal. */
bool script_read(struct script *, uint64_t *records, struct error *);

#endif
