/* host.h: the functions of the program that embeds us, as a transport: a task is a call to one of
 * them, which is answered later, from any thread.
 *
 * A *door* is what all transports of a loop share: the functions, and the answers that came and
 * were not delivered yet. Called by loop.c and transports.c. */
#ifndef SKILLRT_TRANSPORT_HOST_H
#define SKILLRT_TRANSPORT_HOST_H

#include "transport/transport.h"

struct skillrt_call;
struct host_door;

struct host_function {
  const char *name;
  /* On the loop's thread, inside of a turn; may answer at once. */
  void (*call)(void *data, struct skillrt_call *);
  /* The answer is not waited for any more, but the call is still to be answered; may be NULL. */
  void (*cancel)(void *data, struct skillrt_call *);
  void *data;
  bool idempotent; /* may be called again where its outcome is unknown */
};

/* `wake` is called from any thread where an answer came; then host_door_deliver is due. */
bool host_door_open(const struct sys *, void (*wake)(void *), void *data, struct host_door **,
                    struct error *);
/* The name is copied. ERROR_EXISTS, ERROR_INVALID (no name), ERROR_MEMORY. */
bool host_door_add(struct host_door *, const struct host_function *, struct error *);
/* NULL: there is none of that name. */
const struct host_function *host_door_find(const struct host_door *, const char *name);
/* The i-th function's name; NULL behind the last. */
const char *host_door_name(const struct host_door *, size_t i);
/* Calls `done` and `progress` of the exchanges whose answers came. On the loop's thread. */
void host_door_deliver(struct host_door *);
/* Nobody is woken any more. Calls that are not answered yet live until they are. NULL is fine. */
void host_door_close(struct host_door *);

/* The transport of one run. */
bool host_open(const struct sys *, struct uv_loop_s *, struct host_door *, struct transport **,
               struct error *);

/* ---- a call, until it is answered; from any thread ---- */

const char *host_call_name(const struct skillrt_call *);
struct span host_call_input(const struct skillrt_call *); /* JSON */
const char *host_call_key(const struct skillrt_call *);   /* the same for all attempts */
void *host_call_user(const struct skillrt_call *);        /* `user` of the transport's owner */
/* Bytes for whoever watches. Lost where memory is short. */
void host_call_progress(struct skillrt_call *, struct span);
/* The one answer: the call is no more. `code`: 0 for a result, whose JSON `body` is; else it was
 * executed and failed: `body` is the failure's class. With `sent` false it was not executed. */
void host_call_answer(struct skillrt_call *, int code, bool sent, struct span body,
                      const char *message);

#endif
