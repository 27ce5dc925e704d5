/* silence.h: whether a program that says nothing works: by itself, or by what it started.
 *
 * A coding agent is silent for as long as a tool of it runs, and while a model thinks; it is to be
 * ended only where neither it nor any program below it does anything. Called by process.c. */
#ifndef SKILLRT_TRANSPORT_SILENCE_H
#define SKILLRT_TRANSPORT_SILENCE_H

#include "base/sys.h"

enum { SILENCE_WORDS = 64 };

/* Ticks of the processor that a program and all below it have used. */
uint64_t silence_used(const struct sys *, int64_t pid);
/* What it does, in words; "": nothing. `before`: what it had used `ms` ago. `newer_ms`: a program
 * below it that was started within that time is a tool of it; 0: none is. */
void silence_look(const struct sys *, int64_t pid, uint64_t before, int64_t ms, int64_t newer_ms,
                  char to[SILENCE_WORDS]);

#endif
