/* session_message.h: messages of a session: one behind the other on a pipe, and whom they answer.
 * Called by session.c. */
#ifndef SKILLRT_TRANSPORT_SESSION_MESSAGE_H
#define SKILLRT_TRANSPORT_SESSION_MESSAGE_H

#include "base/buffer.h"

struct strings;

/* Appends a message in its frame. False: it cannot be framed so (a line break in a line). */
bool message_write(struct buffer *to, struct span message, bool framed, struct error *);

enum message_found { MESSAGE_NONE, MESSAGE_WHOLE, MESSAGE_BAD };

/* The first message in `in`, borrowed, and how many bytes it takes with its frame. */
enum message_found message_next(const struct buffer *in, bool framed, struct span *message,
                                size_t *bytes);

/* Whether it is an answer (a JSON object with an "id" and no "method") to this id, a JSON text. */
bool message_answers(struct span message, const char *id);

/* What a message is by its form, a JSON object with an "id", a "method", both or neither. */
enum message_form { MESSAGE_NOTICE, MESSAGE_QUESTION, MESSAGE_ANSWER };
enum message_form message_form_of(struct span message);

/* The answer to a question whose method is known: `known` holds "method=result". False: it is not,
 * or there is no memory. */
enum { MESSAGE_REPLY_MAX = 4096 };
bool message_reply(struct buffer *to, struct span message, const struct strings *known);

/* The text result.NAME of a message without escapes; false: it has none of less than `size`. */
bool message_result(struct span message, const char *name, char *to, size_t size);

/* Calls `each` with the message, or with each object of a list of messages, until it gives false.
 */
void message_each(struct span message, bool (*each)(void *data, struct span), void *data);

#endif
