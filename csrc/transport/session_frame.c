/* session_frame.c: see session_frame.h. Knows frames, not what is in them, and no programs. */
#include "transport/session_frame.h"

#include <string.h>
#include <strings.h>

enum { HEAD_MAX = 4096, DIGITS_MAX = 18 };

bool frame_write(struct buffer *to, struct span message, bool framed, struct error *e) {
  if (framed)
    return buffer_format(to, e, "Content-Length: %zu\r\n\r\n", message.length) &&
           buffer_append(to, message.data, message.length, e);
  if (message.length > 0 && memchr(message.data, '\n', message.length))
    return error_set(e, ERROR_INVALID, "a message that is sent as a line holds a line break");
  return buffer_append(to, message.data, message.length, e) && buffer_byte(to, '\n', e);
}

static enum frame_found next_line(const struct buffer *in, struct span *message, size_t *bytes) {
  const char *end = in->length ? memchr(in->data, '\n', in->length) : NULL;
  if (!end) return FRAME_NONE;
  *message = (struct span){in->data, (size_t)(end - in->data)};
  *bytes = message->length + 1;
  if (message->length > 0 && end[-1] == '\r') message->length--;
  return FRAME_WHOLE;
}

static bool read_length(const char *at, const char *end, size_t *length) {
  int digits = 0;
  *length = 0;
  while (at < end && (*at == ' ' || *at == '\t'))
    at++;
  for (; at < end && *at >= '0' && *at <= '9' && digits < DIGITS_MAX; at++, digits++)
    *length = *length * 10 + (size_t)(*at - '0');
  return digits > 0 && at == end;
}

static enum frame_found next_frame(const struct buffer *in, struct span *message, size_t *bytes) {
  static const char name[] = "Content-Length:";
  const char *at = in->data, *end = in->data + in->length;
  bool known = false;
  size_t length = 0;
  for (const char *line = at; line && (size_t)(line - at) <= HEAD_MAX;) {
    const char *stop = line < end ? memchr(line, '\n', (size_t)(end - line)) : NULL;
    if (!stop) return in->length > HEAD_MAX ? FRAME_BAD : FRAME_NONE;
    const char *last = stop > line && stop[-1] == '\r' ? stop - 1 : stop;
    if (last == line) {
      if (!known) return FRAME_BAD;
      size_t head = (size_t)(stop + 1 - at);
      if (in->length - head < length) return FRAME_NONE;
      *message = (struct span){stop + 1, length};
      *bytes = head + length;
      return FRAME_WHOLE;
    }
    if ((size_t)(last - line) >= sizeof name - 1 && strncasecmp(line, name, sizeof name - 1) == 0) {
      if (!read_length(line + sizeof name - 1, last, &length)) return FRAME_BAD;
      known = true;
    } else if (!memchr(line, ':', (size_t)(last - line))) {
      return FRAME_BAD;
    }
    line = stop + 1;
  }
  return FRAME_BAD;
}

enum frame_found frame_next(const struct buffer *in, bool framed, struct span *message,
                            size_t *bytes) {
  if (in->length == 0) return FRAME_NONE;
  return framed ? next_frame(in, message, bytes) : next_line(in, message, bytes);
}
