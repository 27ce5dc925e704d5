/* threads.h: comes before all else in the simulator's build of csrc/store/postgres*.c, whose
 * threads and clock are then those of fleet.c. */
#ifndef SKILLRT_SIM_THREADS_H
#define SKILLRT_SIM_THREADS_H

#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "sim/fleet.h"

#define pthread_create(thread, attributes, body, data) fleet_thread(thread, body, data)
#define pthread_join(thread, result) fleet_join(thread)
#define pthread_self fleet_self
#define pthread_mutex_lock fleet_lock
#define pthread_mutex_unlock fleet_unlock
#define pthread_cond_wait(condition, mutex) fleet_wait(condition, mutex, NULL)
#define pthread_cond_timedwait fleet_wait
#define pthread_cond_signal fleet_wake
#define pthread_cond_broadcast fleet_wake
#define pthread_sigmask(how, set, old) ((void)(set))
#define clock_gettime(clock, to) fleet_clock(to)
#define getpid fleet_pid

#endif
