/* faulty_power.h: what of a folder is durable. A model on top of a real file system, told of
 * each call that succeeded. Used by faulty_sys.c only. */
#ifndef SKILLRT_TESTS_FAULTY_POWER_H
#define SKILLRT_TESTS_FAULTY_POWER_H

#include "support/faulty_sys.h"

struct faulty_power;

struct faulty_power *faulty_power_new(const char *root);
void faulty_power_free(struct faulty_power *);
/* A name came (made or renamed to) or went. Names outside of the root are ignored. */
void faulty_power_named(struct faulty_power *, const char *path);
void faulty_power_gone(struct faulty_power *, const char *path);
/* Both at once: what `from` was is now `to`. */
void faulty_power_renamed(struct faulty_power *, const char *from, const char *to);
void faulty_power_synced(struct faulty_power *, int fd);
void faulty_power_restore(struct faulty_power *, enum faulty_cut, uint64_t seed);

#endif
