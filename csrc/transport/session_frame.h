/* session_frame.h: frames the messages of a session on a pipe: each is a line, or follows a
 * Content-Length header. Called by session.c. */
#ifndef SKILLRT_TRANSPORT_SESSION_FRAME_H
#define SKILLRT_TRANSPORT_SESSION_FRAME_H

#include "base/buffer.h"

/* Appends a framed message. False: it cannot be framed (a line break within a line). */
bool frame_write(struct buffer *to, struct span message, bool framed, struct error *);

enum frame_found { FRAME_NONE, FRAME_WHOLE, FRAME_BAD };

/* The first message in `in`, borrowed, and how many bytes it takes with its frame. */
enum frame_found frame_next(const struct buffer *in, bool framed, struct span *message,
                            size_t *bytes);

#endif
