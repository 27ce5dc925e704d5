/* test_crash_orders.c: whole runs of skills whose calls are under way together: in every order in
 * which their replies can come (at random where there are too many), killed or without power at
 * every point of each and taken up again, they come to the same end, and nobody who may be called
 * once is called twice. The agents themselves count (support/programs.h). */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/crash.h"

#define POINTS (FAULTY_DISK | FAULTY_BIT(FAULTY_SPAWN))
static const char *const *arrivals; /* see crash.h */
static uint64_t most = CRASH_ALL;   /* points of an order */
enum { CHOICES = 64, MOST = 200, FIRSTS = 12 };

/* One order of replies: at its n-th choice the choice[n]-th of radix[n] programs answers. */
struct order {
  int choice[CHOICES], radix[CHOICES];
  int length, at;
  bool drawn;  /* a new choice is drawn, not 0 */
  bool random; /* all are drawn, and none kept */
  uint64_t seed;
};

static int draw(struct order *o, int below) {
  o->seed = o->seed * 6364136223846793005u + 1442695040888963407u;
  return (int)((o->seed >> 33) % (uint64_t)below);
}

static int choose(void *chooser, int running) {
  struct order *o = chooser;
  if (o->random || o->at == CHOICES) return draw(o, running);
  if (o->at == o->length) o->choice[o->length++] = o->drawn ? draw(o, running) : 0;
  o->radix[o->at] = running;
  int choice = o->choice[o->at++];
  return choice < running ? choice : running - 1;
}

/* False: that was the last one. */
static bool next_order(struct order *o) {
  while (o->length > 0 && o->choice[o->length - 1] + 1 >= o->radix[o->length - 1])
    o->length--;
  if (o->length == 0) return false;
  o->choice[o->length - 1]++;
  return true;
}

static void describe(const struct order *o, char *to, size_t size) {
  int written = snprintf(to, size, "order");
  for (int i = 0; i < o->at && written > 0 && (size_t)written < size; i++)
    written += snprintf(to + written, size - (size_t)written, " %d", o->choice[i]);
}

/* Every second time it is killed again while it is taken up. */
static void kill_again(struct crash *c, struct order *o) {
  if (draw(o, 2)) return;
  crash_heal(c, draw(o, 2) ? 1 : 3600000);
  faulty_kill(c->faulty, FAULTY_DISK, 1 + (uint64_t)draw(o, 25), false);
  crash_episode(c, true, NULL);
}

static void killed_at(struct crash *c, struct order *o, uint64_t n, const char *order) {
  char where[256];
  snprintf(where, sizeof where, "%s, %s at call %lu", order, n % 3 ? "killed" : "power cut",
           (unsigned long)n);
  crash_fresh(c);
  o->at = 0;
  o->random = false;
  bool cut = n % 3 == 0; /* with the power goes what was not synced */
  if (cut) faulty_power(c->faulty, c->scratch.path);
  faulty_kill(c->faulty, POINTS, n, n % 2);
  crash_episode(c, false, NULL);
  if (cut) faulty_power_cut(c->faulty, FAULTY_TORN, crash_seed() + n);
  if (cut || n % 2) c->arrived = 0; /* who put something there does not know, and puts it again */
  o->random = true;
  o->seed = crash_seed() * 1000 + n;
  kill_again(c, o);
  crash_survey(c, where);
}

/* A program that cannot be started now has done nothing, and is started again. */
static void cannot_start(struct crash *c, struct order *o, uint64_t n, const char *order) {
  char where[256];
  snprintf(where, sizeof where, "%s, start %lu fails", order, (unsigned long)n);
  crash_fresh(c);
  o->at = 0;
  faulty_fail(c->faulty, FAULTY_BIT(FAULTY_SPAWN), n, EAGAIN, FAULTY_ONCE);
  crash_episode(c, false, NULL);
  o->random = true;
  crash_survey(c, where);
}

