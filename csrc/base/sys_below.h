/* sys_below.h: how the real world opens below a folder; included by sys.c and a test. */
#ifndef SKILLRT_BASE_SYS_BELOW_H
#define SKILLRT_BASE_SYS_BELOW_H

#include "base/sys.h"

int sys_real_open_below(const struct sys *, int folder, const char *name, int flags);
/* The same one part after the other, for kernels that cannot do it at once. */
int sys_walk_below(int folder, const char *name, int flags);

#endif
