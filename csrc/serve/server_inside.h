/* server_inside.h: what server.c and exchange.c share, and no other file includes. */
#ifndef SKILLRT_SERVE_SERVER_INSIDE_H
#define SKILLRT_SERVE_SERVER_INSIDE_H

#include <microhttpd.h>

#include "serve/server.h"

/* An exchange's way. In ASKED, TAKEN, and in STREAMING while nothing waits for its reader, its
 * connection is suspended: libmicrohttpd leaves it alone, and does not see its client go.
 *
 *   from               when                                            to
 *   READING            its body is longer than allowed: 413            ANSWERED
 *   READING            it is whole                                     ASKED
 *   READING            30 s have passed                                (gone)
 *   ASKED              server_take                                     TAKEN
 *   TAKEN              exchange_reply                                  ANSWERED
 *   TAKEN              exchange_stream                                 STREAMING
 *   STREAMING          exchange_finish; its client closed              ENDING
 *   STREAMING          exchange_push, and its reader is too far behind ENDING, its socket is shut
 *   ANSWERED, ENDING   all was sent, or cannot be                      (gone)
 *   any                its connection ends, or the server              (gone) */
enum exchange_state {
  EXCHANGE_READING,
  EXCHANGE_ASKED,
  EXCHANGE_TAKEN,
  EXCHANGE_ANSWERED,
  EXCHANGE_STREAMING,
  EXCHANGE_ENDING
};

/* A connection. */
struct guest {
  int fd;
  bool waits_for_us; /* a whole request is there and is not answered */
  bool shut;
  int64_t since_ms; /* when it came, or when its last exchange was over */
  struct guest *next, *previous;
};

struct exchange {
  struct server *server;
  struct guest *guest;
  struct MHD_Connection *connection;
  uint64_t id;
  enum exchange_state state;
  bool suspended;
  char *method, *path;
  struct buffer body; /* of the request; of a stream what was not read, from `sent` on */
  size_t sent;
  struct MHD_Response *response; /* NULL: none yet, or it was handed over */
  unsigned status;
  struct exchange *next, *previous; /* in the order in which they came */
};

struct server {
  const struct sys *sys;
  struct MHD_Daemon *daemon;
  int listener;
  uint16_t port;
  char *path; /* NULL: no socket of ours lies in the file system */
  struct sys_stat socket;
  struct guest *guests;
  struct exchange *first, *last;
  uint64_t ids;
  int64_t looked_ms; /* when streams were last asked whether their clients are there */
  bool again;        /* the next turn has work, though no descriptor is ready */
  bool closing;
};

int64_t server_now_ms(const struct server *);
/* Makes sure that libmicrohttpd sees an end there. */
void guest_shut(struct guest *);

/* What libmicrohttpd calls. */
enum MHD_Result exchange_handle(void *server, struct MHD_Connection *, const char *url,
                                const char *method, const char *version, const char *upload,
                                size_t *upload_size, void **exchange);
void exchange_completed(void *server, struct MHD_Connection *, void **exchange,
                        enum MHD_RequestTerminationCode);
void exchange_resume(struct exchange *);
/* Ends a stream whose client has closed. */
void exchange_look(struct exchange *);

#endif
