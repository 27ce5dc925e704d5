/* http_events.c: hands the events of a text/event-stream reply on while it goes on.
 * Runs outside libcurl's callbacks, where a listener may cancel; the body keeps the raw bytes,
 * and their maximum bounds the parser too. Called by http.c. */
#include "transport/http_call.h"

static bool on_event(void *data, const struct sse_event *event) {
  struct call *call = data;
  struct exchange *exchange = call->exchange;
  if (exchange->progress) exchange->progress(exchange, event->data);
  return call->exchange != NULL; /* canceled: enough */
}

void http_events_reset(struct call *call) {
  sse_clear(&call->sse);
  sse_init(&call->sse, call->owner->sys, call->max_body, call->max_body);
  call->fed = 0;
}

bool http_events_feed(struct call *call) {
  struct error e;
  const char *bytes = call->body.data + call->fed;
  size_t size = call->body.length - call->fed;
  call->fed = call->body.length;
  return sse_feed(&call->sse, bytes, size, on_event, call, &e) || !call->exchange;
}
