/* transports.h: the transports all runs of a loop share, each opened on its first task.
 *
 * Shared, because connections and handles are worth keeping between runs; an exchange
 * belongs to its run all the same, and is canceled by it. Owned by loop.c. */
#ifndef SKILLRT_ENGINE_TRANSPORTS_H
#define SKILLRT_ENGINE_TRANSPORTS_H

#include "transport/transport.h"

struct transports;

bool transports_new(const struct sys *, struct uv_loop_s *, struct transports **, struct error *);
/* The transport for tasks of `kind`; NULL with `error` filled. `http_module` is the path of
 * skillrt/http.so, looked at once; NULL: none was found. */
struct transport *transports_get(struct transports *, enum task_kind, const char *http_module,
                                 struct error *);
/* Cancels what is under way and closes all; then the loop must turn until it is empty. */
void transports_close(struct transports *);
void transports_free(struct transports *); /* after that */

#endif
