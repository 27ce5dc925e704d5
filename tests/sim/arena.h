/* arena.h: memory that a process shares with its children, given out from the bottom and taken back
 * all at once. What tests/support/ram_disk*.c allocate lies here (make/tests.mk), so that a disk
 * outlives the process that wrote to it. */
#ifndef SKILLRT_SIM_ARENA_H
#define SKILLRT_SIM_ARENA_H

#include <stddef.h>

void arena_open(size_t size);
void arena_reset(void);
void *arena_calloc(size_t count, size_t size);
void *arena_realloc(void *block, size_t size);
void arena_free(void *block);

#endif
