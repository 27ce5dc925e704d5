/* sys.h: the world behind one struct.
 *
 * Files, clock, randomness, allocator, processes and sockets are reached only through
 * these function pointers, so that a test can fail, tear, reorder or kill at the n-th
 * call. Each call returns 0 or a count on success and a negative errno on failure;
 * nothing here retries (sys_write_all and friends below do, on EINTR and short counts).
 * Every descriptor is opened O_CLOEXEC and above 2: others may write to those. Callable from any
 * thread. */
#ifndef SKILLRT_BASE_SYS_H
#define SKILLRT_BASE_SYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

struct sys;

enum { SYS_BOOT = 40 };

enum sys_kind { SYS_FILE, SYS_DIRECTORY, SYS_LINK, SYS_OTHER };

struct sys_stat {
  enum sys_kind kind;
  int64_t size;     /* bytes */
  int64_t mtime_ns; /* since the epoch */
  unsigned mode;    /* permission bits */
  uint64_t device, inode;
};

/* What a child does of its own before it executes, in a copy of our memory: csrc/jail. */
struct sys_inside {
  int namespaces; /* that it begins in: CLONE_NEW... of clone(2) */
  /* System calls only. `begin` executes in a child of the child, in its memory, and gives that
   * child, or -1. Comes back where it failed, with an errno. */
  int (*enter)(void *data, int life, pid_t (*begin)(void *), void *with);
  void *data;
  int keeps; /* a descriptor that `enter` needs; 0: none */
};

struct sys_spawn {
  const char *const *argv; /* NULL-terminated; argv[0] is looked up in the PATH of `env` */
  const char *const *env;  /* NULL-terminated "NAME=value"; the whole environment */
  const char *cwd;         /* NULL: the caller's; relative names of argv[0] and PATH start here */
  int in, out, err;        /* descriptors to become 0, 1, 2; no other is inherited but */
  int life;                /* 0: none. The reading end of a pipe: when those who could write to it
                              are gone, the kernel kills the group. Each start has its own */
  const struct sys_inside *inside; /* NULL: none. Then `cwd` is a matter of its own */
  bool leaves;                     /* a session of its own, and it outlives us; `life` is 0 */
};

struct sys {
  void *self; /* a test's own data; NULL in the real one */

  /* realloc with sizes; new_size 0 frees and gives NULL. NULL on failure. */
  void *(*alloc)(const struct sys *, void *block, size_t old_size, size_t new_size);

  int (*open)(const struct sys *, const char *path, int flags, unsigned mode);
  /* Opens what is there at a path below an open folder; a link anywhere in it is -ELOOP, a way out
   * -EXDEV. */
  int (*open_below)(const struct sys *, int folder, const char *name, int flags);
  int (*close)(const struct sys *, int fd);
  ssize_t (*read)(const struct sys *, int fd, void *to, size_t size);
  ssize_t (*pread)(const struct sys *, int fd, void *to, size_t size, int64_t offset);
  ssize_t (*write)(const struct sys *, int fd, const void *from, size_t size);
  int (*fsync)(const struct sys *, int fd);
  int (*fdatasync)(const struct sys *, int fd);
  int (*truncate)(const struct sys *, int fd, int64_t size);
  /* fallocate; the file's size stays as it is */
  int (*reserve)(const struct sys *, int fd, int64_t offset, int64_t size);
  int64_t (*seek)(const struct sys *, int fd, int64_t offset, int whence);
  /* Locks the file for this opening alone, until that is closed; -EWOULDBLOCK if another has it. */
  int (*lock)(const struct sys *, int fd);
  int (*locked)(const struct sys *, int fd); /* 1: by another opening; 0: not */
  int (*rename)(const struct sys *, const char *from, const char *to);
  int (*unlink)(const struct sys *, const char *path);
  int (*mkdir)(const struct sys *, const char *path, unsigned mode);
  int (*rmdir)(const struct sys *, const char *path);
  int (*stat)(const struct sys *, const char *path,
              struct sys_stat *to); /* does not follow a last link */
  int (*fstat)(const struct sys *, int fd, struct sys_stat *to);
  /* Calls `each` per entry (not "." or ".."), in no order; `each` returning false ends it. */
  int (*list)(const struct sys *, const char *path,
              bool (*each)(void *data, const char *name, enum sys_kind kind), void *data);

  int (*memory_file)(const struct sys *, const char *name); /* a file without a name, in memory */
  int (*pipe)(const struct sys *, int ends[2]);             /* [0] is read, [1] is written */

