/* http_events.c: parses the events of a text/event-stream reply while it arrives, joins pieces of
 * text where the task says so, and passes the events on. Runs outside libcurl's callbacks, so that
 * a listener may cancel; the body holds all bytes, and its maximum bounds the parser, too. Called
 * by http.c. */
#include "transport/http_call.h"

#include <string.h>

#include "base/sse_join.h"

static bool on_event(void *data, const struct sse_event *event) {
  struct call *call = data;
  struct exchange *exchange = call->exchange;
  bool waits = call->task->http.awaits && exchange->answered && !call->answered;
  if (waits) call->answered = exchange->answered(exchange, event->data);
  if (call->task->streams) {
    struct error e;
    buffer_reset(&call->event_id);
    buffer_append(&call->event_id, event->id.data, event->id.length, &e); /* else it has none */
  }
  if (exchange->progress && !call->task->unwatched) exchange->progress(exchange, event->data);
  return call->exchange != NULL; /* canceled: enough */
}

static bool no_event(void *data, const struct sse_event *event) {
  (void)data, (void)event;
  return true;
}

bool http_events_cut(struct call *call) {
  struct error e;
  const char *rest = call->body.data + call->fed;
  size_t size = call->body.length - call->fed;
  call->fed += size;
  return (size > 0 && !sse_feed(&call->sse, rest, size, no_event, NULL, &e)) ||
         sse_unfinished(&call->sse);
}

void http_events_reset(struct call *call) {
  sse_clear(&call->sse);
  sse_init(&call->sse, call->owner->sys, call->max_body, call->max_body);
  call->fed = call->seen = 0;
}

/* The events that are whole become fewer, in their place; what comes behind them moves up. Gives
 * how many bytes they take then. Lines that do not end by LF are left as they are. */
static size_t join_fresh(struct call *call) {
  struct buffer *body = &call->body;
  const struct strings *joins = &call->task->http.joins;
  size_t from = call->seen > call->fed ? call->seen - 1 : call->fed;
  size_t found = sse_whole(body->data + from, body->length - from);
  char *begin = body->data + call->fed;
  size_t whole = found ? from + found - call->fed : 0, rest = body->length - call->fed - whole;
  size_t kept = sse_join(begin, whole, joins->items, joins->count);
  memmove(begin + kept, begin + whole, rest);
  body->length -= whole - kept;
  call->seen = body->length;
  if (found) from = call->fed + kept;
  return kept + (memchr(body->data + from, '\r', body->length - from) ? rest : 0);
}

bool http_events_feed(struct call *call, struct outcome *outcome) {
  struct error e;
  size_t size = call->body.length - call->fed;
  if (call->task->http.joins.count > 0) size = join_fresh(call);
  const char *bytes = call->body.data + call->fed;
  call->fed += size;
  bool fed = sse_feed(&call->sse, bytes, size, on_event, call, &e);
  if (!call->exchange) return true;
  if (fed && call->task->streams) {
    buffer_drop(&call->body, call->fed);
    call->fed = call->seen = 0;
  } else if (!fed && e.code == ERROR_LIMIT) {
    http_outcome(call, outcome, REPLY_TOO_LARGE, "more than %zu bytes in an event", call->max_body);
  } else if (!fed) {
    http_outcome(call, outcome, REPLY_BROKEN, "out of memory");
  }
  return fed;
}
