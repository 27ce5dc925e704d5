/* messages.h: messages of sessions as tests of the transport read them: an id as it stands in the
 * text is the key; "ping" is answered at once; an answer with "refused" refuses the session. What
 * skillrt reads says lua/skillrt/run/message.lua. */
#ifndef SKILLRT_TESTS_SUPPORT_MESSAGES_H
#define SKILLRT_TESTS_SUPPORT_MESSAGES_H

#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "support/check.h"
#include "transport/transport.h"

static bool is_key(const struct json_reader *reader, const char *name) {
  return reader->string.length == strlen(name) &&
         memcmp(reader->string.data, name, reader->string.length) == 0;
}

static void read_list(struct message *m) {
  struct json_reader reader;
  struct error e;
  enum json_token token;
  const char *begin = NULL;
  json_reader_init(&reader, m->text, JSON_DEPTH_MAX);
  while ((token = json_next(&reader)) != JSON_END && token != JSON_ERROR) {
    if (token == JSON_OBJECT && reader.depth == 2) begin = reader.token;
    if (token != JSON_OBJECT_END || reader.depth != 1 || !begin) continue;
    strings_add(&m->parts, m->sys, begin, (size_t)(reader.at - begin), &e);
  }
}

static void read_message(void *data, const char *session, bool opens, struct message *m) {
  struct json_reader reader;
  struct error e;
  enum json_token token;
  bool id_follows = false, asks = false, pings = false, method_follows = false;
  (void)data, (void)session;
  json_reader_init(&reader, m->text, JSON_DEPTH_MAX);
  token = json_next(&reader);
  if (token != JSON_OBJECT) {
    m->form = MESSAGE_LIST;
    if (token == JSON_ARRAY) read_list(m);
    return;
  }
  while ((token = json_next(&reader)) != JSON_END && token != JSON_ERROR) {
    if (id_follows)
      snprintf(m->key, sizeof m->key, "%.*s", (int)(reader.at - reader.token), reader.token);
    if (method_follows) pings = is_key(&reader, "ping");
    id_follows = token == JSON_KEY && reader.depth == 1 && is_key(&reader, "id");
    method_follows = token == JSON_KEY && reader.depth == 1 && is_key(&reader, "method");
    asks = asks || method_follows;
  }
  if (!*m->key || token == JSON_ERROR) return;
  m->form = asks ? MESSAGE_QUESTION : MESSAGE_ANSWER;
  if (asks && pings) buffer_format(&m->reply, &e, "{\"id\":%s,\"result\":{}}", m->key);
  if (!asks && opens) strings_add(&m->parts, m->sys, "X-Version: 7", 12, &e);
}

#endif
