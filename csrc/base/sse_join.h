/* sse_join.h: events of a stream that differ in one text only, joined to one: what models send
 * piece by piece.
 *
 * The joined stream means the same to who puts the pieces together, and is a fraction of the size.
 * Knows the shape of events and of JSON's strings, nothing of what they mean. */
#ifndef SKILLRT_BASE_SSE_JOIN_H
#define SKILLRT_BASE_SSE_JOIN_H

#include <stddef.h>

/* Joins in place; gives the length that is left. `fields`: names of the fields whose texts are
 * pieces. An event is joined to the one before where both are a `data` line, behind an `event` line
 * or not, and differ within that field's text alone. All else stays as it is, also what the bytes
 * end in the middle of. */
size_t sse_join(char *data, size_t length, char *const *fields, size_t count);

/* How many of the bytes are whole events: up to the last empty line. */
size_t sse_whole(const char *data, size_t length);

#endif
