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
  PROXY_LINKS = 64, /* at once; others wait until one of them has ended */
  PROXY_HEAD = 16 << 10,
  PROXY_ANSWER = PROXY_HEAD + 512,
  PROXY_REFUSED = 512,
  PROXY_KEYS = 8,
  PROXY_HEADER = 2048,
  PROXY_ADDRESSES = 4096,
  PROXY_BODY = 16 << 20,
  PROXY_ASKED = 8 /* requests with a header of ours at once */
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
/* "name:port", with brackets where it needs them. */
void proxy_place_text(const struct proxy_place *, char *to, size_t room);
bool proxy_place_is_address(const struct proxy_place *);
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
 *   READING     a program connected               its head is whole; 30 s; nonsense: ANSWERED
 *   LOOKING     its place is granted              the name is found, or not
 *   CONNECTING  an address is granted             connected; the last of them failed: ANSWERED
 *   OPEN        connected                         both have ended; an error; 15 min of silence
 *   BODY        its place has a header of ours    its body is whole; 30 s of silence
 *   ASKED       its body is whole                 it was answered
 *   ANSWERED    an answer of ours                 it was read, or 2 s (of a whole one 30 s)
 *   GONE        its handles are closed            the loop has closed them: freed
 */
enum link_state {
  LINK_READING,
  LINK_LOOKING,
  LINK_CONNECTING,
  LINK_OPEN,
  LINK_BODY,
  LINK_ASKED,
  LINK_ANSWERED,
  LINK_GONE
};

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
  struct proxy_request *request; /* to a place that has a header of ours; else NULL */
  struct proxy_head head;
};

/* `to` NULL: its head says where. False: no memory, or it is gone already. */
bool proxy_link_begin(struct proxy *, uv_stream_t *listener, const struct proxy_place *to);
void proxy_link_end(struct proxy_link *);
/* Its request was answered; `why`: it was not, NULL: as request->answer says. */
void proxy_link_answered(struct proxy_link *, const char *why);

/* ---- proxy_request.c: a request to which a header of ours is added ---- */

struct proxy_key {
  struct proxy_place to;
  char header[PROXY_HEADER]; /* "Name: value" */
};

struct proxy_request {
  struct proxy_link *link;
  const struct proxy_key *key;
  struct transport *http; /* NULL: it was not sent */
  struct task task;
  struct exchange exchange;
  bool has_length;
  size_t left; /* of its body */
  struct buffer answer;
};

/* "PLACE Name: value"; the place is granted with it. */
bool proxy_key_add(struct proxy *, const char *text, struct error *);
const struct proxy_key *proxy_key_of(const struct proxy *, const struct proxy_place *);
/* Of the head of a link; NULL: the error is an HTTP status. */
struct proxy_request *proxy_request_begin(struct proxy_link *, const struct proxy_key *,
                                          struct error *);
/* More of its body. False: no memory. */
bool proxy_request_take(struct proxy_request *, const char *bytes, size_t length);
bool proxy_request_send(struct proxy_request *, struct error *);
void proxy_request_cancel(struct proxy_request *);
void proxy_request_free(struct proxy_request **);

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
  const struct transport_owner *owner; /* who sends HTTP */
  struct proxy_list list;
  struct proxy_key keys[PROXY_KEYS];
  char ca_file[PROXY_ADDRESSES]; /* trusted for these; "": the system's */
  size_t key_count, asked;
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
