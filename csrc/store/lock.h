/* lock.h: one process advances a run: a lock on "<run>/run.lock".
 *
 * The file holds one line for people, "<pid> <host> <start> <boot>", and stays when the lock is
 * released. The boot identifies the boot of the machine in which the journal was last opened for
 * writing. The kernel releases the lock when its holder dies, so no stale lock exists. */
#ifndef SKILLRT_STORE_LOCK_H
#define SKILLRT_STORE_LOCK_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/sys.h"

/* Returns the descriptor that holds the lock, or -1: ERROR_BUSY names the holder. */
int lock_take(const struct sys *, const char *folder, struct error *);
/* Whether the name still refers to the file that was locked; ERROR_LOST where not. */
bool lock_kept(const struct sys *, const struct sys_stat *locked, const char *folder,
               struct error *);
/* Whether a process holds the lock; `line` gets the text of the holder ("<pid> <host> <start>").
 * False where there is no lock file; true also where that cannot be found out, with "". */
bool lock_held(const struct sys *, const char *folder, char *line, size_t room);
/* The lock file for reading, or -1. */
int lock_look(const struct sys *, const char *folder, struct error *);
/* The boot in the line; "" where there is none. */
void lock_boot(const struct sys *, int fd, char boot[SYS_BOOT]);
/* Writes the holder and this boot, for people and for an open after a power cut. Ignores a failure
 * (full disk). */
void lock_sign(const struct sys *, int fd, pid_t, const char *boot);
/* Releases it; -1 is fine. */
void lock_release(const struct sys *, int fd);

#endif
