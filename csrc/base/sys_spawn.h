/* sys_spawn.h: the process calls of the real world. Included by sys.c only. */
#ifndef SKILLRT_BASE_SYS_SPAWN_H
#define SKILLRT_BASE_SYS_SPAWN_H

#include "base/sys.h"

int sys_real_spawn(const struct sys *, const struct sys_spawn *, pid_t *pid, int *ended);
int sys_real_ended(const struct sys *, pid_t pid);
int sys_real_kill_process(const struct sys *, pid_t pid, int signal);
int sys_real_kill_group(const struct sys *, pid_t pid, int signal);
int sys_real_reap(const struct sys *, pid_t pid, int *status);

#endif
