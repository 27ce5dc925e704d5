/* hosted.h: what host.c (a host) and skillrt.c (one run) share, and nobody else includes. */
#ifndef SKILLRT_LUA_HOSTED_H
#define SKILLRT_LUA_HOSTED_H

#include "lua/host_state.h"
#include "skillrt.h"

struct interrupt;
struct run;
struct runtime;

struct skillrt_host {
  const struct sys *sys;
  struct loop *loop;
  struct host_state state;
  char *http_module;
  struct skillrt *runs;
};

struct skillrt {
  struct skillrt_host *host;
  struct skillrt *next, **link; /* in its host */
  struct host_state *state;     /* the host's, or its own */
  struct host_state own;
  bool alone;                            /* its host is its own */
  const struct skillrt_options *options; /* during skillrt_open only */
  struct run *run;                       /* its userdata is held by `held` */
  struct runtime *runtime;
  struct interrupt *interrupt;
  int held;             /* registry reference: what skillrt.host gave, with the run in it */
  const char *work_dir; /* a Lua string in there */
  void (*on_record)(void *data, const char *json, size_t size);
  void (*on_progress)(void *data, const char *id, const char *bytes, size_t size);
  void (*on_question)(void *data, const char *json, size_t size);
  void *data;
};

/* Copies `size` bytes of the caller's options over `all` bytes of zeros; false with a message where
 * the size was forgotten. */
bool hosted_options(void *to, size_t all, const void *from, const char *name, char *error,
                    size_t size);

#endif
