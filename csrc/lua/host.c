/* host.c: the shared host of skillrt.h: one loop and one Lua state for many runs.
 *
 * Knows runs only to close them. */
#include <stdio.h>
#include <string.h>

#include "engine/loop.h"
#include "lua/hosted.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT const char *skillrt_version(void) {
  return SKILLRT_VERSION;
}

/* Options of another version: what it does not know is left out, what we do not know is 0. */
bool hosted_options(void *to, size_t all, const void *from, const char *name, char *error,
                    size_t size) {
  size_t given = from ? *(const size_t *)from : 0;
  memset(to, 0, all);
  if (from && (given < sizeof(size_t) || given % sizeof(void *) != 0 || given > 4096)) {
    snprintf(error, size, "%s: size is %zu; set it to sizeof(struct %s)", name, given, name);
    return false;
  }
  if (from) memcpy(to, from, given < all ? given : all);
  return true;
}

static bool host_fill(struct skillrt_host *host, const struct skillrt_host_options *options,
                      struct error *error) {
  const char *module = options->http_module;
  if (module && !(host->http_module = sys_alloc(host->sys, strlen(module) + 1)))
    return error_set(error, ERROR_MEMORY, "not enough memory");
  if (module) strcpy(host->http_module, module);
  if (!loop_open(host->sys, &host->loop, error)) return false;
  loop_offload(host->loop, options->never_block);
  return host_state_open(&host->state, host->sys, 0, host->loop, error);
}

EXPORT struct skillrt_host *skillrt_host_open(const struct skillrt_host_options *given, char *error,
                                              size_t size) {
  struct skillrt_host_options options;
  struct error why = {0};
  if (!hosted_options(&options, sizeof options, given, "skillrt_host_options", error, size))
    return NULL;
  const struct sys *sys = options.sys ? options.sys : sys_real();
  struct skillrt_host *host = sys_alloc(sys, sizeof *host);
  if (host) host->sys = sys;
  if (host && host_fill(host, &options, &why)) return host;
  snprintf(error, size, "%s", host ? why.text : "not enough memory");
  skillrt_host_close(host);
  return NULL;
}

EXPORT size_t skillrt_host_step(struct skillrt_host *host) {
  loop_turn(host->loop, false);
  return loop_members(host->loop);
}

EXPORT int skillrt_host_fd(const struct skillrt_host *host) {
  return loop_fd(host->loop);
}

EXPORT int skillrt_host_timeout_ms(const struct skillrt_host *host) {
  return loop_timeout_ms(host->loop);
}

EXPORT void skillrt_host_close(struct skillrt_host *host) {
  if (!host) return;
  while (host->runs)
    skillrt_close(host->runs);
  host_state_close(&host->state);
  loop_close(host->loop);
  if (host->http_module) sys_free(host->sys, host->http_module, strlen(host->http_module) + 1);
  sys_free(host->sys, host, sizeof *host);
}
