/* transports.c: opens a transport when its first task comes.
 *
 * HTTP is in a module of its own, because linking libcurl costs time and memory at each start. The
 * module is never unloaded: a thread of libcurl that resolves a name may still run after its
 * request was canceled. Called by runtime.c and loop.c. */
#include "engine/transports.h"

#include <dlfcn.h>
#include <string.h>

#include "transport/host.h"

struct transports {
  const struct sys *sys;
  struct uv_loop_s *uv;
  struct transport *open[TASK_KINDS];
  struct transport_owner owner;
};

bool transports_new(const struct sys *sys, struct uv_loop_s *uv, struct transports **to,
                    struct error *error) {
  struct transports *t = sys_alloc(sys, sizeof *t);
  if (!t) return error_set(error, ERROR_MEMORY, "loop: no memory");
  t->sys = sys;
  t->uv = uv;
  *to = t;
  return true;
}

static bool http_open(struct transports *t, const char *path, struct error *error) {
  if (!path)
    return error_set(error, ERROR_MISSING,
                     "skillrt/http.so: not found on package.cpath, and HTTP tasks need it: build "
                     "it with `make`, or install skillrt with its modules");
  void *module = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (!module)
    return error_set(error, ERROR_MISSING,
                     "%s: cannot be loaded (%s): HTTP tasks need it; install libcurl, or build "
                     "skillrt again",
                     path, dlerror());
  void *symbol = dlsym(module, "skillrt_http_open");
  dlclose(module); /* never unloaded; see above */
  if (!symbol)
    return error_set(error, ERROR_INVALID,
                     "%s: has no skillrt_http_open: it is not skillrt's http module; build "
                     "skillrt again",
                     path);
  http_open_function *function;
  memcpy(&function, &symbol, sizeof function); /* ISO C casts no object to a function */
  return function(t->sys, t->uv, &t->open[TASK_HTTP], error);
}

static bool transports_open(struct transports *t, enum task_kind kind, const char *http_module,
                            struct error *error) {
  switch (kind) {
  case TASK_PROCESS:
    return process_open(t->sys, t->uv, &t->open[kind], error);
  case TASK_SESSION:
    return session_open(t->sys, t->uv, &t->open[kind], error);
  case TASK_TIMER:
    return timer_open(t->sys, t->uv, &t->open[kind], error);
  case TASK_HOST:
    return host_open(t->sys, t->uv, t->owner.door, &t->open[kind], error);
  case TASK_HTTP:
    return http_open(t, http_module, error);
  case TASK_MESSAGE:
  case TASK_KINDS:
    break;
  }
  return error_set(error, ERROR_INVALID, "task: kind %d is not sent anywhere", (int)kind);
}

struct transport *transports_get(struct transports *t, enum task_kind kind, const char *http_module,
                                 struct error *error) {
  if ((unsigned)kind >= TASK_KINDS) {
    error_set(error, ERROR_INVALID, "task: there is no kind %d", (int)kind);
    return NULL;
  }
  if (!t->open[kind] && !transports_open(t, kind, http_module, error)) return NULL;
  t->open[kind]->owner = t->owner;
  return t->open[kind];
}

void transports_tell(struct transports *t, const struct transport_owner *owner) {
  t->owner = *owner;
}

bool transports_ending(const struct transports *t) {
  for (int i = 0; i < TASK_KINDS; i++)
    if (t->open[i] && t->open[i]->ops->ending && t->open[i]->ops->ending(t->open[i])) return true;
  return false;
}

void transports_close(struct transports *t) {
  for (int i = 0; i < TASK_KINDS; i++)
    if (t->open[i]) {
      t->open[i]->ops->close(t->open[i]);
      t->open[i] = NULL;
    }
}

void transports_free(struct transports *t) {
  sys_free(t->sys, t, sizeof *t);
}
