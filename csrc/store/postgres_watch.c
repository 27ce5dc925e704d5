/* postgres_watch.c: watches a database for changes: by a timer, and by NOTIFY where there is one.
 *
 * A step sends no NOTIFY, because that would take a lock of the whole server. So a watch of a
 * journal reads it twice a second. A watch of an inbox gets a NOTIFY for each arrival, and also
 * reads it now and then. Called by store.c through struct kind, and by postgres.c. */
#include "store/postgres.h"

#include <string.h>
#include <uv.h>

enum { JOURNAL_MS = 500, INBOX_MS = 2000 };

struct look {
  struct watch watch; /* first: a watch is cast to this */
  const struct sys *sys;
  struct url url;
  struct link link; /* of one that listens */
  uv_timer_t timer;
  uv_poll_t poll;
  bool listens;
  int open; /* handles */
  void (*changed)(void *);
  void *data;
};

static void ticked(uv_timer_t *timer) {
  struct look *look = timer->data;
  look->changed(look->data);
}

static void noticed(uv_poll_t *poll, int status, int events) {
  struct look *look = poll->data;
  PGnotify *notice;
  (void)events;
  bool gone = status < 0 || !PQconsumeInput(look->link.connection);
  while (!gone && (notice = PQnotifies(look->link.connection))) {
    bool ours = !look->url.run[0] || strcmp(notice->extra, look->url.run) == 0;
    PQfreemem(notice);
    if (ours) look->changed(look->data);
  }
  if (gone) uv_poll_stop(poll); /* the timer stays */
}

static void closed(uv_handle_t *handle) {
  struct look *look = handle->data;
  if (--look->open > 0) return;
  link_close(&look->link);
  sys_free(look->sys, look, sizeof *look);
}

static void look_close(struct watch *watch) {
  struct look *look = (struct look *)watch;
  if (look->listens) uv_close((uv_handle_t *)&look->poll, closed);
  uv_close((uv_handle_t *)&look->timer, closed);
}

/* False where the server has no LISTEN, or is behind a pool of connections. */
static void listen_too(struct look *look, struct uv_loop_s *loop) {
  if (!link_open(&look->link, NULL) ||
      link_do(&look->link, "listen skillrt_inbox", 0, NULL, NULL) < 0 ||
      (!look->url.run[0] && link_do(&look->link, "listen skillrt_queue", 0, NULL, NULL) < 0) ||
      uv_poll_init(loop, &look->poll, PQsocket(look->link.connection)) != 0)
    return;
  look->listens = true;
  look->open++;
  look->poll.data = look;
  uv_poll_start(&look->poll, UV_READABLE, noticed);
}

static bool look_open(const struct sys *sys, const struct url *url, struct uv_loop_s *loop,
                      bool listens, void (*changed)(void *), void *data, struct watch **watch,
                      struct error *e) {
  struct look *look = sys_alloc(sys, sizeof *look);
  uint8_t jitter = 0;
  if (!look) return error_set(e, ERROR_MEMORY, "%s: out of memory", url->whole);
  *look = (struct look){
      .watch = {look_close}, .sys = sys, .url = *url, .open = 1, .changed = changed, .data = data};
  link_init(&look->link, sys, &look->url);
  look->link.at_once = true; /* the timer stays */
  int held[3];
  sys_hold_standard(held);
  uv_timer_init(loop, &look->timer);
  look->timer.data = look;
  if (listens) listen_too(look, loop);
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
