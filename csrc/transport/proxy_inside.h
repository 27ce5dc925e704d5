/* proxy_inside.h: a proxy's own parts. Included by proxy*.c and their test only. */
#ifndef SKILLRT_TRANSPORT_PROXY_INSIDE_H
#define SKILLRT_TRANSPORT_PROXY_INSIDE_H

#include <sys/socket.h>
#include <uv.h>

#include "transport/proxy.h"

enum {
  PROXY_NAME = 256,
  PROXY_PLACES = 128,
  PROXY_LISTENERS = 16,
  PROXY_LINKS = 64, /* at once; others wait until one of them is over */
  PROXY_HEAD = 16 << 10,
  PROXY_ANSWER = PROXY_HEAD + 512,
  PROXY_REFUSED = 512
};

/* ---- proxy_list.c: places, and which of them may be reached ---- */

/* A name in small letters, or an address in digits; of a list also "*.name" and "*". */
struct proxy_place {
  char name[PROXY_NAME];
  int port;
};

struct proxy_list {
  size_t count;
  struct proxy_place places[PROXY_PLACES];
};

/* "name:port", "[address]:port"; without a port `otherwise`, 0: it needs one. */
bool proxy_place_read(const char *text, size_t length, int otherwise, struct proxy_place *);
/* Also the name of a list of ours: "registries". */
bool proxy_list_add(struct proxy_list *, const char *text, struct error *);
bool proxy_list_grants(const struct proxy_list *, const struct proxy_place *);
/* Whether this place may be at this address. */
bool proxy_list_grants_address(const struct proxy_list *, const struct proxy_place *,
                               const struct sockaddr *);
/* Whether it is this machine itself, by its own name or address. */
bool proxy_place_is_here(const struct proxy_place *);

/* ---- proxy_head.c: the head of a request ---- */

struct proxy_head {
  struct proxy_place to;
  bool tunnel;          /* CONNECT */
  size_t length;        /* of what was read */
  size_t answer_length; /* of what is sent on */
  char answer[PROXY_ANSWER];
};

enum proxy_read { PROXY_MORE, PROXY_WHOLE, PROXY_BAD };
enum proxy_read proxy_head_read(const char *bytes, size_t length, struct proxy_head *);

/* ---- proxy_link.c: a connection ----
 *
 *   state       entered by                        left by
 *   READING     a program connected               its head is whole; 30 s; nonsense: REFUSED
 *   LOOKING     its place is granted              the name is found, or not
 *   CONNECTING  an address is granted             connected; the last of them failed: REFUSED
 *   OPEN        connected                         both have ended; an error; 15 min of silence
 *   REFUSED     an answer that says why           it was read, or 2 s
 *   GONE        its handles are closed            the loop has closed them: freed
 */
enum link_state { LINK_READING, LINK_LOOKING, LINK_CONNECTING, LINK_OPEN, LINK_REFUSED, LINK_GONE };

struct side {
  struct proxy_link *link;
  uv_tcp_t tcp;
  uv_write_t write;       /* of what the other said */
  uv_shutdown_t shutdown; /* ... when that has ended */
  bool begun, ended;      /* it has a handle; it says no more */
  size_t length;
  char bytes[PROXY_HEAD];
};

struct proxy_link {
  struct proxy *proxy;
  struct proxy_link *next, **at;
  enum link_state state;
  struct side client, server;
  uv_timer_t timer;
  uv_connect_t connect;
  uv_getaddrinfo_t lookup;
  struct addrinfo *found, *left; /* all, and those that were not tried yet */
  unsigned pending;              /* handles and lookups that libuv has */
  struct proxy_head head;
};

/* `to` NULL: its head says where. False: no memory, or it is gone already. */
bool proxy_link_begin(struct proxy *, uv_stream_t *listener, const struct proxy_place *to);
void proxy_link_end(struct proxy_link *);

/* ---- proxy.c ---- */

struct listener {
  uv_tcp_t tcp;
  struct proxy *proxy;
  struct proxy_place to; /* no name: the proxy's own */
  bool waiting;          /* a connection is held back, as there are enough */
};

struct proxy {
  const struct sys *sys;
  uv_loop_t *loop;
  struct proxy_list list;
  struct listener listeners[PROXY_LISTENERS];
  size_t count, links;
  struct proxy_link *first;
  unsigned living; /* handles and links that libuv has, and our owner */
  bool closed;
  char refused[PROXY_REFUSED];
};

void proxy_refuse(struct proxy *, const struct proxy_place *);
void proxy_link_gone(struct proxy *);
/* One of its parts is no more. */
void proxy_release(struct proxy *);

#endif
