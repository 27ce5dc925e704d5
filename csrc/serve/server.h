/* server.h: HTTP/1.1 for `skillrt serve`, by libmicrohttpd: requests are taken one by one, and each
 * is answered, or followed by a stream of text.
 *
 * Waits for nothing: who owns it waits for server_fd or server_patience, and calls server_turn.
 * Knows no routes, no tokens and no runs. In the module skillrt/server.so, with a copy of the base
 * objects. Called by bind_server.c. */
#ifndef SKILLRT_SERVE_SERVER_H
#define SKILLRT_SERVE_SERVER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/sys.h"

struct MHD_Connection;
struct MHD_Response;
struct exchange;
struct server;

enum {
  SERVER_GUESTS_MAX = 256,        /* connections */
  SERVER_HEAD_MAX = 32 << 10,     /* bytes of a request line and its headers */
  SERVER_BODY_MAX = 1 << 20,      /* bytes of a request's body */
  SERVER_BEHIND_MAX = 1 << 20,    /* bytes that may wait for a stream's reader */
  SERVER_PATIENCE_MS = 30 * 1000, /* for a whole request, and for a reader that reads nothing */
};

/* Where it listens: at a path, with mode 0600; or at a port of this machine, host NULL: 127.0.0.1.
 * A socket that was left behind is replaced, one that somebody listens at is ERROR_BUSY. */
struct server_address {
  const char *path; /* NULL: host and port */
  const char *host;
  uint16_t port; /* 0: any free one */
};

bool server_open(const struct sys *, const struct server_address *, struct server **,
                 struct error *);
void server_close(struct server *); /* NULL is fine; ends all connections */
uint16_t server_port(const struct server *);
int server_fd(const struct server *);       /* readable: server_turn has work */
int server_patience(const struct server *); /* ms until server_turn has work without that */
void server_turn(struct server *);

/* The oldest request that is whole and was not taken; NULL: none. */
struct exchange *server_take(struct server *);
/* One that was taken; NULL: it has finished, or its client has gone. */
struct exchange *server_find(struct server *, uint64_t id);

/* What is known of a request until it is answered. */
uint64_t exchange_id(const struct exchange *);
const char *exchange_method(const struct exchange *);
const char *exchange_path(const struct exchange *); /* decoded, without the query */
struct span exchange_body(const struct exchange *);
struct MHD_Connection *exchange_connection(const struct exchange *);

/* Answers a request that was taken; takes the response. */
bool exchange_reply(struct exchange *, unsigned status, struct MHD_Response *);
/* The same by a stream: `headers` adds to the response that is made here. */
bool exchange_stream(struct exchange *, bool (*headers)(void *data, struct MHD_Response *),
                     void *data);
/* Bytes of a stream that its reader has not taken; what is no stream has none. */
size_t exchange_behind(const struct exchange *);
/* False: its reader is more than SERVER_BEHIND_MAX behind and was dropped; or it is no stream. */
bool exchange_push(struct exchange *, struct span text);
void exchange_finish(struct exchange *); /* ends a stream when what waits was read */

#endif
