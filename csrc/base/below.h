/* below.h: reads and writes whole files below a folder, by a relative path that cannot leave it.
 *
 * Programs may write anything into a run's folder, so no part of the path may be a link, and the
 * file must be a regular one (opening a pipe would wait). ERROR_INVALID: the path names something
 * else; ERROR_MISSING: there is nothing. Knows nothing of runs; the folder itself may be a link. */
#ifndef SKILLRT_BASE_BELOW_H
#define SKILLRT_BASE_BELOW_H

#include "base/buffer.h"

/* The type, size and time of `name`, without opening it. */
bool below_stat(const struct sys *, const char *folder, const char *name, struct sys_stat *,
                struct error *);
/* The entries of the folder `name` in `folder`, as sys.list gives them. */
bool below_list(const struct sys *, const char *folder, const char *name,
                bool (*each)(void *data, const char *name, enum sys_kind kind), void *data,
                struct error *);
/* Appends the whole file to `to`. */
bool below_read(const struct sys *, const char *folder, const char *name, struct buffer *to,
                struct error *);
/* Appends the file from `offset` on, as far as `to` has room; *size becomes the size of the whole
 * file.
 */
bool below_read_part(const struct sys *, const char *folder, const char *name, int64_t offset,
                     struct buffer *to, int64_t *size, struct error *);
/* Writes it whole, with this mode (0600, 0700): beside the others in `folder` itself ("<last
 * part>.new-<8 hex digits>", which a crash may leave behind), then renamed. Folders on the way are
 * made. Where `durable`, bytes and all names on the way survive a power cut. */
bool below_replace(const struct sys *, const char *folder, const char *name, struct span content,
                   unsigned mode, bool durable, struct error *);
/* The same for a file of the user's: it keeps the mode of the regular file that it replaces; a new
 * one has 0666, folders 0777, both as the umask allows. */
bool below_write(const struct sys *, const char *folder, const char *name, struct span content,
                 bool durable, struct error *);
/* Makes an existing file, and all names on its path, survive a power cut. */
bool below_settle(const struct sys *, const char *folder, const char *name, struct error *);

#endif
