/* postgres_watch.c: watches a database for changes: by a timer, and by NOTIFY where there is one.
 *
 * A step sends no NOTIFY, because that would take a lock of the whole server. So a watch of a
 * journal reads it twice a second. A watch of an inbox gets a NOTIFY for each arrival, and also
 * reads it now and then. Called by store.c through struct kind, and by postgres.c. */
#include "store/postgres.h"

#include <pthread.h>
#include <string.h>
#include <uv.h>

enum { JOURNAL_MS = 500, INBOX_MS = 2000 };

struct look {
  struct watch watch; /* first: a watch is cast to this */
  const struct sys *sys;
  struct look *next;            /* of its ear */
  struct ear *ear;              /* NULL: none; its timer has to do */
  char run[JOURNAL_RUN_ID + 1]; /* "": all of the database */
  uv_timer_t timer;
  void (*changed)(void *);
  void *data;
};

/* The connection that listens, for all watches of a loop. */
struct ear {
  struct ear *next;
  const struct sys *sys;
  struct uv_loop_s *loop;
  struct url url;
  struct link link;
  uv_poll_t poll;
  struct look *first;
  bool gone; /* the connection was cut */
};

static pthread_mutex_t all_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct ear *all;

static void ticked(uv_timer_t *timer) {
  struct look *look = timer->data;
  look->changed(look->data);
}

static void tell(const struct ear *ear, const char *run) {
  for (struct look *look = ear->first, *next; look; look = next) {
    next = look->next;
    if (!look->run[0] || strcmp(run, look->run) == 0) look->changed(look->data);
  }
}

static void noticed(uv_poll_t *poll, int status, int events) {
  struct ear *ear = poll->data;
  PGnotify *notice;
  (void)events;
  ear->gone = status < 0 || !PQconsumeInput(ear->link.connection);
  while (!ear->gone && (notice = PQnotifies(ear->link.connection))) {
    tell(ear, notice->extra);
    PQfreemem(notice);
  }
  if (ear->gone) uv_poll_stop(poll); /* the timers stay */
}

/* ---- ears ---- */

/* False where the server has no LISTEN, or is behind a pool of connections. */
static bool begin_to_listen(struct ear *ear) {
  link_init(&ear->link, ear->sys, &ear->url);
  ear->link.at_once = true; /* the timers stay */
  ear->poll.data = ear;
  if (!link_open(&ear->link, NULL) ||
      link_do(&ear->link, "listen skillrt_inbox", 0, NULL, NULL) < 0 ||
      link_do(&ear->link, "listen skillrt_queue", 0, NULL, NULL) < 0 ||
      uv_poll_init(ear->loop, &ear->poll, PQsocket(ear->link.connection)) != 0)
    return false;
  uv_poll_start(&ear->poll, UV_READABLE, noticed);
  return true;
}

static void ear_free(struct ear *ear) {
  link_close(&ear->link);
  sys_free(ear->sys, ear, sizeof *ear);
}

static void ear_closed(uv_handle_t *handle) {
  ear_free(handle->data);
}

/* The caller holds the mutex. */
static struct ear *find_ear(const struct url *url, const struct uv_loop_s *loop) {
  for (struct ear *ear = all; ear; ear = ear->next)
    if (ear->loop == loop && !ear->gone && strcmp(ear->url.database, url->database) == 0)
      return ear;
  return NULL;
}

static void take_ear(struct look *look, const struct url *url, struct uv_loop_s *loop) {
  pthread_mutex_lock(&all_mutex);
  struct ear *ear = find_ear(url, loop);
  if (!ear && (ear = sys_alloc(look->sys, sizeof *ear))) {
    ear->sys = look->sys;
    ear->loop = loop;
    ear->url = *url;
    if (begin_to_listen(ear)) {
      ear->next = all;
      all = ear;
    } else {
      ear_free(ear);
      ear = NULL;
    }
  }
  if (ear) {
    look->next = ear->first;
    ear->first = look;
  }
  look->ear = ear;
  pthread_mutex_unlock(&all_mutex);
}

/* An ear is closed with the last watch that it has. */
static void leave_ear(struct look *look) {
  struct ear *ear = look->ear;
  if (!ear) return;
  pthread_mutex_lock(&all_mutex);
  struct look **at = &ear->first;
  while (*at != look)
    at = &(*at)->next;
  *at = look->next;
  if (!ear->first) {
    struct ear **of = &all;
    while (*of != ear)
      of = &(*of)->next;
    *of = ear->next;
    uv_close((uv_handle_t *)&ear->poll, ear_closed);
  }
  pthread_mutex_unlock(&all_mutex);
}

/* ---- watches ---- */

static void closed(uv_handle_t *handle) {
  struct look *look = handle->data;
  sys_free(look->sys, look, sizeof *look);
}

static void look_close(struct watch *watch) {
  struct look *look = (struct look *)watch;
  leave_ear(look);
  uv_close((uv_handle_t *)&look->timer, closed);
}

static bool look_open(const struct sys *sys, const struct url *url, struct uv_loop_s *loop,
                      bool listens, void (*changed)(void *), void *data, struct watch **watch,
                      struct error *e) {
  struct look *look = sys_alloc(sys, sizeof *look);
  uint8_t jitter = 0;
  if (!look) return error_set(e, ERROR_MEMORY, "%s: out of memory", url->whole);
  *look = (struct look){.watch = {look_close}, .sys = sys, .changed = changed, .data = data};
  memcpy(look->run, url->run, sizeof look->run);
  int held[3];
  sys_hold_standard(held);
  uv_timer_init(loop, &look->timer);
  look->timer.data = look;
  if (listens) take_ear(look, url, loop);
  sys_release_standard(held);
  sys->random(sys, &jitter, sizeof jitter);
  uint64_t ms = (uint64_t)(listens ? INBOX_MS : JOURNAL_MS) + jitter;
  uv_timer_start(&look->timer, ticked, ms, ms);
  *watch = &look->watch;
  return true;
}

bool postgres_listen(const struct sys *sys, const struct url *url, struct uv_loop_s *loop,
                     void (*changed)(void *), void *data, struct watch **watch, struct error *e) {
  return look_open(sys, url, loop, true, changed, data, watch, e);
}

bool postgres_watch_claims(const struct sys *sys, const struct url *url, struct uv_loop_s *loop,
                           void (*changed)(void *), void *data, struct watch **watch,
                           struct error *e) {
  struct url place = *url;
  place.run[0] = '\0';
  return look_open(sys, &place, loop, true, changed, data, watch, e);
}

bool postgres_watch(const struct sys *sys, const char *at, struct uv_loop_s *loop,
                    void (*changed)(void *), void *data, struct watch **watch, struct error *e) {
  struct url url;
  return url_read(at, true, &url, e) && look_open(sys, &url, loop, false, changed, data, watch, e);
}
