/* file.h: the few things a store does with whole files and folders.
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
/* Opens a regular file with mode 0600, never through a last symbolic link; -1 with `error` filled,
 * ERROR_INVALID for a pipe or the like, which is not waited for. */
int file_open(const struct sys *, const char *path, int flags, struct error *);
/* fsync, or fdatasync where only the bytes count. Tried again on EINTR only. */
bool file_sync(const struct sys *, int fd, bool data_only, const char *path, struct error *);
/* fsync of the folder that holds `path`, where it may be opened. */
bool file_sync_parent(const struct sys *, const char *path, struct error *);
/* Makes the folder and those above it (0700) and, where `durable`, fsyncs the folders that
 * hold the names. What is there already is fine. */
bool file_make_folders(const struct sys *, const char *path, bool durable, struct error *);
/* Whether `name` in `folder`, where it is there, is a folder and no link to one: else
 * ERROR_INVALID. */
bool file_is_folder(const struct sys *, const char *folder, const char *name, struct error *);
/* Appends the file's content to `to`; ERROR_MISSING where there is no such file. */
bool file_read(const struct sys *, const char *path, struct buffer *to, struct error *);
/* "<path>.new" into `to` (PATH_MAX bytes): where a file is written before it gets its name. */
bool file_temporary(char *to, const char *path, struct error *);
/* Whether the name stands for the file that `about` was once filled from; true where nobody can
 * tell. `*size`: of the file it stands for now, where that is known. */
bool file_same(const struct sys *, const char *path, const struct sys_stat *about, int64_t *size);

#endif
