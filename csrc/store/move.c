/* move.c: see move.h. Calls the two kinds in an order in which a run is never in two places; knows
 * nothing of journals. Called by store.c. */
#include "store/move.h"

#include <string.h>

static bool is_quiet(const struct sys *sys, const struct move *m, struct error *e) {
  struct inbox *inbox = NULL;
  size_t waiting = 0;
  bool good = m->old->inbox(sys, m->old_at, &inbox, e) && inbox->ops->waiting(inbox, &waiting, e);
  inbox_close(&inbox);
  if (!good || waiting == 0) return good;
  return error_set(e, ERROR_BUSY,
                   "%s: %zu answers or events wait in its inbox; resume it, so that it takes them",
                   m->from, waiting);
}

/* The id of a run that can be read. */
static bool id_of(const struct sys *sys, const struct kind *kind, const char *at, char run_id[65],
                  struct error *e) {
  struct store_options options = {.mode = STORE_READ, .accept_edits = true};
  struct store_report report = {0};
  struct store *store = NULL;
  if (!kind->open(sys, at, &options, &store, &report, e)) return false;
  memcpy(run_id, report.run_id, sizeof report.run_id);
  store_close(&store);
  return true;
}

/* Whether it may be moved; its id. What is sent is checked as it is read. */
static bool look(const struct sys *sys, const struct move *m, char run_id[65], struct error *e) {
  char line[STORE_HOLDER];
  if (m->old->holder && m->old->holder(sys, m->old_at, line))
    return error_set(e, ERROR_BUSY, "%s: a process advances this run (%s); stop it first", m->from,
                     line);
  return id_of(sys, m->old, m->old_at, run_id, e) && is_quiet(sys, m, e);
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

static bool leave(const struct sys *sys, const struct move *m, enum leaving leaving,
                  struct error *e) {
  return m->old->leave(sys, m->old_at, leaving, NULL, e);
}

/* From now on no process can advance it in its old place. What came into its inbox until then keeps
 * it there. */
static bool set_out(const struct sys *sys, const struct move *m, const char *run_id,
                    struct error *e) {
  struct departure departure = {.ended = false};
  if (strlen(m->known_as) >= sizeof departure.known_as)
    return error_set(e, ERROR_LIMIT, "%.200s...: too long", m->known_as);
  strcpy(departure.known_as, m->known_as);
  memcpy(departure.run_id, run_id, sizeof departure.run_id);
  return m->old->leave(sys, m->old_at, LEAVING_NOW, &departure, e) && is_quiet(sys, m, e);
}

/* Whether the run is in its new place, or went on from there. */
static bool has_arrived(const struct sys *sys, const struct move *m, const char *run_id,
                        bool *arrived, struct error *e) {
  struct departure departure = {.ended = false};
  struct receiver *to = NULL;
  struct error why = {0}, unread = {0};
  char there[65];
  *arrived = false;
  if (!m->young->departed(sys, m->young_at, &departure, e)) return false;
  if (departure.known_as[0] && strcmp(departure.run_id, run_id) == 0) {
    *arrived = true;
    return true;
  }
  /* What another process is about to make there is waited for, or refuses this. */
  if (m->young->receive(sys, m->young_at, run_id, &to, &why)) {
    to->close(to);
    return true;
  }
  if (!id_of(sys, m->young, m->young_at, there, &unread)) {
    if (e) *e = why;
    return false;
  }
  *arrived = strcmp(there, run_id) == 0;
  return true;
}

/* Without a new place it is not looked for there. */
static bool settle(const struct sys *sys, const struct move *m, const char *run_id, bool stays,
                   bool *arrived, struct error *e) {
  *arrived = false;
  if (m->young && !has_arrived(sys, m, run_id, arrived, e) && !stays) return false;
  return leave(sys, m, *arrived ? LEAVING_ENDED : LEAVING_NOT, e);
}

bool move_settle(const struct sys *sys, const struct move *m, bool stays, bool *arrived,
                 struct error *e) {
  struct departure departure = {.ended = false};
  if (!m->old->departed(sys, m->old_at, &departure, e)) return false;
  if (!departure.known_as[0] || departure.ended)
    return error_set(e, ERROR_MISSING, "%s: no run is leaving it", m->from);
  return settle(sys, m, departure.run_id, stays, arrived, e);
}

/* `*sent`: the receiver has all of it, and may have made it a run. */
static bool carry(const struct sys *sys, const struct move *m, struct receiver *to,
                  const char *run_id, bool *sent, struct error *e) {
  if (!carry_blobs(sys, m, to, e)) return false;
  *sent = set_out(sys, m, run_id, e) && m->old->send(sys, m->old_at, to, e);
  if (!*sent) leave(sys, m, LEAVING_NOT, NULL);
  return *sent && to->finish(to, e);
}

bool move_run(const struct sys *sys, const struct move *m, struct error *e) {
  struct receiver *to = NULL;
  struct error why = {0};
  char run_id[65];
  bool sent = false, arrived = false;
  if (!look(sys, m, run_id, e) || !m->young->receive(sys, m->young_at, run_id, &to, e))
    return false;
  bool good = carry(sys, m, to, run_id, &sent, &why);
  to->close(to);
  if (good) return leave(sys, m, LEAVING_ENDED, e);
  if (sent) good = settle(sys, m, run_id, false, &arrived, NULL) && arrived;
  if (!good && e) *e = why;
  return good;
}
