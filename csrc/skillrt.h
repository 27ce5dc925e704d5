/* skillrt.h: skillrt as a C library (libskillrt.a, pkg-config skillrt).
 *
 * A host opens a run, steps it from its own loop, and closes it:
 *
 *   struct skillrt_options options = {.size = sizeof options, .script = "skill.lua"};
 *   struct skillrt *run = skillrt_open(&options, error, sizeof error);
 *   while (skillrt_step(run) == SKILLRT_RUNNING)
 *     ... wait until skillrt_fd(run) is readable or skillrt_timeout_ms(run) has passed ...
 *   puts(skillrt_status(run));
 *   skillrt_close(run);
 *
 * A program with many runs opens a skillrt_host first: its runs share a loop, connections and one
 * Lua state, in which the runtime is loaded once. A host and its runs belong to one thread;
 * functions that may be called from other threads say so. Different hosts, and runs without one,
 * may be on different threads.
 *
 * No globals, no signal handlers, no exit, no output of its own. */
#ifndef SKILLRT_H
#define SKILLRT_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct skillrt;
struct skillrt_host;
struct sys; /* base/sys.h: the world, for tests; a host leaves it NULL */

/* "1.0.0". Callable from any thread. */
const char *skillrt_version(void);

/* ---- hosts ---- */

struct skillrt_host_options {
  size_t size;             /* sizeof(struct skillrt_host_options); members beyond it are 0 */
  const char *http_module; /* path of skillrt/http.so; NULL: looked for on Lua's package.cpath */
  bool never_block;        /* sync on a thread of the pool even where there is only one run */
  const struct sys *sys;   /* NULL: the real world */
  int park_ms; /* a run with `wait` that has waited for so long, and still has to wait as long, is
                  unloaded: see skillrt_parked. 0: 1000; -1: never */
};

/* NULL with a message in `error`. Options may be NULL. */
struct skillrt_host *skillrt_host_open(const struct skillrt_host_options *, char *error,
                                       size_t size);
/* Does what all runs of the host can do now, without waiting; returns how many
 * have not stopped. */
size_t skillrt_host_step(struct skillrt_host *);
/* Readable when skillrt_host_step has work. Valid until skillrt_host_close; never read from it. */
int skillrt_host_fd(const struct skillrt_host *);
/* Milliseconds after which to call skillrt_host_step in any case; 0: now, -1: no limit. */
int skillrt_host_timeout_ms(const struct skillrt_host *);
/* Closes the runs that are still open, too. NULL is fine. */
void skillrt_host_close(struct skillrt_host *);

/* ---- functions of the host ----
 *
 * A run calls one by `ctx.await { kind = "host", name = "move", input = { x = 1 } }` in a script,
 * or by an action whose agent is `skillrt.agent.host "move"`. Such a call is as durable as any
 * other: an answered one is never repeated. After a crash, one without an answer is repeated if the
 * function is idempotent; otherwise its outcome is unknown. */

struct skillrt_call;

struct skillrt_function {
  size_t size;      /* sizeof(struct skillrt_function) */
  const char *name; /* copied */
  /* A run calls the function, from inside skillrt_step. The host answers each call once, now or
   * later, by one of the three functions below, and must not use the call after that. */
  void (*call)(void *data, struct skillrt_call *call);
  /* The run has stopped to wait (it stops, it was closed, the time is up). The host must still
   * answer the call; the answer is discarded. NULL: the host does not want to know. */
  void (*cancel)(void *data, struct skillrt_call *call);
  void *data;
  bool idempotent; /* it may be called again, with the same key, if the outcome is unknown */
};

/* Before the runs that use it are opened. False with a message in `error`. */
bool skillrt_host_function(struct skillrt_host *, const struct skillrt_function *, char *error,
                           size_t size);

/* The functions on a call may be called from any thread until it is answered. */
const char *skillrt_call_name(const struct skillrt_call *call);
/* The input: JSON. Of an agent the task: prompt, state, action or phase, work_dir ... */
const char *skillrt_call_input(const struct skillrt_call *call, size_t *size);
/* The same for all attempts of this call, and for no other. */
const char *skillrt_call_key(const struct skillrt_call *call);
/* The run that calls, until `cancel` is called; NULL: a run that a function of another run started.
 */
struct skillrt *skillrt_call_run(const struct skillrt_call *call);
/* Sends bytes to on_progress of the run. */
void skillrt_call_progress(struct skillrt_call *call, const char *bytes, size_t size);

/* The function succeeded: a JSON text. Of an agent the state's updates, or { "status",
 * "stateUpdates"
 * ... }.
 */
void skillrt_call_reply(struct skillrt_call *call, const char *json, size_t size);
/* The function failed: its class "permanent", "transient", "rate_limit" ...; NULL: "permanent".
 */
void skillrt_call_fail(struct skillrt_call *call, const char *failure_class, const char *message);
/* Nothing was executed: the run may call again, as often as its settings allow. */
void skillrt_call_refuse(struct skillrt_call *call, const char *message);

