/* session_frame.h: messages of a session one behind the other on a pipe: each a line, or behind a
 * Content-Length. Called by session_*.c. */
#ifndef SKILLRT_TRANSPORT_SESSION_FRAME_H
#define SKILLRT_TRANSPORT_SESSION_FRAME_H

#include "base/buffer.h"

/* Appends a message in its frame. False: it cannot be framed so (a line break in a line). */
bool frame_write(struct buffer *to, struct span message, bool framed, struct error *);

enum frame_found { FRAME_NONE, FRAME_WHOLE, FRAME_BAD };

/* The first message in `in`, borrowed, and how many bytes it takes with its frame. */
enum frame_found frame_next(const struct buffer *in, bool framed, struct span *message,
                            size_t *bytes);

#endif
