/* test_crash_kill.c: whole runs of reference skills die, or lose their power, at every call to
 * the disk in turn, and are taken up again: each comes to the same end. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "support/check.h"
#include "support/crash.h"
#include "support/http_server.h"

struct harm {
  const char *name;
  unsigned mask;
  bool halfway;
  int cut; /* -1: the process dies, the power stays */
  uint64_t seed;
};

static const struct harm harms[] = {
    {"kill", FAULTY_DISK, false, -1, 0},
    {"kill halfway", FAULTY_BIT(FAULTY_WRITE), true, -1, 0},
    {"power cut", FAULTY_DISK, true, FAULTY_STRICT, 0},
    {"torn power cut", FAULTY_DISK, true, FAULTY_TORN, 1},
    {"torn power cut", FAULTY_DISK, true, FAULTY_TORN, 2},
    {"power cut of any sectors and names", FAULTY_DISK, true, FAULTY_ANY, 3},
};

enum { SERVED = 60 }; /* points where a program of another's takes part: it takes its time */

/* How often the server of tests/run/skills/mcp.lua, or mcp_url.lua, may have acted: once for each
 * call, and once more wherever somebody was asked about one that had left, and said that it shall.
 */
static bool acted_too_often(struct crash *c, const char *counted, const char *where) {
  static const char again[] = "-e '\"t\":\"doubt\"' -e '\"kind\":\"ask\".*Send it again'";
  static const char unsent[] = "'\"class\":\"lost\".*\"unsent\":true'";
  char command[3 * PATH_MAX];
  snprintf(command, sizeof command,
           "cd %s && cat journal/*.sj >../all && test $(wc -l <%s/acts) -le $((4 + $(grep -c %s "
           "../all) - $(grep -c %s ../all)))",
           c->directory, counted, again, unsent);
  fflush(stdout);
  if (system(command) == 0) return false;
  printf("# %s: the server acted more often than it was asked to\n", where);
  return true;
}

static void at_every_point(struct crash *c, const struct harm *harm, struct scratch *served) {
  uint64_t stride = crash_stride(crash_calls(c, harm->mask), served ? SERVED : CRASH_ALL);
  uint64_t end = crash_calls(c, FAULTY_DISK) * 3 + 100;
  for (uint64_t n = 1 + (crash_seed() + harm->seed) % stride; n < end; n += stride) {
    char where[96];
    snprintf(where, sizeof where, "%s at call %lu", harm->name, (unsigned long)n);
    crash_fresh(c);
    if (served) scratch_empty(served);
    if (harm->cut >= 0) faulty_power(c->faulty, c->scratch.path);
    faulty_kill(c->faulty, harm->mask, n, harm->halfway);
    crash_episode(c, false, NULL);
    bool killed = faulty_killed(c->faulty);
    if (harm->cut >= 0) faulty_power_cut(c->faulty, (enum faulty_cut)harm->cut, harm->seed + n);
    crash_survey(c, where);
    if (served && acted_too_often(c, served->path, where)) c->duplicated++;
    if (c->hung) return; /* once is enough */
    if (!killed) return;
  }
}

static void counted(const char *skill, const char *input, const char *const *files,
                    struct scratch *served) {
  struct crash c;
  CHECK(crash_init(&c, skill, input, files));
  for (size_t i = 0; i < sizeof harms / sizeof *harms; i++)
    at_every_point(&c, &harms[i], served);
  CHECK(c.refused == 0 && c.different == 0 && c.lost == 0 && c.duplicated == 0);
  CHECK(c.points > (long)(crash_calls(&c, FAULTY_DISK) /
                          crash_stride(crash_calls(&c, FAULTY_DISK), served ? SERVED : CRASH_ALL)));
  crash_count(&c, skill);
  crash_clear(&c);
}

static void everywhere(const char *skill, const char *input, const char *const *files) {
  counted(skill, input, files, NULL);
}

static void over_mcp(const char *skill) {
  static const char *const files[] = {NULL};
  struct scratch served;
  scratch_make(&served);
  setenv("CRASH_MCP", served.path, 1);
  counted(skill, NULL, files, &served);
  scratch_remove(&served);
}

/* A server behind a URL that asks in between, before each of its answers. */
static void over_session(const char *skill) {
  static const char *const files[] = {NULL};
  struct http_server *server = http_server_start(NULL, NULL, 0);
  struct scratch served, scripts;
  char url[CRASH_HTTP_INPUT], script[2 * PATH_MAX];
  CHECK(server != NULL);
  if (!server) return;
  scratch_make(&served);
  scratch_make(&scripts);
  int length = snprintf(
      script, sizeof script,
      "note %s/acts\nsse\nevent {\"id\":\"q\",\"method\":\"roots/list\"}\nsay done\n", served.path);
  scratch_write(&scripts, "uncounted", "", 0);
  scratch_write(&scripts, "tools_call", script, (size_t)length);
  snprintf(url, sizeof url, "http://127.0.0.1:%d/mcp%.400s", http_server_port(server),
           scripts.path);
  setenv("CRASH_URL", url, 1);
  counted(skill, NULL, files, &served);
  http_server_stop(server);
  scratch_remove(&served);
  scratch_remove(&scripts);
}