/* One order, undisturbed and killed at every point. */
static void in_order(struct crash *c, struct order *o) {
  char order[200];
  crash_fresh(c);
  o->at = 0;
  o->random = false;
  bool ended = crash_episode(c, false, NULL) && crash_ended(c);
  uint64_t calls = faulty_count(c->faulty, POINTS);
  o->length = o->at;
  describe(o, order, sizeof order);
  crash_survey(c, order);
  if (!ended) {
    c->refused++;
    printf("# %s: %s%s (%s) %s\n", order, c->error, c->status, c->reason, c->message);
    return;
  }
  uint64_t stride = crash_stride(calls, most);
  const char *mode = getenv("SKILLRT_MODE");
  bool quick = !getenv("SKILLRT_NIGHTLY"), slow = mode && strcmp(mode, "asan") == 0;
  if (!getenv("CRASH_POINTS"))
    stride *= quick ? 12 : slow ? 4 : 2; /* there are many orders; the seed shifts them */
  uint64_t starts = crash_calls(c, FAULTY_BIT(FAULTY_SPAWN));
  struct order kept = *o;
  for (uint64_t n = 1 + (crash_seed() + (uint64_t)c->points) % stride; n <= calls && !c->hung;
       n += stride) {
    killed_at(c, o, n, order);
    *o = kept;
  }
  uint64_t skip = quick && starts > 0 ? starts : 1;
  for (uint64_t n = 1 + (uint64_t)c->points % skip; n <= starts && !c->hung; n += skip) {
    cannot_start(c, o, n, order);
    *o = kept;
  }
}

/* All orders, of which there must be so many; or, with `drawn`, so many of them. */
static void everywhere(const char *skill, int wanted, bool drawn, int64_t jump_ms, int jumps) {
  struct crash c;
  struct order o = {.drawn = drawn, .seed = crash_seed()};
  int orders = 0;
  bool more = true;
  CHECK(crash_init_with(&c, skill, choose, &o, jump_ms, jumps, arrivals));
  for (o.length = 0; more && orders < MOST && !c.hung; orders++) {
    in_order(&c, &o);
    if (drawn) o = (struct order){.drawn = true, .seed = crash_seed() + (uint64_t)orders + 1};
    more = drawn ? orders + 1 < wanted : next_order(&o);
  }
  CHECK(c.refused == 0 && c.different == 0 && c.lost == 0 && c.duplicated == 0);
  CHECK(c.programs.twice == 0);
  CHECK(orders == wanted);
  c.duplicated += c.programs.twice;
  printf("# %d orders\n", orders);
  crash_count(&c, skill);
  crash_clear(&c);
}

static void in_shape(const char *shape, int wanted) {
  setenv("CRASH_SHAPE", shape, 1);
  everywhere("orders_branches", wanted, false, 0, 0);
}

/* At every place in the order so many ms may pass, so often. */
static void in_time(const char *shape, int wanted, int64_t jump_ms, int jumps) {
  setenv("CRASH_SHAPE", shape, 1);
  everywhere("orders_branches", wanted, false, jump_ms, jumps);
}

static void branches(void) {
  TEST("maps in a map come to one end in every order of four replies, killed anywhere") {
    in_shape("map", 24);
  }
  TEST("and with two calls at once, as a free place is filled") {
    in_shape("narrow", 8);
  }
  TEST("skills inside a skill come to one end in every order of four replies, killed anywhere") {
    in_shape("sub", 24);
  }
  TEST("and under a deadline that is not met") {
    in_shape("within", 24);
  }
  TEST("items go through a pipeline at their own pace, in every order, killed anywhere") {
    in_shape("pipeline", 6);
  }
  TEST("spawned branches that are awaited come to one end in every order, killed anywhere") {
    in_shape("spawn", 6);
  }
  TEST("a loop's rounds come to one end in every order, killed anywhere") {
    in_shape("loop", 4);
  }
  TEST("a reply's tools, in every order, killed anywhere: none that was answered is used again") {
    in_shape("tools", 12);
  }
  TEST("who comes first in a map may differ, but nobody is called twice, killed anywhere") {
    in_shape("first", FIRSTS);
  }
}

static void over_http(void) {
  TEST("HTTP replies in every order come to one end, killed anywhere (F40)") {
    in_shape("http", 24);
  }
  TEST("HTTP exchanges that are refused or break off are made again, in every order") {
    in_shape("broken", 30);
  }
  TEST("a wait before an attempt is over in its time, whatever the clock says after a kill") {
    in_shape("patient", 6);
  }
  TEST("commands and HTTP exchanges after each other, in every order, killed anywhere") {
    in_shape("mixed", 6);
  }
}

static void over_sessions(void) {
  TEST("a program that is told all again, its answers in every order, killed anywhere") {
    in_shape("feed", 6);
  }
  TEST("a program that is told nothing again, its answers in every order, killed anywhere") {
    in_shape("stateless", 6);
  }
  TEST("a program that is not begun again unasked, its answers in every order, killed anywhere") {
    in_shape("lost", 20);
  }
  TEST("programs that end behind an answer, in many orders, killed anywhere") {
    setenv("CRASH_SHAPE", "ends", 1);
    everywhere("orders_branches", getenv("SKILLRT_NIGHTLY") ? 40 : 10, true, 0, 0);
  }
}

