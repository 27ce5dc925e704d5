/* file.h: what a store does with whole files and folders.
 *
 * Everything through struct sys; EINTR is tried again, anything else is an error that names
 * the file. Knows nothing of runs. */
#ifndef SKILLRT_STORE_FILE_H
#define SKILLRT_STORE_FILE_H

#include <stdbool.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/sys.h"

/* "<folder>/<name>" into `to`, which has room for PATH_MAX bytes. */
bool file_path(char *to, const char *folder, const char *name, struct error *);
/* Opens a regular file with mode 0600 and does not follow a symbolic link of that name. -1 with
 * `error` filled: ERROR_INVALID for a pipe or the like; does not wait for its other end. */
int file_open(const struct sys *, const char *path, int flags, struct error *);
/* fsync, or fdatasync where only the bytes count. Tried again on EINTR only. */
bool file_sync(const struct sys *, int fd, bool data_only, const char *path, struct error *);
/* fsync of the folder that holds `path`, if this process may open it. */
bool file_sync_parent(const struct sys *, const char *path, struct error *);
/* Makes the folder and those above it (0700) and, where `durable`, fsyncs the folders that
 * hold the names. Existing folders are fine. */
bool file_make_folders(const struct sys *, const char *path, bool durable, struct error *);
/* ERROR_INVALID where `name` exists in `folder` and is not a folder (or is a link to one). */
bool file_is_folder(const struct sys *, const char *folder, const char *name, struct error *);
/* Appends the file's content to `to`; ERROR_MISSING where there is no such file. */
bool file_read(const struct sys *, const char *path, struct buffer *to, struct error *);
/* "<path>.new" into `to` (PATH_MAX bytes): where a file is written before it gets its name. */
bool file_temporary(char *to, const char *path, struct error *);
/* Whether the name still refers to the file that `about` was filled from; true also where stat
 * fails.
 * `*size` becomes the size of the file that it refers to now, if known. */
bool file_same(const struct sys *, const char *path, const struct sys_stat *about, int64_t *size);

#endif
