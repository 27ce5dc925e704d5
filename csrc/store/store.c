/* store.c: finds the kind of store that a URL names, and does what all kinds share.
 * Must not know how any of them works. */
#include "store/store.h"

#include <dlfcn.h>
#include <limits.h>
#include <string.h>

#include "store/claim.h"
#include "store/directory.h"
#include "store/inbox.h"
#include "store/kind.h"
#include "store/listing.h"
#include "store/memory.h"
#include "store/move.h"

static bool begins(const char *text, const char *with) {
  return strncmp(text, with, strlen(with)) == 0;
}

static int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* The path of "file:path", "file:///path" or plain "path", into `to` (PATH_MAX bytes). */
static bool url_path(const char *url, char *to, struct error *e) {
  const char *at = url;
  bool file = begins(url, "file:");
  size_t length = 0;
  if (file) at += begins(url, "file:///") ? strlen("file://") : strlen("file:");
  if (file ? begins(at, "//") : begins(at + strspn(at, "abcdefghijklmnopqrstuvwxyz"), "://"))
    return error_set(
        e, ERROR_INVALID,
        "%.200s: no store of this kind; a path, file:PATH, memory: or postgres:// names one", url);
  for (; *at; at++) {
    char byte = *at;
    if (file && byte == '%' && hex_digit(at[1]) >= 0 && hex_digit(at[2]) >= 0) {
      byte = (char)(hex_digit(at[1]) * 16 + hex_digit(at[2]));
      at += 2;
    }
    if (byte == '\0') return error_set(e, ERROR_INVALID, "%.200s: holds a NUL byte", url);
    if (length + 1 >= PATH_MAX) return error_set(e, ERROR_LIMIT, "%.200s...: path too long", url);
    to[length++] = byte;
  }
  to[length] = '\0';
  return length > 0 || error_set(e, ERROR_INVALID, "%s: names no path", url);
}

/* The kind whose URLs are paths. */
static const struct kind directory = {.open = directory_open,
                                      .salvage = directory_salvage,
                                      .holder = directory_holder,
                                      .inbox = directory_inbox,
                                      .list = directory_list,
                                      .exists = directory_exists,
                                      .watch = directory_watch,
                                      .watch_runs = directory_watch_runs,
                                      .label = directory_label,
                                      .pause = directory_pause,
                                      .claims = directory_claims,
                                      .leave = directory_leave,
                                      .departed = directory_departed,
                                      .send = directory_send,
                                      .receive = directory_receive};
static const struct kind memory = {.open = memory_open};

/* The module with PostgreSQL; not loaded for a run in a directory. */
static char module_path[PATH_MAX];

void store_module(const char *path) {
  if (strlen(path) < sizeof module_path) strcpy(module_path, path);
}

static bool is_postgres(const char *url) {
  return begins(url, "postgres://") || begins(url, "postgresql://");
}

bool store_needs_module(const char *url) {
  return is_postgres(url) && !module_path[0];
}

