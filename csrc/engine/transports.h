/* transports.h: a set of transports, each opened on its first task.
 *
 * The runs of a loop share one set (loop.c), so that connections are reused between runs; each
 * exchange still belongs to its run, which cancels it. The transports that run programs end with
 * their run: runtime.c has a set of its own for them. */
#ifndef SKILLRT_ENGINE_TRANSPORTS_H
#define SKILLRT_ENGINE_TRANSPORTS_H

#include "transport/transport.h"

struct transports;

bool transports_new(const struct sys *, struct uv_loop_s *, struct transports **, struct error *);
/* The transport for tasks of `kind`; NULL with `error` filled. `http_module` is the path of
 * skillrt/http.so, looked at once; NULL: none was found. */
struct transport *transports_get(struct transports *, enum task_kind, const char *http_module,
                                 struct error *);
/* For transports opened from now on. */
void transports_tell(struct transports *, const struct transport_owner *);
/* Whether a canceled program still has time to end by itself. */
bool transports_ending(const struct transports *);
/* Cancels all exchanges and closes the transports; then the loop must turn until it is empty. */
void transports_close(struct transports *);
void transports_free(struct transports *); /* after that */

#endif
