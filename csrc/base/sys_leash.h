/* sys_leash.h: the time that no program of this process may outlive. Included by sys.c and
 * sys_spawn.c only. */
#ifndef SKILLRT_BASE_SYS_LEASH_H
#define SKILLRT_BASE_SYS_LEASH_H

#include "base/sys.h"

int sys_real_leash(const struct sys *, int64_t until_ns);
bool sys_real_leashed(const struct sys *, pid_t pid);
/* Adds a program's group to those that end at that time, and removes it. */
void leash_add(pid_t group);
void leash_remove(pid_t group);

#endif
