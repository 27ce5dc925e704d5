/* fleet.h: several workers in one process: each has its memory (image.h), its clock and its
 * threads, which are coroutines; one is performed at a time, the one whose time comes first.
 *
 * A worker is given up only where it waits: for the database, a time, or a mutex. There the seed
 * decides whether it is killed or stopped. */
#ifndef SKILLRT_SIM_FLEET_H
#define SKILLRT_SIM_FLEET_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

enum { WORKERS = 3 };

/* Performs the run of the world's seed by workers, until it is over. */
void fleet_run(unsigned workers, bool harmed);
/* The memory of a worker without a process. */
void fleet_become(unsigned worker);
/* Waits so long; outside of a worker only time passes. */
void fleet_sleep(int64_t ns);
/* The number of the process that is performed, from 1 on; 0: none is. */
unsigned fleet_process(void);
bool fleet_lives(unsigned process);
bool fleet_is_over(void); /* the run has ended, and nobody goes on */
bool fleet_claimed(void); /* the process that is performed has claimed the run */
/* The clock of the worker: it may go too slow or too fast. */
int64_t fleet_boot_ns(void);
int64_t fleet_wall_ms(void); /* what is added to the world's */
/* The world's time at which a worker's clock shows this. */
int64_t fleet_time_of(int64_t boot_ns);
/* The run cannot go on. */
_Noreturn void fleet_give_up(void);

/* ---- threads.h ---- */

int fleet_thread(pthread_t *, void *(*body)(void *), void *data);
int fleet_join(pthread_t);
pthread_t fleet_self(void);
int fleet_lock(pthread_mutex_t *);
int fleet_unlock(pthread_mutex_t *);
int fleet_wait(pthread_cond_t *, pthread_mutex_t *, const struct timespec *until);
int fleet_wake(pthread_cond_t *);
int fleet_clock(struct timespec *);
int fleet_pid(void);

#endif
