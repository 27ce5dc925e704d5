/* game.c: a small game whose creatures are runs: skillrt in a loop of frames.
 *
 *   game SCRIPT DIRECTORY [CREATURES]      each creature has its run in DIRECTORY/<name>
 *
 * Each frame gives the runs a turn, which never waits, and moves the creatures one field. What a
 * run asked for (walk there) is answered in the frame in which it is done. A game whose runs are
 * there already goes on with them. The frames here are as fast as they can be; a real game draws.
 *
 * To build: cc game.c $(pkg-config --cflags --libs skillrt) -o game */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "skillrt.h"

enum { CREATURES_MAX = 64, BERRIES = 256, FRAMES_MAX = 1000000 };

struct creature {
  char name[16];
  struct skillrt *run;
  int x, y, to_x, to_y;
  struct skillrt_call *walk; /* to be answered when it is there; NULL: it stands */
};

static struct creature creatures[CREATURES_MAX];
static bool picked[BERRIES];
static char error[1024];

/* ---- a little JSON: the game knows what its script writes ---- */

static int number_in(const char *json, const char *name) {
  char wanted[32];
  snprintf(wanted, sizeof wanted, "\"%s\":", name);
  const char *at = strstr(json, wanted);
  return at ? atoi(at + strlen(wanted)) : 0;
}

static struct creature *creature_of(const struct skillrt_call *call) {
  struct skillrt *run = skillrt_call_run(call);
  for (int i = 0; i < CREATURES_MAX; i++)
    if (creatures[i].run == run) return &creatures[i];
  return NULL;
}

static void reply(struct skillrt_call *call, const char *format, int a, int b, int c) {
  char json[128];
  int size = snprintf(json, sizeof json, format, a, b, c);
  skillrt_call_reply(call, json, (size_t)size);
}

/* ---- what creatures may ask for ---- */

static void nearest_berry(void *data, struct skillrt_call *call) {
  (void)data;
  const char *input = skillrt_call_input(call, NULL);
  int x = number_in(input, "x"), y = number_in(input, "y"), best = -1, distance = 0;
  for (int i = 0; i < BERRIES; i++) {
    int way = abs(i % 16 - x) + abs(i / 16 - y);
    if (!picked[i] && (best < 0 || way < distance)) best = i, distance = way;
  }
  if (best < 0)
    skillrt_call_fail(call, "permanent", "there are no berries left");
  else
    reply(call, "{\"id\":%d,\"x\":%d,\"y\":%d}", best, best % 16, best / 16);
}

static void walk(void *data, struct skillrt_call *call) {
  (void)data;
  struct creature *c = creature_of(call);
  const char *input = skillrt_call_input(call, NULL);
  c->to_x = number_in(input, "x");
  c->to_y = number_in(input, "y");
  c->walk = call; /* a later frame answers it */
}

/* The run does not wait any more: it stops where it is. */
static void stop_walking(void *data, struct skillrt_call *call) {
  (void)data;
  struct creature *c = creature_of(call);
  c->walk = NULL;
  skillrt_call_refuse(call, "the game was left");
}

static void pick(void *data, struct skillrt_call *call) {
  (void)data;
  int berry = number_in(skillrt_call_input(call, NULL), "berry");
  bool there = berry >= 0 && berry < BERRIES && !picked[berry];
  if (there) picked[berry] = true;
  skillrt_call_reply(call, there ? "true" : "false", there ? 4 : 5); /* somebody may be faster */
}

/* An agent: it is given the task as a JSON object, and answers with what changes in the state. */
static void tell(void *data, struct skillrt_call *call) {
  static const char story[] = "{\"story\":\"It rests under a tree.\"}";
  (void)data;
  skillrt_call_reply(call, story, sizeof story - 1);
}

/* ---- frames ---- */

static void step_towards(struct creature *c) {
  if (c->x != c->to_x)
    c->x += c->x < c->to_x ? 1 : -1;
  else if (c->y != c->to_y)
    c->y += c->y < c->to_y ? 1 : -1;
}

