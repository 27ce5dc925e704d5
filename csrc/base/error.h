/* error.h: an error, passed by value.
 *
 * A failure of the outside world (file, network, bad bytes) fills a struct error and returns
 * false; a caller's bug is an assert. Messages begin with the object they are
 * about: "runs/7/state.json: No space left on device". Knows nothing of skillrt. */
#ifndef SKILLRT_BASE_ERROR_H
#define SKILLRT_BASE_ERROR_H

#include <stdbool.h>

enum error_code {
  ERROR_NONE = 0,
  ERROR_SYSTEM,  /* the operating system refused; `number` holds the errno */
  ERROR_INVALID, /* malformed input: bad JSON, bad script, bad option */
  ERROR_CORRUPT, /* durable data is damaged; nothing was changed */
  ERROR_BUSY,    /* another process holds the run */
  ERROR_MISSING, /* the thing named does not exist */
  ERROR_EXISTS,  /* the thing to create is there already */
  ERROR_NEWER,   /* written by a newer format */
  ERROR_EDITED,  /* a view was changed by hand */
  ERROR_CHANGED, /* a pinned file (script, prompt, strategy) changed */
  ERROR_LIMIT,   /* a size, depth, time or instruction limit was reached */
  ERROR_MEMORY,  /* an allocation failed */
  ERROR_SCRIPT,  /* a Lua function raised */
  ERROR_STOPPED, /* stopped from outside */
  /* those a script cannot raise (lua/raised.c) */
  ERROR_LOST, /* another process owns the run, or it was removed: nothing is written any more */
  ERROR_STORE /* a blob that a record refers to cannot be stored */
};

struct error {
  enum error_code code;
  int number; /* errno where code is ERROR_SYSTEM, else 0 */
  char text[512];
};

/* Fills `e` (NULL allowed) and returns false, so that `return error_set(...)` reads well.
 * Text beyond the room is cut at a UTF-8 boundary and ends in "...". */
bool error_set(struct error *e, enum error_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same for a failed call: "<object>: <strerror(number)>"; ENOMEM becomes ERROR_MEMORY. */
bool error_system(struct error *e, int number, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* After error_system with the path of a file or a folder: ERROR_MISSING where nothing has that
 * path, because of the name itself or of a folder above it. Returns false. */
bool error_missing(struct error *e, int number);

void error_clear(struct error *e);

/* The name Lua and people see: "system", "invalid", "corrupt" ... Never NULL. */
const char *error_name(enum error_code code);

#endif
