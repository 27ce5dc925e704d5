/* session_message.c: see session_message.h. Knows frames and ids, no programs. */
#include "transport/session_message.h"

#include <string.h>
#include <strings.h>

#include "base/json.h"
#include "transport/transport.h"

enum { HEAD_MAX = 4096, ID_MAX = 256, DIGITS_MAX = 18 };

bool message_write(struct buffer *to, struct span message, bool framed, struct error *e) {
  if (framed)
    return buffer_format(to, e, "Content-Length: %zu\r\n\r\n", message.length) &&
           buffer_append(to, message.data, message.length, e);
  if (message.length > 0 && memchr(message.data, '\n', message.length))
    return error_set(e, ERROR_INVALID, "a message that is sent as a line holds a line break");
  return buffer_append(to, message.data, message.length, e) && buffer_byte(to, '\n', e);
}

/* ---- frames ---- */

static enum message_found next_line(const struct buffer *in, struct span *message, size_t *bytes) {
  const char *end = in->length ? memchr(in->data, '\n', in->length) : NULL;
  if (!end) return MESSAGE_NONE;
  *message = (struct span){in->data, (size_t)(end - in->data)};
  *bytes = message->length + 1;
  if (message->length > 0 && end[-1] == '\r') message->length--;
  return MESSAGE_WHOLE;
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

static enum message_found next_frame(const struct buffer *in, struct span *message, size_t *bytes) {
  static const char name[] = "Content-Length:";
  const char *at = in->data, *end = in->data + in->length;
  bool known = false;
  size_t length = 0;
  for (const char *line = at; line && (size_t)(line - at) <= HEAD_MAX;) {
    const char *stop = line < end ? memchr(line, '\n', (size_t)(end - line)) : NULL;
    if (!stop) return in->length > HEAD_MAX ? MESSAGE_BAD : MESSAGE_NONE;
    const char *last = stop > line && stop[-1] == '\r' ? stop - 1 : stop;
    if (last == line) {
      if (!known) return MESSAGE_BAD;
      size_t head = (size_t)(stop + 1 - at);
      if (in->length - head < length) return MESSAGE_NONE;
      *message = (struct span){stop + 1, length};
      *bytes = head + length;
      return MESSAGE_WHOLE;
    }
    if ((size_t)(last - line) >= sizeof name - 1 && strncasecmp(line, name, sizeof name - 1) == 0) {
      if (!read_length(line + sizeof name - 1, last, &length)) return MESSAGE_BAD;
      known = true;
    } else if (!memchr(line, ':', (size_t)(last - line))) {
      return MESSAGE_BAD;
    }
    line = stop + 1;
  }
  return MESSAGE_BAD;
}

enum message_found message_next(const struct buffer *in, bool framed, struct span *message,
                                size_t *bytes) {
  if (in->length == 0) return MESSAGE_NONE;
  return framed ? next_frame(in, message, bytes) : next_line(in, message, bytes);
}

/* ---- ids ---- */

struct id {
  enum json_token kind; /* JSON_INTEGER, JSON_STRING; JSON_NULL: none */
  int64_t integer;
  char text[ID_MAX];
  size_t length;
};

static void take_id(const struct json_reader *reader, enum json_token token, struct id *to) {
  to->kind = JSON_NULL;
  if (token == JSON_INTEGER) {
    to->kind = token;
    to->integer = reader->integer;
  } else if (token == JSON_STRING && reader->string.length <= ID_MAX) {
    to->kind = token;
    to->length = reader->string.length;
    if (reader->escaped)
      to->length = json_unescape(reader->string, to->text);
    else
      memcpy(to->text, reader->string.data, to->length);
  }
}

static bool is_key(const struct json_reader *reader, const char *name) {
  return !reader->escaped && reader->string.length == strlen(name) &&
         memcmp(reader->string.data, name, reader->string.length) == 0;
}

/* The id of a message, JSON_NULL where it has none; whether it has a method. */
static bool read_form(struct span message, struct id *to) {
  struct json_reader reader;
  enum json_token token;
  bool id_follows = false, asks = false;
  to->kind = JSON_NULL;
  json_reader_init(&reader, message, JSON_DEPTH_MAX);
  while ((token = json_next(&reader)) != JSON_END && token != JSON_ERROR) {
    if (id_follows) take_id(&reader, token, to);
    id_follows = token == JSON_KEY && reader.depth == 1 && is_key(&reader, "id");
    if (token == JSON_KEY && reader.depth == 1 && is_key(&reader, "method")) asks = true;
  }
  if (token == JSON_ERROR) to->kind = JSON_NULL;
  return asks;
}

enum message_form message_form_of(struct span message) {
  struct id id;
  bool asks = read_form(message, &id);
  return id.kind == JSON_NULL ? MESSAGE_NOTICE : asks ? MESSAGE_QUESTION : MESSAGE_ANSWER;
}

bool message_answers(struct span message, const char *id) {
  struct json_reader reader;
  struct id wanted, got;
  json_reader_init(&reader, (struct span){id, strlen(id)}, 1);
  take_id(&reader, json_next(&reader), &wanted);
  if (read_form(message, &got) || wanted.kind == JSON_NULL || got.kind != wanted.kind) return false;
  if (got.kind == JSON_INTEGER) return got.integer == wanted.integer;
  return got.length == wanted.length && memcmp(got.text, wanted.text, got.length) == 0;
}

/* ---- what is in them ---- */

static bool is_method(const char *known, struct span method) {
  return strlen(known) > method.length && memcmp(known, method.data, method.length) == 0 &&
         known[method.length] == '=';
}

bool message_reply(struct buffer *to, struct span message, const struct strings *known) {
  struct json_reader reader;
  struct span id = {0}, method = {0}, *follows = NULL;
  enum json_token token;
  struct error e;
  json_reader_init(&reader, message, JSON_DEPTH_MAX);
  while ((token = json_next(&reader)) != JSON_END && token != JSON_ERROR) {
    if (follows == &id) id = (struct span){reader.token, (size_t)(reader.at - reader.token)};
    if (follows == &method && token == JSON_STRING) method = reader.string;
    bool is_top = token == JSON_KEY && reader.depth == 1;
    follows = !is_top                     ? NULL
              : is_key(&reader, "id")     ? &id
              : is_key(&reader, "method") ? &method
                                          : NULL;
  }
  for (size_t i = 0; token == JSON_END && i < known->count; i++)
    if (is_method(known->items[i], method))
      return buffer_format(to, &e, "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":%s}",
                           (int)id.length, id.data, known->items[i] + method.length + 1);
  return false;
}

