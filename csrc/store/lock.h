/* lock.h: one process advances a run: an flock on "<run>/run.lock".
 *
 * The file holds one line for people, "<pid> <host> <start> <boot>", and stays when the lock is
 * given back. The boot is that of the machine when the journal was last opened for writing. The
 * kernel gives the lock back when its holder dies, so no stale lock exists. */
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
/* The lock file for reading, or -1. */
int lock_look(const struct sys *, const char *folder);
/* The boot in the line; "" where there is none. */
void lock_boot(const struct sys *, int fd, char boot[SYS_BOOT]);
/* Writes who holds it, and this boot. For people, and an open that comes after a power cut: a
 * failure (full disk) is none. */
void lock_sign(const struct sys *, int fd, const char *boot);
/* Gives it back; -1 is fine. */
void lock_release(const struct sys *, int fd);

#endif
