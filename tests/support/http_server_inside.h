/* http_server_inside.h: one request, between http_server.c (sockets, threads, counting) and
 * http_replies.c (what each path answers). */
#ifndef SKILLRT_TESTS_HTTP_SERVER_INSIDE_H
#define SKILLRT_TESTS_HTTP_SERVER_INSIDE_H

#include <stdbool.h>
#include <stddef.h>

#include "support/http_server.h"

struct request {
  struct http_server *server;
  int fd;
  int number;       /* of the request, from 1 */
  char head[16384]; /* request line and headers */
  char path[8192];  /* without the query */
  char query[4096]; /* behind the '?' */
  char method[16];
  char *body; /* owned by the caller */
  size_t body_length;
};

/* Answers; false: the connection is to be closed. */
bool http_reply(struct request *);

/* In http_mcp.c. */
bool http_mcp(struct request *);
/* Whether it is the standing request of a session, or its end, where a plan says what is answered:
 * neither counted nor planned. */
bool http_is_aside(const struct request *);

/* In http_server.c. */
bool http_send(struct request *, const char *bytes, size_t length);
void http_pause(struct request *, int ms); /* ends early when the server stops */
bool http_reset_connection(struct request *);
/* The n-th line of the plan, or its last; false: there is none. */
bool http_plan(struct request *, char *to, size_t size);
/* Percent-decodes `from` in place of `to`. */
void http_decode(const char *from, char *to, size_t size);
/* The value of name= in the query, decoded; "" if absent. */
const char *http_query(const struct request *, const char *name, char *to, size_t size);
long http_query_number(const struct request *, const char *name, long otherwise);

#endif
