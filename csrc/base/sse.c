/* sse.c: lines into fields, fields into events; every buffer has its maximum.
 * Knows nothing of HTTP or of what events mean. Called by the HTTP transport. */
#include "base/sse.h"

#include <assert.h>
#include <string.h>

/* Who gets the events of one feed. */
struct sse_listener {
  bool (*each)(void *data, const struct sse_event *);
  void *data;
  struct error *error;
};

void sse_init(struct sse *s, const struct sys *sys, size_t line_max, size_t event_max) {
  *s = (struct sse){.line_max = line_max, .retry_ms = -1};
  buffer_init(&s->line, sys, line_max);
  buffer_init(&s->event, sys, line_max);
  buffer_init(&s->id, sys, line_max);
  buffer_init(&s->data, sys, event_max < SIZE_MAX ? event_max + 1 : event_max); /* a last LF */
}

void sse_clear(struct sse *s) {
  buffer_clear(&s->line);
  buffer_clear(&s->event);
  buffer_clear(&s->data);
  buffer_clear(&s->id);
}

static bool sse_lost(struct sse *s, struct error *e, const char *what, size_t maximum) {
  s->failed = true;
  if (e->code != ERROR_LIMIT) return error_set(e, ERROR_MEMORY, "event stream: out of memory");
  return error_set(e, ERROR_LIMIT, "event stream: %s of more than %zu bytes", what, maximum);
}

static bool sse_dispatch(struct sse *s, const struct sse_listener *to) {
  if (s->has_data) {
    static const struct span unnamed = {"message", 7};
    struct sse_event event = {
        .event = s->event.length ? buffer_span(&s->event) : unnamed,
        .data = buffer_span(&s->data),
        .id = buffer_span(&s->id),
        .retry_ms = s->retry_ms,
    };
    event.data.length--; /* the LF behind the last line */
    s->data.data[event.data.length] = '\0';
    s->stopped = !to->each(to->data, &event);
  }
  buffer_reset(&s->event);
  buffer_reset(&s->data);
  s->has_data = false;
  return true;
}

static void sse_retry(struct sse *s, struct span value) {
  int64_t ms = 0;
  for (size_t i = 0; i < value.length; i++) {
    if (value.data[i] < '0' || value.data[i] > '9') return;
    if (ms < INT64_MAX / 100) ms = ms * 10 + (value.data[i] - '0');
  }
  if (value.length) s->retry_ms = ms;
}

static bool sse_replace(struct sse *s, struct buffer *field, struct span value, struct error *e) {
  buffer_reset(field);
  return buffer_append(field, value.data, value.length, e) || sse_lost(s, e, "a line", s->line_max);
}

static bool sse_is(const char *line, size_t length, const char *name) {
  return length == strlen(name) && memcmp(line, name, length) == 0;
}

static bool sse_line(struct sse *s, const char *line, size_t length,
                     const struct sse_listener *to) {
  if (length == 0) return sse_dispatch(s, to);
  const char *colon = memchr(line, ':', length);
  size_t name = colon ? (size_t)(colon - line) : length;
  struct span value = {"", 0};
  if (colon) {
    size_t skip = name + 1 < length && colon[1] == ' ' ? 2 : 1;
    value = (struct span){line + name + skip, length - name - skip};
  }
  if (sse_is(line, name, "data")) {
    s->has_data = true;
    if (!buffer_append(&s->data, value.data, value.length, to->error) ||
        !buffer_byte(&s->data, '\n', to->error))
      return sse_lost(s, to->error, "an event", s->data.maximum - 1);
    return true;
  }
  if (sse_is(line, name, "event")) return sse_replace(s, &s->event, value, to->error);
  if (sse_is(line, name, "id") && !memchr(value.data, '\0', value.length))
    return sse_replace(s, &s->id, value, to->error);
  if (sse_is(line, name, "retry")) sse_retry(s, value);
  return true; /* comments and fields of the future */
}

static const char *sse_line_end(const char *at, const char *end) {
  while (at < end && *at != '\n' && *at != '\r')
    at++;
  return at;
}

/* Takes the rest of the current line from `at`: whole, or kept until more comes. */
static const char *sse_take(struct sse *s, const char *at, const char *end,
                            const struct sse_listener *to) {
  const char *stop = sse_line_end(at, end);
  size_t part = (size_t)(stop - at);
  if (s->line.length || stop == end || part > s->line_max) {
    if (!buffer_append(&s->line, at, part, to->error)) {
      sse_lost(s, to->error, "a line", s->line_max);
      return NULL;
    }
    if (stop == end) return end;
    at = s->line.data;
    part = s->line.length;
  }
  s->after_cr = *stop == '\r';
  bool good = sse_line(s, at, part, to);
  buffer_reset(&s->line);
  return good ? stop + 1 : NULL;
}

/* Drops a byte order mark at the very beginning, wherever the chunks are cut. */
static const char *sse_skip_bom(struct sse *s, const char *at, const char *end,
                                const struct sse_listener *to) {
  static const char bom[] = "\xEF\xBB\xBF";
  while (s->bom < 3 && at < end) {
    if (*at == bom[s->bom]) {
      s->bom++;
      at++;
      continue;
    }
    unsigned char seen = s->bom; /* it was none: its bytes begin the first line */
    s->bom = 3;
    if (!buffer_append(&s->line, bom, seen, to->error)) {
      sse_lost(s, to->error, "a line", s->line_max);
      return NULL;
    }
  }
  return at;
}

bool sse_feed(struct sse *s, const void *bytes, size_t size,
              bool (*each)(void *data, const struct sse_event *), void *data, struct error *e) {
  assert(!s->failed);
  struct error unheard;
  const struct sse_listener to = {each, data, e ? e : &unheard};
  const char *at = bytes, *end = at + size;
  if (size == 0) return true;
  at = sse_skip_bom(s, at, end, &to);
  while (at && at < end && !s->stopped) {
    if (s->after_cr && *at == '\n') at++;
    s->after_cr = false;
    if (at < end) at = sse_take(s, at, end, &to);
  }
  return at != NULL;
}

bool sse_unfinished(const struct sse *s) {
  return !s->stopped && (s->line.length || s->has_data || s->event.length);
}

int64_t sse_retry_ms(const struct sse *s) {
  return s->retry_ms;
}
