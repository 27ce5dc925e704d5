/* host.c: the shared host of skillrt.h: one loop and one Lua state for many runs.
 *
 * Knows runs only to close them. */
#include <stdio.h>
#include <string.h>

#include "engine/loop.h"
#include "lua/hosted.h"
#include "transport/host.h"

enum { PARK_MS = 1000 };

#define EXPORT __attribute__((visibility("default")))

EXPORT const char *skillrt_version(void) {
  return SKILLRT_VERSION;
}

static bool host_fill(struct skillrt_host *host, const struct skillrt_host_options *options,
                      struct error *error) {
  const char *module = options->http_module;
  if (module && !(host->http_module = sys_alloc(host->sys, strlen(module) + 1)))
    return error_set(error, ERROR_MEMORY, "not enough memory");
  if (module) strcpy(host->http_module, module);
  if (!loop_open(host->sys, &host->loop, error)) return false;
  loop_offload(host->loop, options->never_block);
  host->park_ms = options->park_ms ? options->park_ms : PARK_MS;
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

/* ---- functions ---- */

EXPORT bool skillrt_host_function(struct skillrt_host *host, const struct skillrt_function *given,
                                  char *error, size_t size) {
  struct skillrt_function function;
  struct error why = {0};
  if (!hosted_options(&function, sizeof function, given, "skillrt_function", error, size))
    return false;
  struct host_door *door = loop_open_door(host->loop, &why);
  const struct host_function one = {.name = function.name,
                                    .call = function.call,
                                    .cancel = function.cancel,
                                    .data = function.data,
                                    .idempotent = function.idempotent};
  if (door && host_door_add(door, &one, &why)) return true;
  snprintf(error, size, "%s", why.text);
  return false;
}

EXPORT const char *skillrt_call_name(const struct skillrt_call *call) {
  return host_call_name(call);
}

EXPORT const char *skillrt_call_input(const struct skillrt_call *call, size_t *size) {
  struct span input = host_call_input(call);
  if (size) *size = input.length;
  return input.data;
}

EXPORT const char *skillrt_call_key(const struct skillrt_call *call) {
  return host_call_key(call);
}

EXPORT struct skillrt *skillrt_call_run(const struct skillrt_call *call) {
  return host_call_user(call);
}

EXPORT void skillrt_call_progress(struct skillrt_call *call, const char *bytes, size_t size) {
  host_call_progress(call, (struct span){bytes, size});
}

EXPORT void skillrt_call_reply(struct skillrt_call *call, const char *json, size_t size) {
  host_call_answer(call, 0, true, (struct span){json, size}, NULL);
}

EXPORT void skillrt_call_fail(struct skillrt_call *call, const char *failure_class,
                              const char *message) {
  const char *text = failure_class ? failure_class : "permanent";
  host_call_answer(call, 1, true, (struct span){text, strlen(text)}, message);
}

EXPORT void skillrt_call_refuse(struct skillrt_call *call, const char *message) {
  host_call_answer(call, 1, false, (struct span){0}, message);
}

/* ---- its life ---- */

EXPORT size_t skillrt_host_step(struct skillrt_host *host) {
  bool outermost = host->turning++ == 0; /* a function of a run may turn the loop */
  if (outermost) parked_turn(host);
  loop_turn(host->loop, false);
  if (outermost) parked_turn(host);
  host->turning--;
  return loop_members(host->loop) + host->parked;
}

EXPORT int skillrt_host_fd(const struct skillrt_host *host) {
  return loop_fd(host->loop);
}

EXPORT int skillrt_host_timeout_ms(const struct skillrt_host *host) {
  int parked = parked_timeout_ms(host), loop = loop_timeout_ms(host->loop);
  return parked < 0 || (loop >= 0 && loop < parked) ? loop : parked;
}

EXPORT void skillrt_host_close(struct skillrt_host *host) {
  if (!host) return;
  while (host->runs)
    skillrt_close(host->runs);
  host_state_close(&host->state);
  loop_close(host->loop);
  hosted_free(host, host->http_module);
  if (host->newest) sys_free(host->sys, host->newest, sizeof *host->newest + host->newest->size);
  if (host->due) sys_free(host->sys, host->due, host->due_room * sizeof *host->due);
  sys_free(host->sys, host, sizeof *host);
}
