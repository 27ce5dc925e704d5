/* test_host_slow.c: a host that never blocks, on a slow disk: neither the sync of a batch nor a
 * blob of one run holds up the turns of the others; and a blob that finds no room pauses its run.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "base/sys.h"
#include "skillrt.h"
#include "support/check.h"
#include "support/clock.h"
#include "support/scratch.h"

enum { SLOW_MS = 300, HELD_UP_MS = 100 };

static struct scratch folder;
static char error[1024];
static _Atomic int slow_blobs, slow_syncs; /* how often */
static bool full;

static int sync_blob(const struct sys *sys, int fd) { /* only blobs and segments are fsynced */
  (void)sys;
  slow_blobs++;
  usleep(SLOW_MS * 1000);
  return sys_real()->fsync(sys_real(), fd);
}

static int sync_batch(const struct sys *sys, int fd) {
  (void)sys;
  slow_syncs++;
  usleep(SLOW_MS * 1000);
  return sys_real()->fdatasync(sys_real(), fd);
}

static ssize_t write_some(const struct sys *sys, int fd, const void *from, size_t size) {
  (void)sys;
  if (full && size > 200000) return -ENOSPC;
  return sys_real()->write(sys_real(), fd, from, size);
}

static struct skillrt *open_run(struct skillrt_host *host, const char *name, const char *context,
                                const char *body) {
  static char text[2000];
  int size =
      snprintf(text, sizeof text,
               "local skillrt = require 'skillrt'\nreturn skillrt.skill { name = 's', state "
               "= { n = 0 }, actions = { { id = 'a', run = function(state, ctx) %s end } } }\n",
               body);
  struct skillrt_options options = {.size = sizeof options,
                                    .host = host,
                                    .script = "s",
                                    .script_text = text,
                                    .script_size = (size_t)size,
                                    .context = context,
                                    .work_dir = scratch_path(&folder, name)};
  struct skillrt *run = skillrt_open(&options, error, sizeof error);
  if (!run) printf("# %s\n", error);
  return run;
}

/* Steps until the runs are over; the longest turn, in ms. */
static int64_t longest_turn(struct skillrt_host *host) {
  struct pollfd fd = {.fd = skillrt_host_fd(host), .events = POLLIN};
  int64_t longest = 0;
  for (size_t left = 1; left > 0;) {
    int64_t start = clock_real_ns();
    left = skillrt_host_step(host);
    int64_t took = (clock_real_ns() - start) / 1000000;
    if (took > longest) longest = took;
    if (left > 0) poll(&fd, 1, skillrt_host_timeout_ms(host));
  }
  return longest;
}

static void check_slow(void) {
  struct sys sys = *sys_real();
  struct skillrt_host_options options = {.size = sizeof options, .never_block = true, .sys = &sys};
  struct skillrt_host *host = skillrt_host_open(&options, error, sizeof error);
  struct skillrt *large = open_run(host, "large", "file",
                                   "ctx.once('first', function() return ('x'):rep(300000) end)"
                                   "ctx.sleep(0.01) return { n = ('y'):rep(300000) }");
  struct skillrt *other =
      open_run(host, "other", "memory", "for i = 1, 20 do ctx.sleep(0.01) end return { n = 20 }");
  sys.fsync = sync_blob;
  sys.fdatasync = sync_batch;
  int64_t longest = longest_turn(host);
  if (longest >= HELD_UP_MS) printf("# a turn of %ld ms\n", (long)longest);
  CHECK(longest < HELD_UP_MS);
  CHECK(slow_blobs >= 2 && slow_syncs >= 2);
  CHECK_STR(skillrt_status(large), "completed");
  CHECK_STR(skillrt_status(other), "completed");
  size_t size = 0;
  CHECK(skillrt_state_json(large, &size) && size > 300000); /* read from its books */
  skillrt_host_close(host);
}

static void check_full(void) {
  struct sys sys = *sys_real();
  struct skillrt_host_options options = {.size = sizeof options, .never_block = true, .sys = &sys};
  struct skillrt_host *host = skillrt_host_open(&options, error, sizeof error);
  sys.write = write_some;
  struct skillrt *run = open_run(host, "full", "file", "return { n = ('z'):rep(300000) }");
  full = true;
  longest_turn(host);
  full = false;
  CHECK(skillrt_reason_code(run) == SKILLRT_STORE_FAILED);
  CHECK(skillrt_status_code(run) == SKILLRT_PAUSED);
  CHECK(strstr(skillrt_message(run), "blobs/") != NULL);
  skillrt_host_close(host);
}

int main(void) {
  scratch_make(&folder);
  TEST("a host that never blocks is held up by no slow sync and no slow blob of a run") {
    check_slow();
  }
  TEST("a blob that finds no room on the pool pauses its run, as any record does") {
    check_full();
  }
  scratch_remove(&folder);
  return check_finish();
}
