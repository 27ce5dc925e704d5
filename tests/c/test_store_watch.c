/* test_store_watch.c: a folder of runs that is watched: what may change a list of them is noticed,
 * whenever its run came; a look is not. */
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uv.h>

#include "store/watch.h"
#include "support/check.h"
#include "support/scratch.h"

enum { WAIT_MS = 1500, QUIET_MS = 40 }; /* one that sees nothing looks every 2000 ms */

static int changes;

static void changed(void *data) {
  (void)data;
  changes++;
}

static bool heard(uv_loop_t *loop, int ms) {
  changes = 0;
  for (int i = 0; i < ms && changes == 0; i++) {
    uv_run(loop, UV_RUN_NOWAIT);
    if (changes == 0) usleep(1000);
  }
  bool any = changes > 0;
  for (int i = 0; i < 20; i++) /* what else the same change gives */
    uv_run(loop, UV_RUN_NOWAIT), usleep(200);
  return any;
}

static void make_folder(struct scratch *s, const char *name) {
  CHECK(mkdir(scratch_path(s, name), 0700) == 0);
}

static void append(struct scratch *s, const char *name) {
  FILE *file = fopen(scratch_path(s, name), "a");
  CHECK(file && fputs("line\n", file) >= 0 && fclose(file) == 0);
}

int main(void) {
  struct scratch s;
  uv_loop_t loop;
  struct watch *watch = NULL;
  struct error error = {0};
  scratch_make(&s);
  uv_loop_init(&loop);
  make_folder(&s, "runs");
  make_folder(&s, "runs/old");
  make_folder(&s, "runs/old/journal");
  append(&s, "runs/old/journal/1");
  CHECK(
      watch_runs_open(sys_real(), &loop, scratch_path(&s, "runs"), changed, NULL, &watch, &error));
  TEST("a journal that was there is appended to; a look at it is nothing new") {
    append(&s, "runs/old/journal/1");
    CHECK(heard(&loop, WAIT_MS));
    FILE *file = fopen(scratch_path(&s, "runs/old/journal/1"), "r");
    CHECK(file && fgetc(file) == 'l' && fclose(file) == 0);
    append(&s, "runs/note");
    CHECK(!heard(&loop, QUIET_MS));
  }
  TEST("a run comes, its journal, and what is appended to it then; and it goes") {
    make_folder(&s, "runs/new");
    CHECK(heard(&loop, WAIT_MS));
    append(&s, "runs/new/other");
    CHECK(!heard(&loop, QUIET_MS));
    make_folder(&s, "runs/new/journal");
    CHECK(heard(&loop, WAIT_MS));
    append(&s, "runs/new/journal/1");
    CHECK(heard(&loop, WAIT_MS));
    CHECK(rename(scratch_path(&s, "runs/new"), scratch_path(&s, "gone")) == 0);
    CHECK(heard(&loop, WAIT_MS));
  }
  watch->close(watch);
  uv_run(&loop, UV_RUN_DEFAULT);
  CHECK(uv_loop_close(&loop) == 0);
  scratch_remove(&s);
  return check_finish();
}
