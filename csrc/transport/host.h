/* host.h: the functions of the program that embeds us, as a transport: a task is a call to one of
 * them, which is answered later, from any thread.
 *
 * All transports of a loop share a *door*: it holds the functions, and the answers that were not
 * delivered yet. Called by loop.c and transports.c. */
#ifndef SKILLRT_TRANSPORT_HOST_H
#define SKILLRT_TRANSPORT_HOST_H

#include "transport/transport.h"

struct skillrt_call;
struct host_door;

struct host_function {
  const char *name;
  /* Called on the loop's thread, inside a turn; may answer at once. */
  void (*call)(void *data, struct skillrt_call *);
  /* The run does not wait any more, but the host must still answer the call; may be NULL. */
  void (*cancel)(void *data, struct skillrt_call *);
  void *data;
  bool idempotent; /* the run may call it again where the outcome is unknown */
};

/* Any thread that answers calls `wake`; the loop then has to call host_door_deliver. */
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
/* Closes the door: `wake` is not called any more. A call lives until it is answered. NULL is fine.
 */
void host_door_close(struct host_door *);

/* The transport of one run. */
bool host_open(const struct sys *, struct uv_loop_s *, struct host_door *, struct transport **,
               struct error *);

/* ---- a call, until it is answered; from any thread ---- */

const char *host_call_name(const struct skillrt_call *);
struct span host_call_input(const struct skillrt_call *); /* JSON */
const char *host_call_key(const struct skillrt_call *);   /* the same for all attempts */
void *host_call_user(const struct skillrt_call *);        /* `user` of the transport's owner */
/* Output to display. Dropped where memory is short. */
void host_call_progress(struct skillrt_call *, struct span);
/* The one answer, which frees the call. `code` 0: it succeeded, and `body` is the result's JSON;
 * else it was executed and failed, and `body` is the failure's class. `sent` false: not executed.
 */
void host_call_answer(struct skillrt_call *, int code, bool sent, struct span body,
                      const char *message);

#endif
