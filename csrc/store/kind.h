/* kind.h: the functions of a kind of store, such as directories or PostgreSQL; called by store.c
 * only.
 *
 * `at` is the address that kind_of made of the URL. A function may be NULL: the kind does not have
 * it. A kind that needs a library is a module of its own, which exports a `store_kind_function`
 * named "skillrt_store_kind".
 *
 * A kind on a server needs three operations of it: add a thing under a name unless there is one,
 * read it by its name, list names. A batch is the thing (run, batch): whoever finds the place taken
 * has lost the run (ERROR_LOST), and whoever does not know whether its own was added reads it. A
 * row with a primary key does this in PostgreSQL; an object added with If-None-Match would do it in
 * an object store. A lease only keeps processes from trying. */
#ifndef SKILLRT_STORE_KIND_H
#define SKILLRT_STORE_KIND_H

#include "store/store.h"

/* A batch of a journal: its lines, byte for byte. */
struct bundle {
  uint32_t batch, segment;
  uint64_t seq;     /* of its last line */
  uint64_t records; /* payloads of the journal up to it, without the store's own */
  struct span lines;
};

/* The place that a journal is moved to: there is no run there before `finish` returned, and no
 * departure any more. */
struct receiver {
  bool (*bundle)(struct receiver *, const struct bundle *, struct error *);
  bool (*blob)(struct receiver *, const char *digest, struct span value, struct error *);
  bool (*finish)(struct receiver *, struct error *);
  void (*close)(struct receiver *);
};

/* The states of a run that is moved to another place. */
enum leaving {
  LEAVING_NOT,  /* it stays here: undoes LEAVING_NOW */
  LEAVING_NOW,  /* no process can advance it here any more */
  LEAVING_ENDED /* it is whole in its new place */
};

struct kind {
  bool (*open)(const struct sys *, const char *at, const struct store_options *, struct store **,
               struct store_report *, struct error *);
  void (*salvage)(const struct sys *, const char *at,
                  bool (*each)(void *data, const struct record *, struct error *), void *data);
  bool (*holder)(const struct sys *, const char *at, char line[STORE_HOLDER]);
  bool (*inbox)(const struct sys *, const char *at, struct inbox **, struct error *);
  bool (*list)(const struct sys *, const char *at, bool (*each)(void *data, const struct listing *),
               void *data, struct error *);
  bool (*exists)(const struct sys *, const char *at);
  bool (*watch)(const struct sys *, const char *at, struct uv_loop_s *, void (*changed)(void *),
                void *data, struct watch **, struct error *);
  bool (*watch_runs)(const struct sys *, const char *at, struct uv_loop_s *,
                     void (*changed)(void *), void *data, struct watch **, struct error *);
  bool (*prepare)(const struct sys *, const char *at, const struct store_setup *,
                  struct buffer *missing, struct error *);
  bool (*retire)(const struct sys *, const char *at, const char *before, bool only_look,
                 struct buffer *to, struct error *);
  bool (*label)(const struct sys *, const char *at, const struct label *, struct error *);
  bool (*pause)(const struct sys *, const char *at, const char *queue, bool paused, struct error *);
  bool (*claims)(const struct sys *, const char *at, const char *queue, struct claims **,
                 struct error *);
  bool (*hold)(const struct sys *, const char *at, struct hold **, struct error *);
  /* ERROR_MISSING: there is no such run, or its state is not LEAVING_NOW. The departure is kept
   * with LEAVING_NOW. */
  bool (*leave)(const struct sys *, const char *at, enum leaving, const struct departure *,
                struct error *);
  bool (*departed)(const struct sys *, const char *at, struct departure *, struct error *);
  /* The batches of a run while LEAVING_NOW, first to last. */
  bool (*send)(const struct sys *, const char *at, struct receiver *, struct error *);
  bool (*receive)(const struct sys *, const char *at, const char *run_id, struct receiver **,
                  struct error *);
};

typedef const struct kind *store_kind_function(void);

#endif