/* How many runs go on. */
static size_t frame(struct skillrt_host *host, int count) {
  size_t going = skillrt_host_step(host);
  for (int i = 0; i < count; i++) {
    struct creature *c = &creatures[i];
    if (!c->walk) continue;
    step_towards(c);
    if (c->x != c->to_x || c->y != c->to_y) continue;
    struct skillrt_call *call = c->walk;
    c->walk = NULL;
    reply(call, "{\"x\":%d,\"y\":%d}", c->x, c->y, 0);
  }
  return going;
}

static bool walks(int count) {
  for (int i = 0; i < count; i++)
    if (creatures[i].walk) return true;
  return false;
}

/* ---- the game ---- */

static struct skillrt_host *open_host(void) {
  struct skillrt_host_options options = {.size = sizeof options, .never_block = true};
  const struct skillrt_function functions[] = {
      {.size = sizeof *functions,
       .name = "nearest-berry",
       .call = nearest_berry,
       .idempotent = true},
      {.size = sizeof *functions,
       .name = "walk",
       .call = walk,
       .cancel = stop_walking,
       .idempotent = true},
      {.size = sizeof *functions, .name = "pick", .call = pick},
      {.size = sizeof *functions, .name = "tell", .call = tell, .idempotent = true},
  };
  struct skillrt_host *host = skillrt_host_open(&options, error, sizeof error);
  for (size_t i = 0; host && i < sizeof functions / sizeof *functions; i++)
    if (!skillrt_host_function(host, &functions[i], error, sizeof error)) return NULL;
  return host;
}

static bool open_creature(struct skillrt_host *host, struct creature *c, char **words, int i) {
  char work_dir[1024], journal[1100], input[64];
  snprintf(c->name, sizeof c->name, "creature-%d", i % CREATURES_MAX);
  snprintf(work_dir, sizeof work_dir, "%s/%s", words[2], c->name);
  snprintf(journal, sizeof journal, "%s/journal", work_dir);
  snprintf(input, sizeof input, "{\"name\":\"%s\"}", c->name);
  struct skillrt_options options = {.size = sizeof options,
                                    .host = host,
                                    .script = words[1],
                                    .work_dir = work_dir,
                                    .input_json = input};
  options.resume = access(journal, F_OK) == 0;
  c->run = skillrt_open(&options, error, sizeof error);
  return c->run != NULL;
}

static int report(int count) {
  int good = 0;
  for (int i = 0; i < count; i++) {
    struct creature *c = &creatures[i];
    size_t size;
    const char *state = skillrt_state_json(c->run, &size);
    printf("%s: %s (%s), at %d,%d, ate %d\n", c->name, skillrt_status(c->run),
           skillrt_reason(c->run), c->x, c->y, state ? number_in(state, "eaten") : 0);
    good += skillrt_status_code(c->run) == SKILLRT_COMPLETED;
  }
  return good == count ? 0 : 1;
}

int main(int count, char **words) {
  int wanted = count > 3 ? atoi(words[3]) : 3, frames = 0;
  if (count < 3 || wanted < 1 || wanted > CREATURES_MAX) {
    fprintf(stderr, "usage: game SCRIPT DIRECTORY [CREATURES]\n");
    return 2;
  }
  struct skillrt_host *host = open_host();
  bool good = host != NULL;
  for (int i = 0; good && i < wanted; i++)
    good = open_creature(host, &creatures[i], words, i);
  if (!good) {
    fprintf(stderr, "game: %s\n", error);
    skillrt_host_close(host);
    return 1;
  }
  struct pollfd fd = {.fd = skillrt_host_fd(host), .events = POLLIN};
  for (; frames < FRAMES_MAX && frame(host, wanted) > 0; frames++)
    if (!walks(wanted)) poll(&fd, 1, skillrt_host_timeout_ms(host)); /* nothing moves */
  int code = report(wanted);
  printf("%d frames\n", frames);
  skillrt_host_close(host); /* and its runs */
  return code;
}