  /* Names the time since the machine was started; a text of at most SYS_BOOT - 1 bytes. */
  int (*boot)(const struct sys *, char to[SYS_BOOT]);
  /* 1 where the file lies on a disk of this machine alone, else 0. */
  int (*is_local)(const struct sys *, int fd);

  int64_t (*wall_ms)(const struct sys *); /* UTC, since the epoch */
  int64_t (*mono_ns)(const struct sys *); /* never goes back */
  int64_t (*boot_ns)(const struct sys *); /* the same, but also counts while the machine sleeps */
  /* Sleeps, at most that long, and sees nothing meanwhile: for what is not there yet and tells
   * nobody, as the end of a group. All else that waits is the loop's (engine/loop.h). */
  void (*pause)(const struct sys *, int ms);
  int (*random)(const struct sys *, void *to, size_t size);

  /* Starts a process in a group of its own; gives its pid and a descriptor that becomes
   * readable when it ended (pidfd), so that no signal handler is needed. Where the system gives
   * none, that is -1, and `ended` has to be asked: 1, 0 while it runs. */
  int (*spawn)(const struct sys *, const struct sys_spawn *, pid_t *pid, int *ended);
  int (*ended)(const struct sys *, pid_t pid);
  int (*kill_group)(const struct sys *, pid_t pid, int signal);
  int (*kill_process)(const struct sys *, pid_t pid, int signal); /* alone, whoever started it */
  int (*reap)(const struct sys *, pid_t pid, int *status); /* waitpid status; -EAGAIN if running */
  /* Programs that were started with a `life` are killed at this boot_ns, even if this process is
   * stopped. Each call replaces the time; 0: none. NULL: this system cannot. */
  int (*leash)(const struct sys *, int64_t until_ns);
  /* Whether that has killed a program, which was not reaped yet. NULL as `leash`. */
  bool (*leashed)(const struct sys *, pid_t pid);

  int (*socket)(const struct sys *, int domain, int type, int protocol);
};

/* The real world. Stateless, shared, never freed. */
const struct sys *sys_real(void);

/* Between the two, what a library opens is no descriptor from 0 to 2, although the host has closed
 * one of them; with our own calls that is always so. */
void sys_hold_standard(int held[3]);
void sys_release_standard(const int held[3]);
/* For the start of a program: as many descriptors as the system allows. What we start gets the
 * limit that was there before. */
void sys_raise_files(void);

/* Writes all of it: continues after EINTR and short counts. False with `object` in the message. */
bool sys_write_all(const struct sys *, int fd, const void *from, size_t size, const char *object,
                   struct error *);
/* Reads exactly `size` bytes at `offset`; a shorter file is ERROR_CORRUPT. */
bool sys_pread_all(const struct sys *, int fd, void *to, size_t size, int64_t offset,
                   const char *object, struct error *);
/* open and fsync, tried again after EINTR. */
int sys_open(const struct sys *, const char *path, int flags, unsigned mode);
int sys_fsync(const struct sys *, int fd);
/* The folder that holds `path`, into `to` (PATH_MAX bytes, as `path` at most is). */
void sys_parent(char *to, const char *path);
/* fsync of a directory, so that a name created in it survives a power cut. */
bool sys_sync_directory(const struct sys *, const char *path, struct error *);
/* Makes `path`, where nothing may lie yet, not even a link, and writes it in place; what failed
 * is removed, a crash may leave half of it: for folders that no one reads before they are complete.
 * Mode 0600. */
bool sys_create_file(const struct sys *, const char *path, const void *from, size_t size,
                     struct error *);
/* Writes `path` whole: temporary file beside it ("<path>.new-<8 hex digits>", which a crash
 * may leave behind), optional fsync, rename, optional directory fsync. The old content stays
 * until the new one is complete. Mode 0600. */
bool sys_replace_file(const struct sys *, const char *path, const void *from, size_t size,
                      bool durable, struct error *);

/* The first half of that: the whole content under a name beside `path`, which goes to `temporary`
 * (PATH_MAX bytes), with this mode; nothing is left where it fails. */
bool sys_write_beside(const struct sys *, const char *path, const void *from, size_t size,
                      unsigned mode, bool durable, char *temporary, struct error *);

void *sys_alloc(const struct sys *, size_t size); /* zeroed; NULL on failure */
void sys_free(const struct sys *, void *block, size_t size);

#endif
