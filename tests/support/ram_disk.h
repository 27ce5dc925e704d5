/* ram_disk.h: a disk in memory whose power can be cut.
 *
 * A file system behind struct sys that makes no call to the kernel, so that a hundred thousand
 * states of it can be looked at. It knows what was synced: a file's bytes, a folder's names. What a
 * cut leaves is another disk: of what was not synced any names, any sectors, any length. Paths
 * begin at "/"; there are no links. Clock, randomness and memory are the real ones. Not for
 * threads. */
#ifndef SKILLRT_TESTS_RAM_DISK_H
#define SKILLRT_TESTS_RAM_DISK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/sys.h"

struct ram_disk;

struct ram_disk *ram_disk_new(void); /* aborts where memory is out */
void ram_disk_free(struct ram_disk *);
/* Files; valid as long as the disk. */
const struct sys *ram_disk_sys(struct ram_disk *);
int ram_disk_open_files(const struct ram_disk *);
/* What a power cut leaves now, chosen by the seed: a disk on another boot, to be freed. */
struct ram_disk *ram_disk_cut(const struct ram_disk *, uint64_t seed);
/* Only what was synced. */
struct ram_disk *ram_disk_cut_strict(const struct ram_disk *);

#endif