static void over_http(void) {
  struct http_server *server = http_server_start(NULL, NULL, 0);
  static const char *const files[] = {NULL};
  char input[CRASH_HTTP_INPUT];
  CHECK(server != NULL);
  if (!server) return;
  crash_http_input(input, http_server_port(server));
  everywhere("http", input, files);
  struct http_counts counts = http_server_counts(server);
  CHECK(counts.keys == 2); /* a request that left twice had the same key */
  http_server_stop(server);
}

/* What the model says lies in files that the skill writes itself, as they name its folder. */
static void talks(const char *skill, int exchanges) {
  struct http_server *server = http_server_start(NULL, NULL, 0);
  struct scratch scratch;
  static const char *const files[] = {"notes.md", NULL};
  char url[CRASH_HTTP_INPUT];
  CHECK(server != NULL);
  if (!server) return;
  scratch_make(&scratch);
  snprintf(url, sizeof url, "http://127.0.0.1:%d/talk%.400s/-", http_server_port(server),
           scratch.path);
  setenv("CRASH_URL", url, 1);
  setenv("CRASH_TALK", scratch.path, 1);
  everywhere(skill, NULL, files);
  struct http_counts counts = http_server_counts(server);
  CHECK(counts.keys == exchanges); /* one that left twice had the same key */
  http_server_stop(server);
  scratch_remove(&scratch);
}

int main(void) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  TEST("a sequential run killed anywhere comes to the same end (F40, F41)") {
    static const char *const files[] = {"plan.json", "out/collected.md", "out/deep/written.json",
                                        "notes/written.txt", NULL};
    everywhere("sequential", NULL, files);
  }
  TEST("an autonomous run with blobs and retries killed anywhere comes to the same end (F41)") {
    static const char *const files[] = {NULL};
    everywhere("autonomous", NULL, files);
  }
  TEST("a run of parallel commands killed anywhere comes to the same end (F41)") {
    static const char *const files[] = {"a.txt", "b.txt", "c.txt", "joined.txt", NULL};
    everywhere("parallel", NULL, files);
  }
  TEST("a run of HTTP tasks killed anywhere sends each task under one key (F41)") {
    over_http();
  }
  TEST("a function that waits for several tasks and is killed anywhere pays none twice (F41)") {
    static const char *const files[] = {NULL};
    everywhere("await", NULL, files);
  }
  TEST("programs one talks to, of a run killed anywhere, are told no more and no less (F41)") {
    static const char *const files[] = {NULL};
    everywhere("sessions", NULL, files);
    everywhere("sessions with books", NULL, files);
  }
  TEST("a server of MCP that acts and asks, of a run killed anywhere, does nothing twice") {
    over_mcp("mcp");
    over_mcp("mcp with books");
    over_session("mcp_url");
    over_session("mcp_url with books");
  }
  TEST("a run that keeps all its books now and then, killed anywhere, goes on from them (F41)") {
    static const char *const printed[] = {"a.txt", "b.txt", "c.txt", "joined.txt", NULL};
    static const char *const none[] = {NULL};
    everywhere("autonomous with books", NULL, none);
    everywhere("parallel with books", NULL, printed);
    everywhere("await with books", NULL, none);
  }
  TEST("a function with branches two deep, killed anywhere, comes to the same end (F40, F41)") {
    static const char *const files[] = {NULL};
    setenv("CRASH_SHAPE", "narrow", 1);
    everywhere("orders_branches", NULL, files);
    setenv("CRASH_SHAPE", "loop", 1);
    everywhere("orders_branches", NULL, files);
  }
  TEST("maps, races, deadlines, spawned branches, loops and each, killed anywhere, end the same") {
    static const char *const files[] = {NULL};
    setenv("CRASH_SHAPE", "every", 1);
    everywhere("orders_branches", NULL, files);
    everywhere("orders_each", NULL, files);
  }
  TEST("a machine killed anywhere comes to the same state, history and metrics (R144)") {
    static const char *const files[] = {NULL};
    everywhere("machine", NULL, files);
    everywhere("machine with books", NULL, files);
  }
  TEST("an aborted run, and a sub-run in it, killed anywhere undo each step once (R171)") {
    static const char *const files[] = {NULL};
    everywhere("undone", NULL, files);
    everywhere("undone with books", NULL, files);
  }
  TEST("a model's tool loop killed anywhere ends the same, no exchange has two keys (F41)") {
    talks("tools", 5);
    talks("tools with books", 5);
  }
  return (int)!crash_close() | check_finish();
}
