/* move.c: see move.h. Calls the two kinds in an order in which a run is never in two places; knows
 * nothing of journals. Called by store.c. */
#include "store/move.h"

#include <string.h>

/* Whether it may be moved; its id. What is sent is checked as it is read. */
static bool look(const struct sys *sys, const struct move *m, struct store_report *report,
                 struct error *e) {
  struct store_options options = {.mode = STORE_READ, .accept_edits = true};
  char line[STORE_HOLDER];
  struct store *store = NULL;
  struct inbox *inbox = NULL;
  size_t waiting = 0;
  if (m->old->holder && m->old->holder(sys, m->old_at, line))
    return error_set(e, ERROR_BUSY, "%s: a process advances this run (%s); stop it first", m->from,
                     line);
  if (!m->old->open(sys, m->old_at, &options, &store, report, e)) return false;
  store_close(&store);
  bool good = m->old->inbox(sys, m->old_at, &inbox, e) && inbox->ops->waiting(inbox, &waiting, e);
  inbox_close(&inbox);
  if (good && waiting > 0)
    return error_set(
        e, ERROR_BUSY,
        "%s: %zu answers or events wait in its inbox; resume it, so that it takes them", m->from,
        waiting);
  return good;
}

/* Copies the blobs first: they can be read only while the run is open, before its journal is moved.
 */
static bool carry_blobs(const struct sys *sys, const struct move *m, struct receiver *to,
                        struct error *e) {
  struct store_options options = {.mode = STORE_READ, .accept_edits = true};
  struct store_report report = {0};
  struct store *store = NULL;
  struct buffer value;
  bool good = m->count == 0 || m->old->open(sys, m->old_at, &options, &store, &report, e);
  buffer_init(&value, sys, (size_t)1 << 30);
  for (size_t i = 0; good && i < m->count; i++) {
    buffer_reset(&value);
    good = store->ops->blob_get(store, m->digests[i], &value, e) &&
           to->blob(to, m->digests[i], buffer_span(&value), e);
  }
  buffer_clear(&value);
  store_close(&store);
  return good;
}

static bool carry(const struct sys *sys, const struct move *m, struct receiver *to,
                  struct error *e) {
  if (!carry_blobs(sys, m, to, e) || !m->old->leave(sys, m->old_at, LEAVING_NOW, e)) return false;
  if (m->old->send(sys, m->old_at, to, e) && to->finish(to, e))
    return m->old->leave(sys, m->old_at, LEAVING_ENDED, e);
  m->old->leave(sys, m->old_at, LEAVING_NOT, NULL);
  return false;
}

bool move_run(const struct sys *sys, const struct move *m, struct error *e) {
  struct store_report report = {0};
  struct receiver *to = NULL;
  m->old->leave(sys, m->old_at, LEAVING_NOT,
                NULL); /* a move that died in the middle starts again */
  if (!look(sys, m, &report, e)) return false;
  if (!m->young->receive(sys, m->young_at, report.run_id, &to, e)) return false;
  bool good = carry(sys, m, to, e);
  to->close(to);
  return good;
}
