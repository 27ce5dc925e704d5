/* scratch.h: a folder of a test's own, and whole files in it. Aborts where the world fails:
 * a test that cannot have its folder has nothing to say. Called by C tests. */
#ifndef SKILLRT_TESTS_SCRATCH_H
#define SKILLRT_TESTS_SCRATCH_H

#include <limits.h>
#include <stddef.h>

struct scratch {
  char path[PATH_MAX];
};

/* In memory (/dev/shm) where the system has that, else in TMPDIR or /tmp. */
void scratch_make(struct scratch *);
void scratch_remove(struct scratch *);
/* Everything in it, but not itself. */
void scratch_empty(struct scratch *);
/* "<scratch>/<name>"; one of eight rotating texts. */
const char *scratch_path(struct scratch *, const char *name);
/* The file's bytes and a NUL, to be freed; NULL where there is no such file. */
char *scratch_read(struct scratch *, const char *name, size_t *length);
void scratch_write(struct scratch *, const char *name, const void *bytes, size_t length);
/* How many entries a folder has whose names begin so; 0 where it does not exist. */
int scratch_count(struct scratch *, const char *folder, const char *begin);
/* One number for the whole tree: names, sizes and bytes. */
unsigned long scratch_print(struct scratch *, const char *folder);

#endif