static void with_people(void) {
  static const char *const both[] = {"{\"answer\":\"yes\",\"question\":1,\"id\":\"answer\"}",
                                     "{\"event\":\"go\",\"value\":7,\"id\":\"event\"}", NULL};
  static const char *const approved[] = {
      "{\"answer\":\"approve\",\"question\":1,\"id\":\"answer\"}",
      "{\"event\":\"go\",\"value\":7,\"id\":\"event\"}", NULL};
  most = 10; /* others each time: there are many orders, and in some a second passes for a week */
  arrivals = both;
  TEST("answers, events, due times and replies in every order, killed anywhere") {
    in_time("people", 24, 61000, 1);
  }
  TEST("an approval, a word too late, and replies in every order, killed anywhere (R87, R174)") {
    arrivals = approved;
    in_time("approve", 60, 61000, 1);
    arrivals = both;
  }
  TEST("who of a person, an event and a reply came first may differ, once, killed anywhere") {
    in_time("anyone", 49, 61000, 1);
  }
  most = CRASH_ALL;
  arrivals = NULL;
}

static void in_due_time(void) {
  TEST("a deadline that is met anywhere decides as the journal says, killed anywhere") {
    in_time("deadline", 11, 61000, 1);
  }
  TEST("a deadline that cancels what may be canceled, met anywhere, killed anywhere") {
    in_time("canceled", 16, 61000, 1);
  }
  TEST("deadlines in a deadline, met anywhere, killed anywhere") {
    in_time("deadlines", 56, 61000, 2);
  }
  TEST("calls whose time is up anywhere are made again, killed anywhere") {
    in_time("timeout", 24, 61000, 1);
  }
  TEST("a sleep that ends anywhere among replies, killed anywhere") {
    in_time("sleep", 7, 61000, 1);
  }
}

/* Others each time: CRASH_TREE asks for one of them. */
static void drawn(void) {
  char name[32];
  int trees = getenv("CRASH_TREE") ? 1 : getenv("SKILLRT_NIGHTLY") ? 16 : 6;
  TEST("branches drawn at random, three deep, come to one end in many orders, killed anywhere "
       "(F40)") {
    most = 12;
    for (int i = 0; i < trees; i++) {
      snprintf(name, sizeof name, "%lu", (unsigned long)crash_seed() * 1000 + (unsigned long)i);
      if (trees > 1) setenv("CRASH_TREE", name, 1);
      printf("# CRASH_TREE=%s\n", getenv("CRASH_TREE"));
      everywhere("orders_drawn", 3, true, 0, 0);
    }
    most = CRASH_ALL;
  }
}

static void whole_skills(void) {
  TEST("four commands at once come to one end in every order, killed anywhere (F40, F41)") {
    everywhere("orders_phases", 24, false, 0, 0);
  }
  TEST("two functions that wait at once come to one end in every order, killed anywhere (F40)") {
    everywhere("orders_actions", 6, false, 0, 0);
  }
  TEST("six commands in four places come to one end in many orders, killed anywhere (F40)") {
    everywhere("orders_many", getenv("SKILLRT_NIGHTLY") ? 40 : 10, true, 0, 0);
  }
  TEST("an action for each of a list comes to one end in every order, killed anywhere") {
    everywhere("orders_each", 12, false, 0, 0);
  }
  TEST("a machine comes to the same end in many orders of its replies, killed anywhere (R144)") {
    everywhere("machine", getenv("SKILLRT_NIGHTLY") ? 24 : 6, true, 0, 0);
  }
  TEST("what was done is undone, in every order of two replies and late, killed anywhere (R171)") {
    everywhere("undone", 6, true, 61000, 1);
  }
}

int main(void) {
  static const struct {
    const char *name;
    void (*test)(void);
  } groups[] = {{"skills", whole_skills},    {"branches", branches}, {"http", over_http},
                {"sessions", over_sessions}, {"drawn", drawn},       {"time", in_due_time},
                {"people", with_people}};
  const char *only = getenv("CRASH_ONLY"); /* one of these, for who looks for a reason */
  setvbuf(stdout, NULL, _IOLBF, 0);
  for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
    if (!only || strcmp(only, groups[i].name) == 0) groups[i].test();
  return (int)!crash_close() | check_finish();
}
