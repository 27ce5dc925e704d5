/* below.h: whole files below a folder, by a relative path that is never followed out of it.
 *
 * What programs write into a run's folder is not trusted: no part of the path may be a link, and
 * the file must be a regular one, which is not waited for. ERROR_INVALID says what stands there
 * instead, ERROR_MISSING that nothing does. Knows nothing of runs; the folder itself may be a link.
 */
#ifndef SKILLRT_BASE_BELOW_H
#define SKILLRT_BASE_BELOW_H

#include "base/buffer.h"

/* What `name` is, without opening it. */
bool below_stat(const struct sys *, const char *folder, const char *name, struct sys_stat *,
                struct error *);
/* The entries of the folder `name` in `folder`, as sys.list gives them. */
bool below_list(const struct sys *, const char *folder, const char *name,
                bool (*each)(void *data, const char *name, enum sys_kind kind), void *data,
                struct error *);
/* Appends the whole file to `to`. */
bool below_read(const struct sys *, const char *folder, const char *name, struct buffer *to,
                struct error *);
/* Appends what the file has from `offset` on, as far as `to` has room; *size is that of all of it.
 */
bool below_read_part(const struct sys *, const char *folder, const char *name, int64_t offset,
                     struct buffer *to, int64_t *size, struct error *);
/* Writes it whole, with this mode (0600, 0700): beside the others in `folder` itself ("<last
 * part>.new-<8 hex digits>", which a crash may leave behind), then renamed. Folders on the way are
 * made. Where `durable`, bytes and all names on the way survive a power cut. */
bool below_replace(const struct sys *, const char *folder, const char *name, struct span content,
                   unsigned mode, bool durable, struct error *);
/* The same for a file of others: it keeps the mode of what it replaces, which must be a regular
 * file; a new one has 0666, folders 0777, both as the umask allows. */
bool below_write(const struct sys *, const char *folder, const char *name, struct span content,
                 bool durable, struct error *);
/* Makes what is there, and all names on the way, survive a power cut. */
bool below_settle(const struct sys *, const char *folder, const char *name, struct error *);

#endif
