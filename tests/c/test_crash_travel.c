/* test_crash_travel.c: a run is taken back, and forked, while every call to the disk in turn is the
 * last one or fails: each run is as before or as after, and a second try and a resume go on. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/crash.h"

struct harm {
  const char *name;
  unsigned mask;
  bool halfway;
  int number; /* 0: it is killed */
  int cut;    /* -1: the power stays */
};

static const struct harm harms[] = {
    {"kill", FAULTY_DISK, false, 0, -1},
    {"kill halfway", FAULTY_BIT(FAULTY_WRITE), true, 0, -1},
    {"power cut", FAULTY_DISK, true, 0, FAULTY_STRICT},
    {"torn power cut", FAULTY_DISK, true, 0, FAULTY_TORN},
    {"EIO", FAULTY_FILES, false, EIO, -1},
    {"ENOSPC", FAULTY_DISK, false, ENOSPC, -1},
};

static const char *const none[] = {NULL};
static struct crash c;
static long points, wrong;
static unsigned long untouched; /* the folder of the run before it is forked */
static char before[1000], after[1000], ended[1000];

/* What the script does when it is read, see tests/run/skills/travels.lua. */
static const char *perform(const char *what) {
  setenv("TRAVEL", what, 1);
  crash_episode(&c, false, NULL);
  unsetenv("TRAVEL");
  const char *at = strchr(c.error, 1);
  return at ? at + 1 : c.error;
}

static void bad(const char *where, const char *what, const char *text) {
  wrong++;
  printf("# %s: %s: %s\n", where, what, text);
}

static void begun(void) {
  crash_fresh(&c);
  if (!crash_episode(&c, false, NULL) || !crash_ended(&c)) bad("begun", "not ended", c.error);
  faulty_reset(c.faulty);
}

/* Goes on with the run, or with its fork. */
static void resume(bool forks, const char *where) {
  char directory[sizeof c.directory];
  snprintf(directory, sizeof directory, "%s", c.directory);
  if (forks) snprintf(c.directory, sizeof c.directory, "%s", getenv("TRAVEL_OUT"));
  if (!crash_episode(&c, true, NULL) || !crash_ended(&c))
    bad(where, "cannot go on", c.error[0] ? c.error : c.message);
  snprintf(c.directory, sizeof c.directory, "%s", directory);
}

static void keep(char to[1000], const char *text) {
  snprintf(to, 1000, "%s", text);
}

/* What it is like where nothing is harmed. */
static void undisturbed(const char *what, bool forks) {
  begun();
  untouched = scratch_print(&c.scratch, "run");
  keep(before, perform("look"));
  CHECK_STR(perform(what), "done");
  keep(after, perform("look"));
  CHECK(strcmp(before, after) != 0);
  if (forks) CHECK(scratch_print(&c.scratch, "run") == untouched);
  resume(forks, what);
  keep(ended, perform("look at files"));
}

static void harmed(const char *what, bool forks, const struct harm *harm, uint64_t n, bool again) {
  char where[128];
  const char *said;
  snprintf(where, sizeof where, "%s, %s %lu%s", what, harm->name, (unsigned long)n,
           again ? ", tried again" : "");
  begun();
  untouched = scratch_print(&c.scratch, "run");
  if (harm->cut >= 0) faulty_power(c.faulty, c.scratch.path);
  if (harm->number)
    faulty_fail(c.faulty, harm->mask, n, harm->number, FAULTY_ONCE);
  else
    faulty_kill(c.faulty, harm->mask, n, harm->halfway);
  bool left = strcmp(perform(what), "left") == 0; /* it is told that a file could not be read */
  if (harm->cut >= 0) faulty_power_cut(c.faulty, (enum faulty_cut)harm->cut, n);
  crash_heal(&c, 1);
  bool is_after = strcmp(said = perform("look"), after) == 0;
  bool is_before = strcmp(said, before) == 0 || (forks && strstr(said, "| no run"));
  if (!is_after && !is_before) bad(where, "is between", said);
  if (!is_after || again) {
    said = perform(what);
    if (strcmp(said, "done") != 0 && !(forks && is_after && strstr(said, "holds a run already")))
      bad(where, "a second try", said);
  }
  if (forks && scratch_print(&c.scratch, "run") != untouched)
    bad(where, "touched the original", "");
  resume(forks, where);
  said = perform("look at files");
  if (strcmp(said, ended) != 0 && !left) bad(where, "came to another end", said);
  if (faulty_outstanding(c.faulty) > 0 || faulty_open_files(c.faulty) > 0)
    bad(where, "memory or descriptors", "left");
  points++;
}

static uint64_t counted(const char *what, unsigned mask) {
  begun();
  perform(what);
  return faulty_count(c.faulty, mask);
}

static void everywhere(const char *what, bool forks) {
  wrong = 0;
  undisturbed(what, forks);
  for (size_t i = 0; i < sizeof harms / sizeof *harms; i++) {
    uint64_t calls = counted(what, harms[i].mask), stride = crash_stride(calls, CRASH_ALL);
    for (uint64_t n = 1 + crash_seed() % stride; n <= calls; n += stride) {
      harmed(what, forks, &harms[i], n, false);
      harmed(what, forks, &harms[i], n, true);
    }
  }
  CHECK(wrong == 0);
}

int main(void) {
  char path[sizeof c.directory + 8];
  setvbuf(stdout, NULL, _IOLBF, 0);
  setenv("TRAVEL_DIR", "/nowhere/run", 1);
  setenv("TRAVEL_OUT", "/nowhere/out", 1);
  struct scratch scratch;
  scratch_make(&scratch);
  setenv("TRAVEL_DIR", scratch_path(&scratch, "first"), 1);
  CHECK(crash_init(&c, "travels", NULL, none));
  setenv("TRAVEL_DIR", c.directory, 1);
  snprintf(path, sizeof path, "%s-fork", c.directory);
  setenv("TRAVEL_OUT", path, 1);
  TEST("a rollback killed or failing at any call leaves the run as before or as after (R86, F42)") {
    everywhere("rollback", false);
  }
  TEST(
      "a fork killed or failing at any call is there or not, and its original is untouched (R86)") {
    everywhere("fork", true);
  }
  printf("%ld points\n", points);
  crash_clear(&c);
  scratch_remove(&scratch);
  return check_finish();
}
