/* sse.h: Server-Sent Events (WHATWG HTML, 9.2) from bytes as they arrive.
 *
 * Feed chunks cut anywhere; complete events come back through a function. The parser does
 * not judge the encoding of the values: whoever decodes the data does. */
#ifndef SKILLRT_BASE_SSE_H
#define SKILLRT_BASE_SSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"

struct sse_event {   /* valid during the call only */
  struct span event; /* "message" if the stream did not name one */
  struct span data;  /* the lines joined by LF */
  struct span id;    /* the last one seen in the stream, "" if none */
  int64_t retry_ms;  /* the last one seen in the stream, -1 if none */
};

struct sse { /* init, feed, clear; look at nothing else */
  struct buffer line, event, data, id;
  size_t line_max;
  int64_t retry_ms;
  unsigned char bom; /* bytes of a byte order mark seen; 3 once that is settled */
  bool after_cr, has_data, stopped, failed;
};

/* `line_max`: bytes of a line, its end not counted. `event_max`: bytes of an event's data. */
void sse_init(struct sse *, const struct sys *, size_t line_max, size_t event_max);
void sse_clear(struct sse *);
/* Calls `each` for every event that these bytes complete; `each` returning false means enough:
 * what else is fed is ignored. False at a limit or without memory: the stream is lost, and only
 * sse_clear is left. */
bool sse_feed(struct sse *, const void *bytes, size_t size,
              bool (*each)(void *data, const struct sse_event *), void *data, struct error *);
/* Did the bytes so far end inside an event? Such an event is not passed on: the stream was cut. */
bool sse_unfinished(const struct sse *);
/* How long the stream wants one to wait who comes again; -1: it has not said. */
int64_t sse_retry_ms(const struct sse *);

#endif
