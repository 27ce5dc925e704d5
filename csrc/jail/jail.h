/* jail.h: what a program may reach of this machine, and how that is kept.
 *
 * A jail is made of words, see below; the first is "strict" or "work". "strict" shows the system's
 * programs and what is granted; "work" shows all but secrets, read-only. Namespaces and mounts do
 * it (jail_root.c), Landlock once more (jail_landlock.c), seccomp keeps away from the kernel what
 * programs do not need (jail_filter.c). Where one of the first is not there, nothing starts. Knows
 * no tasks and no runs. Called by transport/process_child.c. */
#ifndef SKILLRT_JAIL_JAIL_H
#define SKILLRT_JAIL_JAIL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/sys.h"

struct jail;

enum { JAIL_LISTENERS = 16 };

/* A word, and what stands behind it. */
enum jail_word {
  JAIL_NO_WORD,
  JAIL_STRICT,
  JAIL_WORK,
  JAIL_NETWORK,
  JAIL_UNIX,
  JAIL_IN,      /* PATH: where relative places are from now on; no link leads out of it */
  JAIL_READ,    /* PATH */
  JAIL_WRITE,   /* PATH */
  JAIL_EDIT,    /* PATH: the same, but read-only if others execute later what lies there */
  JAIL_KEEP,    /* PATH: a place of ours, read-only wherever it lies */
  JAIL_LISTEN,  /* PORT: a socket in its network that is ours */
  JAIL_MISSING, /* TEXT: why it cannot be made */
  /* for transport/proxy.c */
  JAIL_REACH,  /* PLACE */
  JAIL_HEADER, /* PLACE NAME: VALUE */
  JAIL_CA      /* PATH */
};

enum jail_word jail_word_read(const char *word, const char **text);

/* `words` and `env` are NULL-terminated; `cwd` NULL: where we are. False: words that mean nothing,
 * or no memory. */
bool jail_open(const struct sys *, const char *const *words, const char *const *env,
               const char *cwd, struct jail **, struct error *);
/* For sys_spawn. A jail is for one start. */
const struct sys_inside *jail_inside(const struct jail *);
/* The sockets of its "listen" words, which belong to the caller then, when it has started. Gives
 * their number. */
size_t jail_listeners(const struct jail *, int fds[JAIL_LISTENERS]);
/* What could not be done, in words for people; "" where all was. */
const char *jail_failure(const struct jail *);
/* Puts the end of the program in the place of that of its first process, where that saw it. */
void jail_ended(const struct jail *, int *wait_status);
void jail_close(struct jail **);

struct jail_probe {
  bool works;
  int landlock; /* its ABI; 0: none */
  char failure[256];
};

/* Tries one, once in a process; takes some 10 ms then. */
const struct jail_probe *jail_probe(void);

#endif
