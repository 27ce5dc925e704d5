/* ask.h: one question to a Lua policy, asked in a protected call.
 *
 * A Lua error, also one of memory, becomes a struct error and never crosses into the engine.
 * Called by script.c and script_read.c. */
#ifndef SKILLRT_LUA_ASK_H
#define SKILLRT_LUA_ASK_H

#include "lua/script.h"

/* Stack indices of all questions, on the thread and as arguments: the policy, and its lists of
 * record payloads and of blobs, which never change. */
enum { AT_POLICY = 2, AT_OUT = 3, AT_BLOBS = 4 };

/* One question, as the protected call gets it. */
struct question {
  struct script *script;
  const char *method;
  uint64_t number; /* the number of the call that the question is about; or a seq */
  struct batch *out;
  const struct reply *reply;
  struct span bytes;
  struct decision *decision;
  struct task *task;
  enum verdict *verdict;
  int64_t *after_ms;
  struct store *store;
  const char *why; /* of a stop; the source of an event */
  bool awaited;    /* the answer */
  bool own;        /* the question calls no function of a script, so it has no time limit */
};

/* Makes the thread that questions run on, for the policy table at `at`. Raises on memory. */
void ask_open(struct script *, lua_State *L, int at);

/* Whether policy.news is not false: something was recorded since the last notice. */
bool ask_has_news(const struct script *);

/* Calls `body`, which finds the question by ask_begin. False with the error set where it raised. */
bool ask(struct question *, lua_CFunction body, struct error *);

/* Inside the call: pushes the policy's method and the policy, which is at `self`. */
struct question *ask_begin(lua_State *L, int *self);
/* Raises a C error as { message, code }; does nothing where `ok`. */
void ask_check(lua_State *L, bool good, const struct error *);

#endif
