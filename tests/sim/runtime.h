/* runtime.h: what sim.c says to runtime.c beside csrc/engine/runtime.h. */
#ifndef SKILLRT_SIM_RUNTIME_H
#define SKILLRT_SIM_RUNTIME_H

/* The process that had a run is no more. */
void runtime_forget(void);

#endif
