/* signals.h: how the program is stopped from outside. Called by main.c only. */
#ifndef SKILLRT_SIGNALS_H
#define SKILLRT_SIGNALS_H

#include "base/sys.h"

struct limits;

/* First of all: descriptors 0 to 2 are there, as many others as allowed, no signal is blocked. */
void signals_prepare(void);
/* The real world, in which is noted what a handler has to know. */
const struct sys *signals_world(void);
/* From here on signals stop what these limits bound. */
void signals_install(struct limits *);
/* No run is left whose Lua is to be stopped: what bounds it may go. */
void signals_end_ticks(void);
/* The signal that stopped us; 0: none came. */
int signals_first(void);

#endif
