/* inbox.h: the inbox of a run in a directory, as store.h has it; called by store.c only. */
#ifndef SKILLRT_STORE_INBOX_H
#define SKILLRT_STORE_INBOX_H

#include "store/store.h"

/* `path`: of the run, which need not exist yet. */
bool directory_inbox(const struct sys *, const char *path, struct inbox **, struct error *);

#endif
