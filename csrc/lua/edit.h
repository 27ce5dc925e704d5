/* edit.h: a line that a person edits at a terminal. */
#ifndef SKILLRT_LUA_EDIT_H
#define SKILLRT_LUA_EDIT_H

#include "base/buffer.h"

/* Gives the next byte of standard input: 1; 0: none will come. */
typedef int edit_next(void *data, char *byte);

/* Reads a line into `to`, without its newline. False: it cannot be edited here, and nothing was
 * read or written. `*whole`: it was entered. */
bool edit_line(const char *prompt, edit_next *next, void *data, struct buffer *to, bool *whole);

#endif
