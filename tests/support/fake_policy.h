/* fake_policy.h: a policy that runs `total` like steps, `width` at once, and logs.
 *
 * Records: new, i<step> (intent, outside tasks only), x<step> (another exchange), r<step>
 * (result), c<step> (canceled), end:<reason>. Targets are the step's number. */
#ifndef SKILLRT_TESTS_FAKE_POLICY_H
#define SKILLRT_TESTS_FAKE_POLICY_H

#include "engine/policy.h"
#include "support/fake_log.h"

enum fake_bug {
  FAKE_SOUND,
  FAKE_WAITS_FOR_NOTHING, /* says wait when nothing is under way */
  FAKE_STARTS_NOTHING,    /* says start, names no step */
  FAKE_STARTS_TWICE,      /* names the same step again */
  FAKE_STARTS_FOREVER,    /* always one more */
  FAKE_KEEPS,             /* answers keep to a final reply */
  FAKE_IGNORES_STOP,      /* goes on when told to stop */
  FAKE_WITHOUT_STATUS,    /* stops, says no status */
  FAKE_LEAVES             /* stops while steps are under way */
};

struct fake_policy {
  struct policy policy;
  struct fake_log *log;
  uint64_t total, width;
  enum task_kind kind;
  const char *const *argv; /* of processes, NULL-terminated */
  int exchanges;           /* per step; 1 or more */
  int64_t delay_ms;        /* of every exchange but a step's first */
  bool in_memory;          /* no intent, no record per step */
  bool performs;           /* functions: the decision says so, request is not to be asked; where
                              policy.repeatable is set, choose tells of each beginning: s1 */
  enum fake_bug bug;
  bool gate_open;      /* the person has answered */
  bool verbose;        /* logs choose, request, accept, too */
  unsigned fail_at;    /* the n-th question fails, from 1; 0: none */
  unsigned fail_times; /* and that many in a row (0 as 1) */
  enum error_code fail_code;
  bool fail_save, fail_mute; /* the views fail; a failure says nothing */

  uint64_t started, done;
  int exchange[256]; /* of step % 256 */
  unsigned questions, saves, durables;
  char why[64];                      /* of stop */
  uint64_t next[2];                  /* the decision's steps */
  void (*during_accept)(void *data); /* called inside accept, may be NULL */
  void *data;
};

void fake_policy_init(struct fake_policy *, struct fake_log *);

#endif
