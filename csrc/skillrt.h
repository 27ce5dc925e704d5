/* skillrt.h: skillrt as a C library (libskillrt.a, pkg-config skillrt).
 *
 * A host opens a run, steps it from its own loop, and closes it:
 *
 *   struct skillrt *run = skillrt_open(&options, error, sizeof error);
 *   while (skillrt_step(run) == SKILLRT_RUNNING)
 *     ... wait until skillrt_fd(run) is readable or skillrt_timeout_ms(run) has passed ...
 *   puts(skillrt_status(run));
 *   skillrt_close(run);
 *
 * No globals, no signal handlers, no exit, no output of its own. Each run has a Lua state of
 * its own; different runs may live on different threads, one run on one thread at a time. */
#ifndef SKILLRT_H
#define SKILLRT_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct skillrt;
struct sys; /* base/sys.h: the world, for tests; a host leaves it NULL */

enum skillrt_state {
  SKILLRT_RUNNING, /* call skillrt_step again when its descriptor or its timeout says so */
  SKILLRT_STOPPED  /* over or paused: skillrt_status and skillrt_reason say which */
};

struct skillrt_options {
  const char *script;      /* path of the Lua script; NULL on resume: the one the journal names */
  const char *work_dir;    /* the run's directory; NULL: runs/<skill>-<run id> */
  bool resume;             /* go on with the run in work_dir */
  bool accept_changes;     /* on resume: go on although pinned files changed */
  const char *answer;      /* on resume: the answer to the open question, or NULL */
  const char *input_json;  /* a JSON object, the skill's input; NULL: {} */
  const char *http_module; /* path of skillrt/http.so; NULL: looked for on Lua's package.cpath */
  /* Called for every record once it is durable: one line of JSON, without a newline. A `start` of
   * a function may come when it was written: a power cut, and nothing else, can take it back. It
   * must not call skillrt_close. NULL: nobody listens. */
  void (*on_record)(void *data, const char *json, size_t size);
  void *data;
  const struct sys *sys; /* NULL: the real world */
};

/* Opens a run: loads the script, takes the lock, recovers the journal. NULL with a message
 * ("what: why; what to do") in `error`. Nothing has been performed yet. */
struct skillrt *skillrt_open(const struct skillrt_options *options, char *error, size_t size);

/* Does what can be done now, without waiting. */
enum skillrt_state skillrt_step(struct skillrt *run);
/* Readable when skillrt_step has work. Valid until skillrt_close; never read from it. */
int skillrt_fd(const struct skillrt *run);
/* Milliseconds after which skillrt_step has work anyhow; 0: now, -1: no limit. */
int skillrt_timeout_ms(const struct skillrt *run);

/* Asks the run to stop and stay resumable. Callable from a signal handler and from any thread
 * until skillrt_close; takes effect in a later skillrt_step, inside a Lua function within some
 * 10,000 instructions. Programs under way have 2 s from SIGTERM to SIGKILL; the run has stopped
 * when they are gone. One that comes after the end is none. */
void skillrt_stop(struct skillrt *run);

/* Once stopped: "completed", "failed", "aborted", "paused"; before: "". Valid until close. */
const char *skillrt_status(const struct skillrt *run);
/* "task_completed", "error_limit", "user_exit" ... */
const char *skillrt_reason(const struct skillrt *run);
/* More about the reason for people, or "". */
const char *skillrt_message(const struct skillrt *run);
/* The directory of the run, absolute. */
const char *skillrt_work_dir(const struct skillrt *run);
/* The state as one line of JSON; belongs to the run, valid until the next call on it. NULL
 * where memory is short. */
const char *skillrt_state_json(struct skillrt *run, size_t *size);

/* Ends what is under way (processes are killed), closes the journal, frees all. NULL is fine. */
void skillrt_close(struct skillrt *run);

#ifdef __cplusplus
}
#endif

#endif
