/* memory.h: a store that holds only blobs; called by store.c only. */
#ifndef SKILLRT_STORE_MEMORY_H
#define SKILLRT_STORE_MEMORY_H

#include "store/store.h"

/* Append and view succeed and store nothing; read and record find nothing. */
bool memory_open(const struct sys *, const char *at, const struct store_options *, struct store **,
                 struct store_report *, struct error *);

#endif