/* The module is never unloaded. */
static const struct kind *postgres(const char *url, struct error *e) {
  store_kind_function *function;
  if (!module_path[0]) {
    error_set(e, ERROR_MISSING,
              "%.200s: needs skillrt/postgres.so, which is not found on package.cpath: install "
              "skillrt-postgresql (Debian), or libpq and build skillrt again",
              url);
    return NULL;
  }
  void *module = dlopen(module_path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  void *symbol = module ? dlsym(module, "skillrt_store_kind") : NULL;
  if (!symbol) {
    error_set(e, ERROR_MISSING,
              "%.200s: cannot be loaded (%.150s); install libpq (Debian: libpq5), or build skillrt "
              "again",
              module_path, module ? "it is not skillrt's" : dlerror());
    return NULL;
  }
  memcpy(&function, &symbol, sizeof function); /* ISO C casts no object to a function */
  return function();
}

/* The kind that a URL names; `at` (PATH_MAX bytes) gets the address for it. */
static const struct kind *kind_of(const char *url, char *at, struct error *e) {
  at[0] = '\0';
  if (strcmp(url, "memory:") == 0) return &memory;
  if (is_postgres(url)) {
    size_t length = strlen(url);
    if (length >= PATH_MAX) {
      error_set(e, ERROR_LIMIT, "%.200s...: too long", url);
      return NULL;
    }
    memcpy(at, url, length + 1);
    return postgres(url, e);
  }
  return url_path(url, at, e) ? &directory : NULL;
}

/* Names of queues and keys are used as file names and as words of a line, so few characters fit. */
static bool queue_valid(const char *name, struct error *e) {
  size_t length = strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-");
  if (length > 0 && length <= QUEUE_NAME && name[length] == '\0') return true;
  return error_set(e, ERROR_INVALID, "\"%.80s\": a queue or key is 1 to 64 of A-Z a-z 0-9 . _ -",
                   name);
}

static bool label_valid(const struct label *label, struct error *e) {
  if (!queue_valid(label->queue, e) || (label->key && !queue_valid(label->key, e))) return false;
  return (label->rate >= 0 && label->rate <= RATE_MAX && label->most >= 0) ||
         error_set(e, ERROR_INVALID, "a rate is at most %d", RATE_MAX);
}

/* Where a run went that is not here, in place of an error that says no more. Returns false. */
static bool say_departed(const struct sys *sys, const struct kind *kind, const char *url,
                         const char *at, struct error *e) {
  struct departure to;
  if (e && e->code == ERROR_MISSING && kind->departed && kind->departed(sys, at, &to, NULL) &&
      to.known_as[0])
    error_set(e, ERROR_MISSING,
              to.ended ? "%.200s: contains no run: it was moved to %.200s"
                       : "%.200s: contains no run: " UNFINISHED,
              url, to.known_as);
  return false;
}

bool store_open(const struct sys *sys, const char *url, const struct store_options *options,
                struct store **store, struct store_report *report, struct error *e) {
  char at[PATH_MAX];
  struct store_report unused;
  if (!report) report = &unused;
  *report = (struct store_report){0};
  if (options->label && !label_valid(options->label, e)) return false;
  const struct kind *kind = kind_of(url, at, e);
  if (!kind) return false;
  if (!kind->open(sys, at, options, store, report, e)) return say_departed(sys, kind, url, at, e);
  (*store)->report = *report;
  return true;
}

void store_salvage(const struct sys *sys, const char *url,
                   bool (*each)(void *data, const struct record *, struct error *), void *data) {
  char at[PATH_MAX];
  const struct kind *kind = kind_of(url, at, NULL);
  if (kind && kind->salvage) kind->salvage(sys, at, each, data);
}

bool store_holder(const struct sys *sys, const char *url, char line[STORE_HOLDER]) {
  char at[PATH_MAX];
  const struct kind *kind = kind_of(url, at, NULL);
  return kind && kind->holder && kind->holder(sys, at, line);
}

bool store_list(const struct sys *sys, const char *url,
                bool (*each)(void *data, const struct listing *), void *data, struct error *e) {
  char at[PATH_MAX];
  const struct kind *kind = kind_of(url, at, e);
  if (!kind) return false;
  return kind->list ? kind->list(sys, at, each, data, e)
                    : error_set(e, ERROR_MISSING, "%s: lists no runs", url);
}

bool store_exists(const struct sys *sys, const char *url) {
  char at[PATH_MAX];
  const struct kind *kind = kind_of(url, at, NULL);
  return kind && kind->exists && kind->exists(sys, at);
}

bool store_watch(const struct sys *sys, const char *url, struct uv_loop_s *loop,
                 void (*changed)(void *), void *data, struct watch **watch, struct error *e) {
  char at[PATH_MAX];
  const struct kind *kind = kind_of(url, at, e);
  if (!kind) return false;
  return kind->watch ? kind->watch(sys, at, loop, changed, data, watch, e)
                     : error_set(e, ERROR_MISSING, "%s: contains no run", url);
}

bool store_watch_runs(const struct sys *sys, const char *url, struct uv_loop_s *loop,
                      void (*changed)(void *), void *data, struct watch **watch, struct error *e) {
  char at[PATH_MAX];
  const struct kind *kind = kind_of(url, at, e);
  if (!kind) return false;
  return kind->watch_runs ? kind->watch_runs(sys, at, loop, changed, data, watch, e)
                          : error_set(e, ERROR_MISSING, "%s: its runs cannot be watched", url);
}

bool inbox_open(const struct sys *sys, const char *url, struct inbox **inbox, struct error *e) {
  char at[PATH_MAX];
  const struct kind *kind = kind_of(url, at, e);
  if (!kind) return false;
  return kind->inbox ? kind->inbox(sys, at, inbox, e)
                     : error_set(e, ERROR_MISSING, "%s: has no inbox", url);
}

bool store_label(const struct sys *sys, const char *url, const struct label *label,
                 struct error *e) {
  char at[PATH_MAX];
  if (!label_valid(label, e)) return false;
  const struct kind *kind = kind_of(url, at, e);
  if (!kind) return false;
  return kind->label ? kind->label(sys, at, label, e)
                     : error_set(e, ERROR_INVALID, "%s: has no queues", url);
}

bool store_pause(const struct sys *sys, const char *url, const char *queue, bool paused,
                 struct error *e) {
  char at[PATH_MAX];
  const struct kind *kind = queue_valid(queue, e) ? kind_of(url, at, e) : NULL;
  if (!kind) return false;
  return kind->pause ? kind->pause(sys, at, queue, paused, e)
                     : error_set(e, ERROR_INVALID, "%s: has no queues", url);
}

bool store_hold(const struct sys *sys, const char *url, struct hold **hold, struct error *e) {
  char at[PATH_MAX];
  const struct kind *kind = kind_of(url, at, e);
  *hold = NULL;
  return kind && (!kind->hold || kind->hold(sys, at, hold, e));
}

bool claims_open(const struct sys *sys, const char *url, const char *queue, struct claims **claims,
                 struct error *e) {
  char at[PATH_MAX];
  const struct kind *kind = queue_valid(queue, e) ? kind_of(url, at, e) : NULL;
  if (!kind) return false;
  return kind->claims ? kind->claims(sys, at, queue, claims, e)
                      : error_set(e, ERROR_INVALID, "%s: has no queues", url);
}

bool store_prepare(const struct sys *sys, const char *url, const struct store_setup *setup,
                   struct buffer *missing, struct error *e) {
  char at[PATH_MAX];
  const struct kind *kind = kind_of(url, at, e);
  if (!kind) return false;
  return kind->prepare ? kind->prepare(sys, at, setup, missing, e)
                       : error_set(e, ERROR_INVALID, "%s: is no database", url);
}

bool store_retire(const struct sys *sys, const char *url, const char *before, bool only_look,
                  struct buffer *to, struct error *e) {
  char at[PATH_MAX];
  const struct kind *kind = kind_of(url, at, e);
  if (!kind) return false;
  return kind->retire ? kind->retire(sys, at, before, only_look, to, e)
                      : error_set(e, ERROR_INVALID, "%s: is no database", url);
}

static bool move_between(struct move *m, struct error *e) {
  m->old = kind_of(m->from, m->old_at, e);
  m->young = m->old ? kind_of(m->to, m->young_at, e) : NULL;
  if (!m->young) return false;
  return (m->old->send && m->young->receive) ||
         error_set(e, ERROR_INVALID, "%s: contains no run that could be moved", m->from);
}

bool store_move(const struct sys *sys, const char *from, const char *to, const char *known_as,
                const char *const *digests, size_t count, struct error *e) {
  struct move move = {
      .from = from, .to = to, .known_as = known_as, .digests = digests, .count = count};
  return move_between(&move, e) && move_run(sys, &move, e);
}

bool store_move_settle(const struct sys *sys, const char *from, const char *to, bool stays,
                       bool *arrived, struct error *e) {
  struct move move = {.from = from, .to = to ? to : from};
  if (!move_between(&move, e)) return false;
  if (!to) move.young = NULL;
  return move_settle(sys, &move, stays, arrived, e);
}

bool store_departed(const struct sys *sys, const char *url, struct departure *to, struct error *e) {
  char at[PATH_MAX];
  *to = (struct departure){.ended = false};
  const struct kind *kind = kind_of(url, at, e);
  return kind && (!kind->departed || kind->departed(sys, at, to, e));
}

void store_close(struct store **store) {
  if (!*store) return;
  (*store)->ops->close(*store);
  *store = NULL;
}

void watch_close(struct watch **watch) {
  if (!*watch) return;
  (*watch)->close(*watch);
  *watch = NULL;
}

void claims_close(struct claims **claims) {
  if (!*claims) return;
  (*claims)->ops->close(*claims);
  *claims = NULL;
}

void hold_close(struct hold **hold) {
  if (!*hold) return;
  (*hold)->close(*hold);
  *hold = NULL;
}

void inbox_close(struct inbox **inbox) {
  if (!*inbox) return;
  (*inbox)->ops->close(*inbox);
  *inbox = NULL;
}
