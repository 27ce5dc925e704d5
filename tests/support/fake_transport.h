/* fake_transport.h: a transport whose replies the test gives by hand.
 *
 * Logs NAME(target) on send and cancel(target). Delays go to a second one, named "delay". */
#ifndef SKILLRT_TESTS_FAKE_TRANSPORT_H
#define SKILLRT_TESTS_FAKE_TRANSPORT_H

#include "support/fake_log.h"
#include "transport/transport.h"

enum { FAKE_FLIGHTS = 64 };

struct fake_flight {
  struct exchange *exchange; /* NULL: free */
  const struct task *task;
};

struct fake_transport {
  struct transport transport;
  struct fake_log *log;
  const char *name;
  struct fake_flight flights[FAKE_FLIGHTS];
  size_t in_flight, sent;
  size_t fail_send; /* the n-th send fails, from 1; 0: none */
  enum error_code fail_code;
  bool quiet; /* logs nothing */
};

void fake_transport_init(struct fake_transport *, struct fake_log *, const char *name);
/* Ends the exchange to `target` (NULL: any); false if there is none. */
bool fake_transport_reply(struct fake_transport *, const char *target, enum reply_status,
                          const char *body);
bool fake_transport_progress(struct fake_transport *, const char *target, const char *bytes);

#endif
