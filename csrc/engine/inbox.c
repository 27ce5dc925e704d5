/* inbox.c: watches a folder by the system's own means (inotify), so that a run that waits for a
 * person costs nothing until one comes.
 *
 * Knows no files and no runs. Called by runtime.c. */
#include "engine/inbox.h"

#include <errno.h>
#include <uv.h>

struct inbox {
  uv_fs_event_t uv;
  const struct sys *sys;
  void (*changed)(void *);
  void *data;
};

static void noticed(uv_fs_event_t *uv, const char *name, int events, int status) {
  struct inbox *inbox = uv->data;
  (void)name;
  (void)events;
  (void)status; /* an error of the watch: to look is never wrong */
  inbox->changed(inbox->data);
}

static void closed(uv_handle_t *uv) {
  struct inbox *inbox = uv->data;
  sys_free(inbox->sys, inbox, sizeof *inbox);
}

bool inbox_open(const struct sys *sys, struct uv_loop_s *loop, const char *path,
                void (*changed)(void *), void *data, struct inbox **to, struct error *error) {
  int failed = sys->mkdir(sys, path, 0700);
  if (failed < 0 && failed != -EEXIST) return error_system(error, -failed, "%s", path);
  struct inbox *inbox = sys_alloc(sys, sizeof *inbox);
  if (!inbox) return error_set(error, ERROR_MEMORY, "%s: no memory", path);
  *inbox = (struct inbox){.sys = sys, .changed = changed, .data = data};
  int held[3];
  sys_hold_standard(held);
  failed = uv_fs_event_init(loop, &inbox->uv);
  inbox->uv.data = inbox;
  if (!failed) failed = uv_fs_event_start(&inbox->uv, noticed, path, 0);
  sys_release_standard(held);
  if (failed) {
    uv_close((uv_handle_t *)&inbox->uv, closed);
    return error_system(error, -failed, "%s cannot be watched", path);
  }
  *to = inbox;
  return true;
}

void inbox_close(struct inbox *inbox) {
  if (!inbox) return;
  uv_fs_event_stop(&inbox->uv);
  uv_close((uv_handle_t *)&inbox->uv, closed);
}
