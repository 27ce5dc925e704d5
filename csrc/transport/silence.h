/* silence.h: whether a program that writes nothing still works, itself or through its children.
 *
 * A coding agent is silent while one of its tools runs and while a model thinks; it should be ended
 * only if neither it nor any program that it started does anything. Called by process.c. */
#ifndef SKILLRT_TRANSPORT_SILENCE_H
#define SKILLRT_TRANSPORT_SILENCE_H

#include "base/sys.h"

enum { SILENCE_WORDS = 64 };

/* Processor time that a program and all its descendants have used, in clock ticks. */
uint64_t silence_used(const struct sys *, int64_t pid);
/* What the program does, in words; "": nothing. `before`: its processor time `ms` ago. `newer_ms`:
 * a descendant that was started within that time counts as a tool of it; 0: none does. */
void silence_look(const struct sys *, int64_t pid, uint64_t before, int64_t ms, int64_t newer_ms,
                  char to[SILENCE_WORDS]);

#endif
