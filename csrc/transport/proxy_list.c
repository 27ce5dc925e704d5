/* proxy_list.c: places by name and port, and which of them a program may reach: see
 * proxy_inside.h. */
#include <arpa/inet.h>
#include <ctype.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "transport/http_address.h"
#include "transport/proxy_inside.h"

enum { PORT_OF_HTTPS = 443 };

/* Where packages and sources are got from. */
static const char *const registries[] = {"registry.npmjs.org:443",
                                         "registry.yarnpkg.com:443",
                                         "pypi.org:443",
                                         "files.pythonhosted.org:443",
                                         "index.crates.io:443",
                                         "static.crates.io:443",
                                         "crates.io:443",
                                         "proxy.golang.org:443",
                                         "sum.golang.org:443",
                                         "rubygems.org:443",
                                         "index.rubygems.org:443",
                                         "repo.maven.apache.org:443",
                                         "repo1.maven.org:443",
                                         "luarocks.org:443",
                                         "github.com:443",
                                         "api.github.com:443",
                                         "codeload.github.com:443",
                                         "*.githubusercontent.com:443",
                                         "gitlab.com:443",
                                         "deb.debian.org:80",
                                         "deb.debian.org:443",
                                         "security.debian.org:80",
                                         NULL};

static bool read_port(const char *text, size_t length, int *to) {
  long port = 0;
  if (length == 0 || length > 5) return false;
  for (size_t i = 0; i < length; i++) {
    if (text[i] < '0' || text[i] > '9') return false;
    port = port * 10 + (text[i] - '0');
  }
  *to = (int)port;
  return port > 0 && port < 65536;
}

/* Between brackets, in the one way to write it. */
static bool read_six(const char *text, size_t length, char to[PROXY_NAME]) {
  struct in6_addr six;
  char digits[64];
  if (length >= sizeof digits) return false;
  memcpy(digits, text, length);
  digits[length] = 0;
  return inet_pton(AF_INET6, digits, &six) == 1 && inet_ntop(AF_INET6, &six, to, PROXY_NAME);
}

static bool read_name(const char *text, size_t length, char to[PROXY_NAME]) {
  if (length > 1 && text[length - 1] == '.') length--; /* the same name */
  if (length == 0 || length >= PROXY_NAME || text[0] == '.' || text[0] == '-') return false;
  for (size_t i = 0; i < length; i++) {
    unsigned char c = (unsigned char)text[i];
    if (c > 127 || (!isalnum(c) && c != '.' && c != '-' && c != '_')) return false;
    to[i] = (char)tolower(c);
  }
  to[length] = 0;
  return true;
}

bool proxy_place_read(const char *text, size_t length, int otherwise, struct proxy_place *to) {
  const char *behind = text, *end = text + length;
  *to = (struct proxy_place){.port = otherwise};
  if (length > 0 && text[0] == '[') {
    const char *closing = memchr(text, ']', length);
    if (!closing || !read_six(text + 1, (size_t)(closing - text) - 1, to->name)) return false;
    behind = closing + 1;
  } else {
    behind = memchr(text, ':', length);
    if (!behind) behind = end;
    if (!read_name(text, (size_t)(behind - text), to->name)) return false;
  }
  if (behind == end) return otherwise > 0;
  return *behind == ':' && read_port(behind + 1, (size_t)(end - behind) - 1, &to->port);
}

bool proxy_list_add(struct proxy_list *list, const char *text, struct error *e) {
  if (strcmp(text, "registries") == 0) {
    for (const char *const *one = registries; *one; one++)
      if (!proxy_list_add(list, *one, e)) return false;
    return true;
  }
  if (list->count == PROXY_PLACES)
    return error_set(e, ERROR_LIMIT, "sandbox: more than %d places in network", (int)PROXY_PLACES);
  struct proxy_place *place = &list->places[list->count];
  const char *name = text;
  size_t stars = strncmp(text, "*.", 2) == 0 ? 2 : strncmp(text, "*:", 2) == 0 ? 1 : 0;
  if (strcmp(text, "*") == 0) stars = 1;
  char whole[PROXY_NAME + 16];
  if (stars == 1) { /* all names: read as one, and put back */
    snprintf(whole, sizeof whole, "all%.20s", text + 1);
    name = whole;
  } else {
    name += stars;
  }
  if (!proxy_place_read(name, strlen(name), PORT_OF_HTTPS, place))
    return error_set(e, ERROR_INVALID,
                     "sandbox: network: \"%.200s\" is not a place; write NAME:PORT, *.NAME:PORT, "
                     "ADDRESS:PORT or registries",
                     text);
  if (stars == 1) snprintf(place->name, sizeof place->name, "*");
  if (stars == 2) {
    memmove(place->name + 2, place->name, PROXY_NAME - 2);
    memcpy(place->name, "*.", 2);
    place->name[PROXY_NAME - 1] = 0;
  }
  list->count++;
  return true;
}

bool proxy_place_is_address(const struct proxy_place *place) {
  unsigned char bytes[16];
  return inet_pton(AF_INET, place->name, bytes) == 1 ||
         inet_pton(AF_INET6, place->name, bytes) == 1;
}

void proxy_place_text(const struct proxy_place *place, char *to, size_t room) {
  bool six = strchr(place->name, ':') != NULL;
  snprintf(to, room, "%s%s%s:%d", six ? "[" : "", place->name, six ? "]" : "", place->port);
}

/* A star stands for names alone: an address has to be listed by itself. */
static bool holds(const struct proxy_place *entry, const struct proxy_place *place) {
  if (entry->port != place->port) return false;
  if (entry->name[0] != '*') return strcmp(entry->name, place->name) == 0;
  size_t end = strlen(entry->name) - 1, length = strlen(place->name);
  if (proxy_place_is_address(place)) return false;
  return end == 0 || (length > end && strcmp(place->name + length - end, entry->name + 1) == 0);
}

bool proxy_list_grants(const struct proxy_list *list, const struct proxy_place *place) {
  for (size_t i = 0; i < list->count; i++)
    if (holds(&list->places[i], place)) return true;
  return false;
}

bool proxy_place_is_here(const struct proxy_place *place) {
  return strcmp(place->name, "localhost") == 0 ||
         http_address_text_allowed("127.0.0.0/8 ::1", place->name);
}

bool proxy_list_grants_address(const struct proxy_list *list, const struct proxy_place *place,
                               const struct sockaddr *at) {
  struct proxy_place itself = {.port = place->port};
  if (http_address_allowed("public", at)) return true;
  if (strcmp(place->name, "localhost") == 0 && http_address_allowed("127.0.0.1 ::1", at))
    return true;
  http_address_text(at, itself.name, sizeof itself.name);
  return proxy_list_grants(list, &itself);
}
