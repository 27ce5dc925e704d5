/* confine.h: a process that computes and answers, and can do nothing else: of all system calls it
 * keeps those for memory, for the descriptors that it has, and for its own end. It opens, starts,
 * reaches and signals nothing, whatever a kernel has of namespaces. Called by lua/bind_guest.c, in
 * the process itself, once what it needs is loaded. */
#ifndef SKILLRT_JAIL_CONFINE_H
#define SKILLRT_JAIL_CONFINE_H

#include <stddef.h>

#include "base/error.h"

/* For good. `memory`: how many bytes it may have at most. */
bool confine(size_t memory, struct error *);

#endif