bool message_result(struct span message, const char *name, char *to, size_t size) {
  struct json_reader reader;
  enum json_token token;
  bool inside = false, found = false, has = false;
  json_reader_init(&reader, message, JSON_DEPTH_MAX);
  while ((token = json_next(&reader)) != JSON_END && token != JSON_ERROR) {
    if (found && token == JSON_STRING && !reader.escaped && reader.string.length < size) {
      memcpy(to, reader.string.data, reader.string.length);
      to[reader.string.length] = 0;
      has = true;
    }
    if (token == JSON_KEY && reader.depth == 1) inside = is_key(&reader, "result");
    found = token == JSON_KEY && reader.depth == 2 && inside && is_key(&reader, name);
  }
  return has && token == JSON_END;
}

void message_each(struct span message, bool (*each)(void *data, struct span), void *data) {
  struct json_reader reader;
  enum json_token token;
  const char *begin = NULL;
  json_reader_init(&reader, message, JSON_DEPTH_MAX);
  token = json_next(&reader);
  if (token == JSON_OBJECT) each(data, message);
  if (token != JSON_ARRAY) return;
  while ((token = json_next(&reader)) != JSON_END && token != JSON_ERROR) {
    if (token == JSON_OBJECT && reader.depth == 2) begin = reader.token;
    if (token != JSON_OBJECT_END || reader.depth != 1 || !begin) continue;
    if (!each(data, (struct span){begin, (size_t)(reader.at - begin)})) return;
    begin = NULL;
  }
}
