/* listing.h: the runs of a folder, as store.h lists them; called by store.c and claim.c. */
#ifndef SKILLRT_STORE_LISTING_H
#define SKILLRT_STORE_LISTING_H

#include "store/store.h"

/* `path` has less than PATH_MAX bytes. */
bool directory_list(const struct sys *, const char *path,
                    bool (*each)(void *data, const struct listing *), void *data, struct error *);

#endif
