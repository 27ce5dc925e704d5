/* http_address.c: see http_address.h. All addresses are looked at as 16 bytes, those of IPv4 as
 * ::ffff:a.b.c.d, which are judged as what they stand for. */
#include "transport/http_address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct network {
  const char *address;
  int bits;
};

/* Of IPv4: what is no host of the public internet. */
static const struct network special4[] = {
    {"0.0.0.0", 8},      {"10.0.0.0", 8},     {"100.64.0.0", 10}, {"127.0.0.0", 8},
    {"169.254.0.0", 16}, {"172.16.0.0", 12},  {"192.0.0.0", 24},  {"192.0.2.0", 24},
    {"192.88.99.0", 24}, {"192.168.0.0", 16}, {"198.18.0.0", 15}, {"198.51.100.0", 24},
    {"203.0.113.0", 24}, {"224.0.0.0", 4},    {"240.0.0.0", 4}};
/* Of IPv6: what is none among the global ones (2000::/3), and what leads to other networks. */
static const struct network special6[] = {
    {"2001::", 23}, {"2001:db8::", 32}, {"2002::", 16}, {"3fff::", 20}};
static const struct network global6 = {"2000::", 3}, mapped = {"::ffff:0:0", 96};

static bool read_address(const char *text, unsigned char to[16]) {
  struct in_addr four;
  if (inet_pton(AF_INET, text, &four) == 1) {
    memset(to, 0, 10);
    memset(to + 10, 0xff, 2);
    memcpy(to + 12, &four, 4);
    return true;
  }
  return inet_pton(AF_INET6, text, to) == 1;
}

static bool is_in(const unsigned char at[16], const struct network *net) {
  unsigned char base[16];
  if (!read_address(net->address, base)) return false;
  int bits = net->bits + (strchr(net->address, ':') ? 0 : 96);
  int whole = bits / 8, rest = bits % 8;
  if (memcmp(at, base, (size_t)whole) != 0) return false;
  return rest == 0 || ((at[whole] ^ base[whole]) >> (8 - rest)) == 0;
}

static bool is_public(const unsigned char at[16]) {
  if (is_in(at, &mapped)) {
    for (size_t i = 0; i < sizeof special4 / sizeof *special4; i++)
      if (is_in(at, &special4[i])) return false;
    return true;
  }
  for (size_t i = 0; i < sizeof special6 / sizeof *special6; i++)
    if (is_in(at, &special6[i])) return false;
  return is_in(at, &global6);
}

/* Whether a word of a policy, "address/bits" or an address, holds it. */
static bool word_allows(const char *word, size_t length, const unsigned char at[16]) {
  char text[64];
  if (length >= sizeof text) return false;
  memcpy(text, word, length);
  text[length] = 0;
  if (strcmp(text, "public") == 0) return is_public(at);
  char *slash = strchr(text, '/'), *end = NULL;
  if (slash) *slash = 0;
  int most = strchr(text, ':') ? 128 : 32;
  long bits = slash ? strtol(slash + 1, &end, 10) : most;
  if (slash && (end == slash + 1 || *end || bits < 0 || bits > most)) return false;
  struct network net = {text, (int)bits};
  return is_in(at, &net);
}

static bool allows(const char *policy, const unsigned char at[16]) {
  for (const char *word = policy; *word;) {
    size_t length = strcspn(word, " ");
    if (word_allows(word, length, at)) return true;
    word += length + strspn(word + length, " ");
  }
  return false;
}

bool http_address_text_allowed(const char *policy, const char *address) {
  unsigned char at[16];
  char digits[64]; /* without a zone: fe80::1%eth0 */
  snprintf(digits, sizeof digits, "%.*s", (int)strcspn(address, "%"), address);
  return read_address(digits, at) && allows(policy, at);
}

void http_address_text(const struct sockaddr *at, char *to, size_t room) {
  const void *from = NULL;
  struct sockaddr_in four;
  struct sockaddr_in6 six;
  if (at->sa_family == AF_INET) {
    memcpy(&four, at, sizeof four);
    from = &four.sin_addr;
  } else if (at->sa_family == AF_INET6) {
    memcpy(&six, at, sizeof six);
    from = &six.sin6_addr;
  }
  if (!from || !inet_ntop(at->sa_family, from, to, (socklen_t)room)) snprintf(to, room, "?");
}

bool http_address_allowed(const char *policy, const struct sockaddr *at) {
  char text[64];
  http_address_text(at, text, sizeof text);
  return http_address_text_allowed(policy, text);
}
