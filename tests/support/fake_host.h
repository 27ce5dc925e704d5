/* fake_host.h: an engine between fakes, turned by hand.
 *
 * Work given to the pool stays until fake_host_pool; `awake` counts the engine's calls for a
 * turn. HTTP and process tasks go to `outside`, delays and the engine's alarm to
 * `timer`. */
#ifndef SKILLRT_TESTS_FAKE_HOST_H
#define SKILLRT_TESTS_FAKE_HOST_H

#include "engine/engine.h"
#include "support/fake_policy.h"
#include "support/fake_store.h"
#include "support/fake_sys.h"
#include "support/fake_transport.h"

struct fake_host {
  struct fake_log log;
  struct fake_sys sys;
  struct fake_store store;
  struct fake_transport outside, timer;
  struct fake_policy policy;
  struct engine *engine;
  struct error error; /* of opening */
  bool busy;          /* others are in flight: syncs go to the pool */
  bool pool_full;     /* the pool refuses */
  bool no_timer;
  const char *no_outside; /* why the transport cannot be opened; NULL: it can */
  void (*work)(void *), (*after)(void *);
  void *argument;
  int awake;
};

void fake_host_init(struct fake_host *);
bool fake_host_open(struct fake_host *);              /* engine_new and engine_load */
enum engine_phase fake_host_turn(struct fake_host *); /* until it is not READY */
bool fake_host_pool(struct fake_host *);              /* does the work; false if there is none */
/* Turns and answers everything until the run stopped, at most `rounds` times. */
bool fake_host_run(struct fake_host *, int rounds);
void fake_host_close(struct fake_host *); /* all is freed: CHECK(host.sys.live == 0) */

#endif