/* ---- runs ---- */

enum skillrt_state {
  SKILLRT_RUNNING, /* call skillrt_step again when skillrt_fd is readable or the timeout has passed
                    */
  SKILLRT_STOPPED  /* finished or paused: skillrt_status and skillrt_reason say which */
};

struct skillrt_options {
  size_t size;               /* sizeof(struct skillrt_options); members beyond it count as 0 */
  struct skillrt_host *host; /* NULL: the run has a loop and a Lua state of its own */
  const char *script;        /* path of the script, folder or configuration; NULL on resume: the one
                                the journal names */
  const char *script_text; /* the text of a Lua script; `script` is then its name. A resume needs it
                              again */
  size_t script_size;      /* of script_text, in bytes */
  const char *work_dir;    /* the run's directory; NULL: <skill>-<run id> in the project's
                              runs, as for --work-dir */
  const char *input_json;  /* a JSON object, the skill's input; NULL: {} */
  const char *const *args; /* ctx.args; ends with NULL; or NULL */
  const char *agent;       /* the agent for steps that name none, as for --agent */
  const char *strategy;    /* in place of the skill's own: a path or a name */
  const char *durability;  /* "power" or "process"; NULL: as the skill says */
  const char *sandbox;     /* for all programs: "strict", "work", "off"; NULL: as the skill says */
  const char *context;     /* "file" or "memory"; NULL: as the skill says */
  bool wait;               /* remains open while it waits for a person, an event or a time; else it
                              pauses then, until a resume */
  bool resume;             /* resume the run in work_dir; the next seven are for a resume */
  bool retry;              /* try its last failed step again */
  bool accept_changes;     /* resume although pinned files changed */
  bool accept_edits;       /* take over a state.json that was edited by hand */
  bool yes;                /* with accept_changes: recorded calls may be forgotten */
  const char *answer;      /* the answer to the open question */
  const char *from;        /* run the phases from this one on again */
  const char *decide;      /* calls with an unknown outcome: "retry", "skip" or "fail" */
  const char *http_module; /* path of skillrt/http.so; NULL: the host's */
  bool own_state;          /* in a host: a Lua state of its own */
  size_t memory_limit;     /* bytes of that state; where it is reached the run pauses
                              (out_of_memory). 0: none. Without a host, too */
  /* Called for every record once it is durable: one line of JSON, without a newline. Only a `start`
   * of a function may be reported before its sync, so a power cut may lose it. May be NULL. None of
   * the three callbacks may step or close a run. */
  void (*on_record)(void *data, const char *json, size_t size);
  /* Output of a call under way, and its action or phase; some may be missing where it comes fast.
   * May be NULL. */
  void (*on_progress)(void *data, const char *id, const char *bytes, size_t size);
  /* A new question, once it is durable: { "question": number, "text", "options", "schema",
   * "nonce", "due", "step" }. May be NULL. */
  void (*on_question)(void *data, const char *json, size_t size);
  void *data;
  const struct sys *sys; /* for a run without a host; NULL: the real world */
  const char *const
      *limits; /* limits of this run: "calls=50", "usage.tokens=100000"; ends with NULL */
  const char *const *add; /* on resume: raises limits, in the same words; "ID.calls=5" */
  const char *const
      *agent_env;    /* names of further environment variables that the agent's program gets */
  const char *trust; /* code in a folder: NULL: it runs; "known": only if a person approved it
                        before; "remember": it runs, and counts as approved from now on */
  size_t lua_ms;     /* ms of processor time that the run's Lua may use before it pauses
                        (out_of_time);     as memory_limit with a state of its own. 0: no end */
  bool dry_run;      /* stub agents answer at once with a minimal valid answer */
  bool strict;       /* refuse a skill if skillrt cannot read a part of its documents as written */
  /* Output for other programs; the run ignores failures to write or send it. */
  const char *log;    /* a file that gets a line of JSON for each event, as by --log */
  const char *traces; /* a collector of OpenTelemetry's traces: the base of its address (OTLP over
                         HTTP), or "environment": what OTEL_* of this process name; NULL: none. The
                         last spans are sent when the run stops; whoever closes
                         a host, or a run without one, waits for them: 10 s at most */
  const char **code;  /* where skillrt_open puts the word for its failure, a literal: "busy",
                         "missing", "changed" ... (docs/embed.md lists them); NULL: nowhere */
};

/* Opens a run: loads the script, takes the lock, recovers the journal; executes nothing yet. NULL
 * with a message ("what: why; what to do") in `error`. The options are not needed any more when it
 * returns. */
struct skillrt *skillrt_open(const struct skillrt_options *options, char *error, size_t size);

/* Does what can be done now, without waiting; in a host for all its runs. */
enum skillrt_state skillrt_step(struct skillrt *run);
/* Whether the run is parked. A host unloads a run with `wait` and a journal while it only waits,
 * and releases its lock; this handle remains valid. skillrt_host_step loads it again when its time
 * has come, or after skillrt_event or skillrt_answer; it then also reads what other processes put
 * into its inbox/. Its records say `stop` and `resume`. */
