/* fake_transport.h: a transport whose replies the test gives by hand.
 *
 * Logs NAME(target) on send and cancel(target). Delays go to a second one, named "delay"; the
 * target of a timer is its delay: "250ms". */
#ifndef SKILLRT_TESTS_FAKE_TRANSPORT_H
#define SKILLRT_TESTS_FAKE_TRANSPORT_H

#include "support/fake_log.h"
#include "transport/transport.h"

struct fake_flight {
  struct exchange *exchange;
  const struct task *task;
  struct fake_flight *next, *previous;
};

struct fake_transport {
  struct transport transport;
  struct fake_log *log;
  const char *name;
  struct fake_flight *first, *last; /* as they were sent */
  size_t in_flight, sent;
  size_t fail_send; /* the n-th send fails, from 1; 0: none */
  enum error_code fail_code;
  bool quiet; /* logs nothing */
};

void fake_transport_init(struct fake_transport *, struct fake_log *, const char *name);
/* Ends the exchange to `target` (NULL: the oldest); false if there is none. */
bool fake_transport_reply(struct fake_transport *, const char *target, enum reply_status,
                          const char *body);
bool fake_transport_progress(struct fake_transport *, const char *target, const char *bytes);

#endif
