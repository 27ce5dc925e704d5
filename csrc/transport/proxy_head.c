/* proxy_head.c: reads the head of a request to a proxy, strictly, and makes that which is sent on:
 * "CONNECT name:port", or a request with a whole http:// URL. Where it goes says its first line and
 * nothing else: the Host that is sent on is made of it. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "transport/proxy_inside.h"

enum { PORT_OF_HTTP = 80 };

/* Of a connection, not of a request; and what is meant for us. */
static const char *const dropped[] = {
    "host",    "connection",          "keep-alive",       "te", "trailer",
    "upgrade", "proxy-authorization", "proxy-connection", NULL};

static bool is_token(const char *text, size_t length) {
  static const char others[] = "!#$%&'*+-.^_`|~";
  for (size_t i = 0; i < length; i++) {
    unsigned char c = (unsigned char)text[i];
    bool plain = (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z');
    if (!plain && !memchr(others, c, sizeof others - 1)) return false;
  }
  return length > 0;
}

static bool is_plain(const char *text, size_t length) {
  for (size_t i = 0; i < length; i++)
    if ((unsigned char)text[i] < 32 && text[i] != '\t') return false;
  return true;
}

static void put(struct proxy_head *head, const char *text, size_t length) {
  size_t room = sizeof head->answer - head->answer_length;
  if (length > room) length = room; /* cannot be: no head grows by more than it may */
  memcpy(head->answer + head->answer_length, text, length);
  head->answer_length += length;
}

/* "http://name:port/path" becomes a place, and "/path". */
static bool read_url(const char *url, size_t length, const char *method, size_t method_length,
                     struct proxy_head *head) {
  static const char scheme[] = "http://";
  size_t begin = sizeof scheme - 1, end = begin;
  if (length <= begin || strncasecmp(url, scheme, begin) != 0) return false;
  while (end < length && !strchr("/?#", url[end]))
    end++;
  if (!proxy_place_read(url + begin, end - begin, PORT_OF_HTTP, &head->to)) return false;
  put(head, method, method_length);
  put(head, " ", 1);
  if (end == length || url[end] != '/') put(head, "/", 1);
  put(head, url + end, length - end);
  put(head, " HTTP/1.1\r\nHost: ", 17);
  put(head, url + begin, end - begin);
  put(head, "\r\nConnection: close\r\n", 21);
  return true;
}

static bool read_first(const char *line, size_t length, struct proxy_head *head) {
  const char *url = memchr(line, ' ', length), *end = line + length;
  const char *version = url ? memchr(url + 1, ' ', (size_t)(end - url) - 1) : NULL;
  if (!version || !is_token(line, (size_t)(url - line))) return false;
  bool known = end - version == 9 &&
               (memcmp(version, " HTTP/1.1", 9) == 0 || memcmp(version, " HTTP/1.0", 9) == 0);
  size_t method = (size_t)(url - line), place = (size_t)(version - url) - 1;
  if (!known) return false;
  head->tunnel = method == 7 && memcmp(line, "CONNECT", 7) == 0;
  if (head->tunnel) return proxy_place_read(url + 1, place, 0, &head->to);
  return read_url(url + 1, place, line, method, head);
}

static bool read_field(const char *line, size_t length, struct proxy_head *head) {
  const char *colon = memchr(line, ':', length);
  size_t name = colon ? (size_t)(colon - line) : 0;
  if (!is_token(line, name)) return false;
  for (const char *const *one = dropped; *one; one++)
    if (strlen(*one) == name && strncasecmp(line, *one, name) == 0) return true;
  if (head->tunnel) return true;
  put(head, line, length);
  put(head, "\r\n", 2);
  return true;
}

enum proxy_read proxy_head_read(const char *bytes, size_t length, struct proxy_head *head) {
  const char *end = memmem(bytes, length, "\r\n\r\n", 4);
  if (!end) return length < PROXY_HEAD ? PROXY_MORE : PROXY_BAD;
  head->answer_length = 0;
  head->length = (size_t)(end - bytes) + 4;
  end += 2; /* behind the last line */
  bool is_first = true;
  for (const char *line = bytes; line < end; is_first = false) {
    const char *stop = memmem(line, (size_t)(end - line), "\r\n", 2);
    size_t size = (size_t)(stop - line);
    bool fine = is_plain(line, size) &&
                (is_first ? read_first(line, size, head) : read_field(line, size, head));
    if (!fine) return PROXY_BAD;
    line = stop + 2;
  }
  if (!head->tunnel) put(head, "\r\n", 2);
  return PROXY_WHOLE;
}