bool skillrt_parked(const struct skillrt *run);
/* Whether the run has stopped; for a run in a host, after skillrt_host_step. */
bool skillrt_stopped(const struct skillrt *run);
/* Readable when skillrt_step has work. Valid until skillrt_close; never read from it. */
int skillrt_fd(const struct skillrt *run);
/* Milliseconds after which to call skillrt_step in any case; 0: now, -1: no limit. */
int skillrt_timeout_ms(const struct skillrt *run);

/* Asks the run to stop and stay resumable; others of its host continue. Callable from a signal
 * handler and from any thread until skillrt_close; takes effect in a later skillrt_step, inside a
 * Lua function within some 10,000 instructions. Running programs get SIGTERM, and SIGKILL 2 s
 * later; the run has stopped when they have ended. Has no effect after the run's end; a parked run
 * stops with the reason for which it waits. */
void skillrt_stop(struct skillrt *run);

/* The open questions: a JSON array of objects as on_question gets them; otherwise as
 * skillrt_state_json. */
const char *skillrt_questions_json(struct skillrt *run, size_t *size);
/* A person's answer, a JSON text, to the question of that number. False with a message in `error`
 * where the question is not open or does not allow this answer. `nonce`: of the question, so that
 * the answer cannot reach a later one with the same number; or NULL. */
bool skillrt_answer(struct skillrt *run, long long question, const char *json, const char *nonce,
                    char *error, size_t size);
/* Sends an event: one step that waits for it by ctx.wait, now or later, receives it; it is recorded
 * first. `json`: its value, NULL: true. `id`: a second event with the same id is ignored; or NULL.
 * A run that has stopped gets answers and events with its next resume. False with a message in
 * `error`. */
bool skillrt_event(struct skillrt *run, const char *name, const char *json, const char *id,
                   char *error, size_t size);

/* Once stopped: "completed", "failed", "aborted", "paused"; before: "". Valid until close. */
const char *skillrt_status(const struct skillrt *run);
/* The reason: "task_completed", "error_limit", "user_exit" ... */
const char *skillrt_reason(const struct skillrt *run);
/* More about the reason for people, or "". Valid until the next call on the run. */
const char *skillrt_message(const struct skillrt *run);

enum skillrt_status_code {
  SKILLRT_GOING, /* it has not stopped */
  SKILLRT_COMPLETED,
  SKILLRT_FAILED,
  SKILLRT_ABORTED,
  SKILLRT_PAUSED
};
enum skillrt_status_code skillrt_status_code(const struct skillrt *run);

enum skillrt_reason_code {
  SKILLRT_NO_REASON,    /* it has not stopped */
  SKILLRT_OTHER_REASON, /* the skill's own: skillrt_reason has its name */
  SKILLRT_TASK_COMPLETED,
  SKILLRT_ALL_PHASES_COMPLETED,
  SKILLRT_USER_EXIT,
  SKILLRT_WAITING_FOR_PERSON, /* a question is open */
  SKILLRT_WAITING_FOR_EVENT,
  SKILLRT_WAITING_FOR_TIME,
  SKILLRT_NEEDS_DECISION, /* the outcome of a call is unknown */
  SKILLRT_BLOCKED,
  SKILLRT_NO_ACTION_SELECTED,
  SKILLRT_NO_PROGRESS,
  SKILLRT_MAX_ITERATIONS,
  SKILLRT_ERROR_LIMIT,
  SKILLRT_PHASE_FAILED,
  SKILLRT_ACTION_FAILED,
  SKILLRT_RUN_TIMEOUT,
  SKILLRT_CALL_LIMIT,
  SKILLRT_USAGE_LIMIT,
  SKILLRT_STRATEGY_ERROR,
  SKILLRT_SCRIPT_ERROR,
  SKILLRT_OUTPUT_FAILED,
  SKILLRT_STORE_FAILED,
  SKILLRT_STORE_LOST,
  SKILLRT_SYNC_FAILED,
  SKILLRT_OUT_OF_MEMORY,
  SKILLRT_INTERNAL,
  SKILLRT_STEP_TIMEOUT,
  SKILLRT_OUT_OF_TIME /* lua_ms */
};
enum skillrt_reason_code skillrt_reason_code(const struct skillrt *run);

/* The directory of the run, absolute. */
const char *skillrt_work_dir(const struct skillrt *run);
/* The state as one line of JSON; belongs to the run, valid until the next call on it. NULL
 * where memory is short, or the journal of a run that has stopped cannot be read. */
const char *skillrt_state_json(struct skillrt *run, size_t *size);

/* Cancels all calls (programs are killed), closes the journal and frees the run. NULL is fine. */
void skillrt_close(struct skillrt *run);

#ifdef __cplusplus
}
#endif

#endif
