/* lock.h: one process advances a run: an flock on "<run>/run.lock".
 *
 * The file holds one line for people, "<pid> <host> <start>", and stays when the lock is
 * given back. The kernel gives the lock back when its holder dies, so no stale lock exists. */
#ifndef SKILLRT_STORE_LOCK_H
#define SKILLRT_STORE_LOCK_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/sys.h"

/* Gives the descriptor that holds the lock, or -1: ERROR_BUSY names the holder. */
int lock_take(const struct sys *, const char *folder, struct error *);
/* Whether the name still stands for the file that was locked; ERROR_LOST where not. */
bool lock_kept(const struct sys *, const struct sys_stat *locked, const char *folder,
               struct error *);
/* Whether a process holds it, without taking it for longer than the look: `line` gets what the
 * holder wrote ("<pid> <host> <start>"). False also where there is no lock file. */
bool lock_held(const struct sys *, const char *folder, char *line, size_t room);
/* Writes who holds it. For people only: a failure (full disk) is none. */
void lock_sign(const struct sys *, int fd);
/* Gives it back; -1 is fine. */
void lock_release(const struct sys *, int fd);

#endif
