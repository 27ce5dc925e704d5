/* watch.c: see watch.h. */
#include "store/watch.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <uv.h>

struct folder {
  struct watch watch; /* first: a watch is cast to this */
  uv_fs_event_t uv;
  const struct sys *sys;
  void (*changed)(void *);
  void *data;
  char wanted[PATH_MAX], path[PATH_MAX]; /* what is watched now; "": nothing */
};

static void noticed(uv_fs_event_t *uv, const char *name, int events, int status);

/* Watches the folder, or the nearest that is there; what came to be meanwhile is seen, too. */
static int descend(struct folder *f) {
  char path[PATH_MAX], above[PATH_MAX];
  struct sys_stat found;
  for (;;) {
    memcpy(path, f->wanted, sizeof path);
    while (f->sys->stat(f->sys, path, &found) < 0 && strcmp(path, ".") != 0 &&
           strcmp(path, "/") != 0) {
      sys_parent(above, path);
      memcpy(path, above, sizeof path);
    }
    if (strcmp(path, f->path) == 0) return 0;
    uv_fs_event_stop(&f->uv);
    f->path[0] = '\0';
    int failed = uv_fs_event_start(&f->uv, noticed, path, 0);
    if (failed) return failed;
    memcpy(f->path, path, sizeof path);
  }
}

static void noticed(uv_fs_event_t *uv, const char *name, int events, int status) {
  struct folder *f = uv->data;
  (void)name;
  (void)events;
  (void)status; /* an error of the watch: to look is never wrong */
  if (strcmp(f->path, f->wanted) != 0) descend(f);
  f->changed(f->data);
}

static void closed(uv_handle_t *uv) {
  struct folder *f = uv->data;
  sys_free(f->sys, f, sizeof *f);
}

static void folder_close(struct watch *watch) {
  struct folder *f = (struct folder *)watch;
  uv_fs_event_stop(&f->uv);
  uv_close((uv_handle_t *)&f->uv, closed);
}

bool watch_open(const struct sys *sys, struct uv_loop_s *loop, const char *path,
                void (*changed)(void *), void *data, struct watch **to, struct error *error) {
  struct folder *f = sys_alloc(sys, sizeof *f);
  if (!f) return error_set(error, ERROR_MEMORY, "%s: no memory", path);
  f->watch.close = folder_close;
  f->sys = sys;
  f->changed = changed;
  f->data = data;
  snprintf(f->wanted, sizeof f->wanted, "%s", path);
  int held[3];
  sys_hold_standard(held);
  int failed = uv_fs_event_init(loop, &f->uv);
  f->uv.data = f;
  if (!failed) failed = descend(f);
  sys_release_standard(held);
  if (failed) {
    uv_close((uv_handle_t *)&f->uv, closed);
    return error_system(error, -failed, "%s cannot be watched", path);
  }
  *to = &f->watch;
  return true;
}
