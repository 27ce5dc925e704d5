/* watch_runs.c: a folder of runs that is watched: the folder, and the journal of each run in it.
 *
 * A journal that is appended to, or closed by whoever could write to it (also because that process
 * died), may change what a list says; a look at it does not. See watch.h. */
#include "store/watch.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <uv.h>

#include "base/buffer.h"
#include "store/file.h"

enum {
  OF_FOLDER = IN_CREATE | IN_DELETE | IN_MOVE | IN_DELETE_SELF | IN_ONLYDIR,
  OF_RUN = IN_CREATE | IN_MOVED_TO | IN_ONLYDIR | IN_DONT_FOLLOW,
  OF_JOURNAL =
      IN_MODIFY | IN_CLOSE_WRITE | IN_CREATE | IN_DELETE | IN_MOVE | IN_ONLYDIR | IN_DONT_FOLLOW,
  YOUNG_MAX = 1 << 20, /* bytes */
  BLIND_MS = 2000,     /* so often something may have changed where the system watches no more */
};

/* A run without a journal yet. */
struct young {
  int watch;
  char name[NAME_MAX + 1];
};

struct runs {
  struct watch watch; /* first: a watch is cast to this */
  const struct sys *sys;
  uv_poll_t readable;
  uv_timer_t blind;
  int open; /* handles */
  int fd, folder;
  void (*changed)(void *);
  void *data;
  struct buffer young;
  char path[PATH_MAX];
};

static void see_nothing(uv_timer_t *timer) {
  struct runs *r = timer->data;
  r->changed(r->data);
}

static bool watch_add(struct runs *r, const char *path, uint32_t mask, int *watch) {
  *watch = inotify_add_watch(r->fd, path, mask);
  if (*watch >= 0) return true;
  if (errno != ENOENT && errno != ENOTDIR && errno != ELOOP &&
      !uv_is_active((uv_handle_t *)&r->blind))
    uv_timer_start(&r->blind, see_nothing, BLIND_MS, BLIND_MS);
  return false;
}

static struct young *young_at(const struct runs *r, size_t i) {
  return (struct young *)(void *)r->young.data + i;
}

/* The run whose own folder is watched so; NULL: none. */
static struct young *young_find(const struct runs *r, int watch) {
  for (size_t i = 0; i < r->young.length / sizeof(struct young); i++)
    if (young_at(r, i)->watch == watch) return young_at(r, i);
  return NULL;
}

static void young_forget(struct runs *r, int watch) {
  struct young *one = young_find(r, watch);
  if (!one) return;
  *one = *young_at(r, r->young.length / sizeof *one - 1);
  r->young.length -= sizeof *one;
}

/* Its journal, or what it is to come to be in, from before a second look for it on. */
static void run_add(struct runs *r, const char *name) {
  char run[PATH_MAX], journal[PATH_MAX];
  struct young young;
  int watch;
  if (name[0] == '.' || !file_path(run, r->path, name, NULL) ||
      !file_path(journal, run, "journal", NULL) || watch_add(r, journal, OF_JOURNAL, &watch))
    return;
  if (!watch_add(r, run, OF_RUN, &young.watch)) return;
  if (watch_add(r, journal, OF_JOURNAL, &watch)) {
    inotify_rm_watch(r->fd, young.watch);
    return;
  }
  young_forget(r, young.watch);
  snprintf(young.name, sizeof young.name, "%s", name);
  buffer_append(&r->young, &young, sizeof young, NULL);
}

static bool list_each(void *data, const char *name, enum sys_kind kind) {
  if (kind == SYS_DIRECTORY) run_add(data, name);
  return true;
}

static void event_take(struct runs *r, const struct inotify_event *event) {
  struct young *young;
  bool is_run = event->len > 0 && event->name[0] != '.' && (event->mask & IN_ISDIR);
  if (event->mask & IN_Q_OVERFLOW) {
    r->sys->list(r->sys, r->path, list_each, r);
  } else if (event->wd == r->folder) {
    if (is_run && (event->mask & (IN_CREATE | IN_MOVED_TO))) run_add(r, event->name);
    if (!is_run && !(event->mask & (IN_DELETE_SELF | IN_IGNORED))) return; /* a file next to runs */
  } else if ((young = young_find(r, event->wd))) {
    char name[NAME_MAX + 1];
    snprintf(name, sizeof name, "%s", young->name);
    if (!(event->mask & IN_IGNORED) && strcmp(event->name, "journal") != 0) return;
    young_forget(r, event->wd);
    if (!(event->mask & IN_IGNORED)) {
      inotify_rm_watch(r->fd, event->wd);
      run_add(r, name);
    }
  }
  r->changed(r->data);
}

static void noticed(uv_poll_t *poll, int status, int events) {
  struct runs *r = poll->data;
  char bytes[16 << 10] __attribute__((aligned(__alignof__(struct inotify_event))));
  (void)status;
  (void)events;
  for (;;) {
    ssize_t count = r->sys->read(r->sys, r->fd, bytes, sizeof bytes);
    if (count <= 0) return;
    for (ssize_t at = 0; at < count;) {
      const struct inotify_event *event = (const void *)(bytes + at);
      event_take(r, event);
      at += (ssize_t)(sizeof *event + event->len);
    }
  }
}

static void closed(uv_handle_t *handle) {
  struct runs *r = handle->data;
  if (--r->open > 0) return;
  if (r->fd >= 0) r->sys->close(r->sys, r->fd);
  buffer_clear(&r->young);
  sys_free(r->sys, r, sizeof *r);
}

static void runs_close(struct watch *watch) {
  struct runs *r = (struct runs *)watch;
  if (r->open > 1) uv_close((uv_handle_t *)&r->readable, closed);
  uv_close((uv_handle_t *)&r->blind, closed);
}

bool watch_runs_open(const struct sys *sys, struct uv_loop_s *loop, const char *path,
                     void (*changed)(void *), void *data, struct watch **to, struct error *error) {
  struct runs *r = sys_alloc(sys, sizeof *r);
  if (!r) return error_set(error, ERROR_MEMORY, "%s: no memory", path);
  r->watch.close = runs_close;
  r->sys = sys;
  r->changed = changed;
  r->data = data;
  r->open = 1;
  r->folder = -1;
  buffer_init(&r->young, sys, YOUNG_MAX);
  snprintf(r->path, sizeof r->path, "%s", path);
  uv_timer_init(loop, &r->blind);
  r->readable.data = r->blind.data = r;
  int held[3];
  sys_hold_standard(held);
  r->fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
  sys_release_standard(held);
  if (r->fd >= 0 && uv_poll_init(loop, &r->readable, r->fd) == 0) {
    r->open = 2;
    uv_poll_start(&r->readable, UV_READABLE, noticed);
    if (watch_add(r, path, OF_FOLDER, &r->folder)) sys->list(sys, path, list_each, r);
  }
  if (r->folder < 0) uv_timer_start(&r->blind, see_nothing, BLIND_MS, BLIND_MS);
  *to = &r->watch;
  return true;
}
