/* jail_inside.h: a jail's own parts. What stands below "in the child" runs between fork and exec in
 * a copy of a process that may have had threads: system calls only, no memory, no locks. Included
 * by jail*.c only. */
#ifndef SKILLRT_JAIL_JAIL_INSIDE_H
#define SKILLRT_JAIL_JAIL_INSIDE_H

#include <limits.h>
#include <linux/filter.h>
#include <stdint.h>

#include "jail/jail.h"

#define IN_CHILD __attribute__((no_sanitize("address", "undefined", "thread")))

enum {
  JAIL_PLACES = 1024,
  JAIL_PATH = 1024,
  JAIL_TEXT = 192 << 10,
  JAIL_FILTER = 256,
  JAIL_FD_NAME = 32
};

/* Of two places with the same path the later of this list holds. */
enum place_kind {
  PLACE_SHOWN,  /* read-only, where it is there */
  PLACE_FRESH,  /* empty and writable, gone with the program */
  PLACE_HIDDEN, /* empty, where it is there */
  PLACE_KEPT,   /* read-only, where it is there and no link: inside of what may be written */
  PLACE_READ,   /* granted */
  PLACE_WRITE   /* granted */
};

struct place {
  enum place_kind kind;
  const char *given;
  const char *base;  /* the folder out of which no link may lead; NULL: any may */
  const char *below; /* of `given`: what follows the base, or for a kept place the granted folder */
  bool edits;        /* its word was "edit" */
  /* in the child */
  int fd; /* a copy of what lies there; -1: nothing does */
  bool is_folder;
  const char *path; /* without links; so is `base` then */
};

/* What the child tells its parent, in memory of both. */
struct jail_page {
  char failure[256];
  bool ended;
  int wait_status;
};

struct jail {
  struct sys_inside inside;
  const struct sys *sys;
  struct jail_page *page;
  bool strict, network, unix_sockets;
  uint16_t ports[JAIL_LISTENERS];
  size_t port_count;
  int channel[2];                   /* from the child to its parent, where it listens; else -1 */
  char cwd[JAIL_PATH], maps[2][48]; /* of users and of groups */
  const char *base; /* of the relative places that follow; NULL: there can be none */
  int granted;      /* in the child: the folder that was granted last; -1: none */
  size_t count, text_used;
  char text[JAIL_TEXT]; /* paths of places, as given and as they are */
  struct place places[JAIL_PLACES];
  struct place *order[JAIL_PLACES];
  struct sock_fprog filter;
  struct sock_filter filter_room[JAIL_FILTER];
};

/* jail_lists.c: what each kind of jail shows and hides of every machine. */
bool jail_lists_add(struct jail *, const char *home, struct error *);
/* ... and keeps in the place that was added last, which may be written. */
bool jail_lists_keep(struct jail *, struct error *);
/* Whether it keeps this, somewhere in a folder: "/a/.git/hooks". Also in the child. */
bool jail_lists_keeps(const char *path);
/* jail.c: a place; its path is made of both parts. */
bool jail_add(struct jail *, enum place_kind, const char *path, const char *more, struct error *);

/* jail_filter.c: the filter of system calls, as granted. */
void jail_filter_make(struct jail *);

/* ---- in the child: 0 or an errno ---- */

/* jail_listen.c: the sockets of its network, sent to the parent. */
int jail_listen(const struct jail *);
/* All of it, in this order. Comes back where it failed. */
int jail_enter(void *jail, int life, pid_t (*begin)(void *), void *with);
/* The name under which a descriptor can be opened again. */
void jail_name_of(int fd, char to[JAIL_FD_NAME]);
/* Notes what failed, and gives its number. */
int jail_fail(const struct jail *, int number, const char *what, const char *path);
int jail_places_open(struct jail *);
int jail_root_enter(struct jail *);
int jail_landlock_enter(const struct jail *);
int jail_landlock_abi(void);
int jail_drop(void);
int jail_filter_enter(const struct jail *);

#endif
