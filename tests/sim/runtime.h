/* runtime.h: what sim.c says to runtime.c beside csrc/engine/runtime.h. */
#ifndef SKILLRT_SIM_RUNTIME_H
#define SKILLRT_SIM_RUNTIME_H

#include <stdbool.h>

/* The process that had a run is no more. */
void runtime_forget(void);
/* sim.c: people do something while a run goes on; true: its inbox changed. */
bool sim_people(void);
/* sim.c: a worker performs an episode of the run; true: the run is over. */
bool sim_episode(void);
/* A process of the point begins: with its skill drawn, and nothing else. */
void sim_process(void);

#endif
