/* watch.c: see watch.h. */
#include "store/watch.h"

#include <uv.h>

struct watch {
  uv_fs_event_t uv;
  const struct sys *sys;
  void (*changed)(void *);
  void *data;
};

static void noticed(uv_fs_event_t *uv, const char *name, int events, int status) {
  struct watch *watch = uv->data;
  (void)name;
  (void)events;
  (void)status; /* an error of the watch: to look is never wrong */
  watch->changed(watch->data);
}

static void closed(uv_handle_t *uv) {
  struct watch *watch = uv->data;
  sys_free(watch->sys, watch, sizeof *watch);
}

bool watch_open(const struct sys *sys, struct uv_loop_s *loop, const char *path,
                void (*changed)(void *), void *data, struct watch **to, struct error *error) {
  struct watch *watch = sys_alloc(sys, sizeof *watch);
  if (!watch) return error_set(error, ERROR_MEMORY, "%s: no memory", path);
  *watch = (struct watch){.sys = sys, .changed = changed, .data = data};
  int held[3];
  sys_hold_standard(held);
  int failed = uv_fs_event_init(loop, &watch->uv);
  watch->uv.data = watch;
  if (!failed) failed = uv_fs_event_start(&watch->uv, noticed, path, 0);
  sys_release_standard(held);
  if (failed) {
    uv_close((uv_handle_t *)&watch->uv, closed);
    return error_system(error, -failed, "%s cannot be watched", path);
  }
  *to = watch;
  return true;
}

void watch_close(struct watch *watch) {
  if (!watch) return;
  uv_fs_event_stop(&watch->uv);
  uv_close((uv_handle_t *)&watch->uv, closed);
}
