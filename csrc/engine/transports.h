/* transports.h: a set of transports, each opened on its first task.
 *
 * The runs of a loop share one (loop.c), because connections and handles are worth keeping between
 * runs; an exchange belongs to its run all the same, and is canceled by it. What runs programs
 * ends with its run: runtime.c has a set of its own for it. */
#ifndef SKILLRT_ENGINE_TRANSPORTS_H
#define SKILLRT_ENGINE_TRANSPORTS_H

#include "transport/transport.h"

struct transports;

bool transports_new(const struct sys *, struct uv_loop_s *, struct transports **, struct error *);
/* The transport for tasks of `kind`; NULL with `error` filled. `http_module` is the path of
 * skillrt/http.so, looked at once; NULL: none was found. */
struct transport *transports_get(struct transports *, enum task_kind, const char *http_module,
                                 struct error *);
/* Of those opened from now on. */
void transports_tell(struct transports *, const struct transport_owner *);
/* Whether something canceled still has its grace. */
bool transports_ending(const struct transports *);
/* Cancels what is under way and closes all; then the loop must turn until it is empty. */
void transports_close(struct transports *);
void transports_free(struct transports *); /* after that */

#endif
