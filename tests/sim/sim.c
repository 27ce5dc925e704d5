/* sim.c: whole runs of skills drawn from a seed, in a world drawn from the same seed.
 *
 * From FLEET on a seed is one of several workers on a database (fleet.c, database.c), which loses
 * answers, restarts, and repeats what it was told, while workers are killed and stopped.
 *
 * A point is one seed: a skill (skills.lua), run once in a calm world and once in one that kills,
 * cuts the power, fails calls, stops and lies; people answer in between (sim.lua). What came of it
 * is held against the rules: the witness (world.c), the audit of the journal
 * (support/crash_audit.lua), the model of a run (model.lua), and, where order and failures cannot
 * matter, the end of the calm run. A seed is all that a failure needs to be seen again: make sim
 * SEED=.
 *
 * sim: the seeds of tests/golden/sim.txt, whose runs and views must be what they were, those of
 * tests/sim/seeds.txt, then SIM_SECONDS (15) of a processor of new ones, the first of which is
 * printed; from SIM_SEED on where that is set. sim SEED [COUNT]: these; STEPS: what is left out,
 * SHOW=1 prints what happens, VIEWS= what people are shown of it, as a digest, with SHOW=1 itself.
 *
 * Seeds are looked at in a process of its own, so that one that crashes is told as all others; a
 * seed that fails is tried again with less of what was drawn, and printed with the names that it
 * can do without. */
#include <assert.h>
#include <errno.h>
#include <lauxlib.h>
#include <lualib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/times.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lua/bind.h"
#include "lua/core.h"
#include "lua/limits.h"
#include "sim/database.h"
#include "sim/fleet.h"
#include "sim/image.h"
#include "sim/runtime.h"
#include "sim/world.h"
#include "store/store.h"

enum { EPISODES = 150, RETRIES = 2, ARENA = 1 << 30, IMAGE = 1 << 29, OLD_MAX = 1024, HANGS = 60 };
enum { SHRINK_TRIES = 400, SHRINK_SECONDS = 30, WRONG_MOST = 10 };

static lua_State *states[IMAGES]; /* each with all modules loaded, in its image */
#define L (states[image_now()])

static const uint64_t FLEET = 1000000000000000000;

/* Sanitizers know one stack of a thread, and lay out what the section of a process holds. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { TRIES_FLEETS = 0 };
#else
enum { TRIES_FLEETS = 1 };
#endif

/* What the process that looks at seeds shares with the one that waits for it. */
static struct {
  uint64_t seed; /* now */
  long points, episodes;
  uint64_t digest; /* of all that happened */
  char wrong[2048];
} * progress;

/* The module with PostgreSQL is in this program. */
void *__wrap_dlopen(const char *path, int flags);
void *__real_dlopen(const char *path, int flags);
void *__wrap_dlopen(const char *path, int flags) {
  return __real_dlopen(path && strcmp(path, "simulated") == 0 ? NULL : path, flags);
}

static void *allocate(void *data, void *block, size_t old_size, size_t new_size) {
  (void)data;
  return image_alloc(block, old_size, new_size);
}

/* ---- what Lua asks of the world ---- */

static int l_draw(lua_State *S) {
  lua_pushinteger(S, (lua_Integer)world_draw((uint64_t)luaL_checkinteger(S, 1)));
  return 1;
}
/* draw_for(below, name): the same whenever it is asked */
static int l_draw_for(lua_State *S) {
  lua_pushinteger(S, (lua_Integer)world_draw_for((uint64_t)luaL_checkinteger(S, 1), "%s",
                                                 luaL_checkstring(S, 2)));
  return 1;
}
static int l_leaves_out(lua_State *S) {
  lua_pushboolean(S, world_leaves_out("%s", luaL_checkstring(S, 1)));
  return 1;
}
/* performed(label): a function of the script acts */
static int l_performed(lua_State *S) {
  const char *label = luaL_checkstring(S, 1);
  enum fate fate = world_sent(label, "", strncmp(label, "idem", 4) == 0);
  world_over(label);
  if (fate != FATE_ANSWERS) return luaL_error(S, "it cannot be done");
  lua_pushfstring(S, "did %s", label);
  return 1;
}
/* trace(text): it is part of what happened, to the byte */
static int l_trace(lua_State *S) {
  size_t size;
  const char *text = luaL_checklstring(S, 1, &size);
  world_trace(text, size);
  return 0;
}
/* outside(whether): calls of the disk are of others, and not harmed */
static int l_outside(lua_State *S) {
  world->outside = lua_toboolean(S, 1);
  return 0;
}
static int l_episode(lua_State *S) {
  lua_pushinteger(S, world->episode);
  return 1;
}
static int l_claimed(lua_State *S) {
  lua_pushboolean(S, fleet_claimed());
  return 1;
}

static int l_note(lua_State *S) {
  world_note("%s", luaL_checkstring(S, 1));
  return 0;
}
static int l_wrong(lua_State *S) {
  world_wrong("%s", luaL_checkstring(S, 1));
  return 0;
}
static int l_allow(lua_State *S) {
  world_allow(luaL_checkstring(S, 1));
  return 0;
}
static int l_later(lua_State *S) {
  world->now_ns += (int64_t)(luaL_checknumber(S, 1) * 1e9);
  return 0;
}
static int l_durable(lua_State *S) {
  world->durable = lua_toboolean(S, 1);
  return 0;
}
static int l_reported(lua_State *S) {
  size_t size;
  const char *text = luaL_checklstring(S, 1, &size);
  world->reported = arena_realloc(world->reported, world->reported_size + size + 1);
  memcpy(world->reported + world->reported_size, text, size + 1);
  world->reported_size += size + 1;
  return 0;
}
/* forked(true): another run goes on from here; forked(): whether it does */
static int l_forked(lua_State *S) {
  if (lua_toboolean(S, 1)) {
    world->forked = true;
    world->reported_size = 0;
    world->sent_before = world->sent_count;
  }
  lua_pushboolean(S, world->forked);
  return 1;
}
/* sent(): the witness's list of what this run sent, for the model */
static int l_sent(lua_State *S) {
  lua_Integer n = 0;
  lua_newtable(S);
  for (size_t i = world->sent_before; i < world->sent_count; i++) {
    const struct sent *one = &world->sent[i];
    lua_createtable(S, 0, 9);
    lua_pushboolean(S, one->forgotten);
    lua_setfield(S, -2, "forgotten");
    lua_pushstring(S, one->label);
    lua_setfield(S, -2, "label");
    lua_pushstring(S, one->key);
    lua_setfield(S, -2, "key");
    lua_pushboolean(S, one->fate != FATE_REFUSES);
    lua_setfield(S, -2, "acted");
    lua_pushboolean(S, one->idempotent);
    lua_setfield(S, -2, "idempotent");
    lua_pushinteger(S, one->episode);
    lua_setfield(S, -2, "episode");
    lua_pushinteger(S, (lua_Integer)one->began);
    lua_setfield(S, -2, "began");
    lua_pushinteger(S, (lua_Integer)one->ended);
    lua_setfield(S, -2, "ended");
    lua_pushinteger(S, (one->ended_ns - one->began_ns) / 1000000);
    lua_setfield(S, -2, "ms");
    lua_rawseti(S, -2, ++n);
  }
  return 1;
}
/* place(): where the run is */
static int l_place(lua_State *S) {
  lua_pushstring(S, world->database ? DATABASE "/run" : "/run");
  return 1;
}
/* lost(row): the lines of a row that the database has lost; nil: there are no more */
static int l_lost(lua_State *S) {
  const char *lines;
  size_t size;
  if (!world->database || !database_lost((size_t)luaL_checkinteger(S, 1) - 1, &lines, &size))
    return 0;
  lua_pushlstring(S, lines, size);
  return 1;
}
/* unnoticed(): by how many ms clocks were set without a record of it */
static int l_unnoticed(lua_State *S) {
  lua_pushinteger(S, (lua_Integer)world->unnoticed_ms);
  return 1;
}
static int l_records(lua_State *S) {
  lua_newtable(S);
  lua_Integer n = 0;
  for (size_t at = 0; at < world->reported_size; at += strlen(world->reported + at) + 1) {
    lua_pushstring(S, world->reported + at);
    lua_rawseti(S, -2, ++n);
  }
  return 1;
}

/* ---- a process ---- */

static void text_field(int at, const char *name, char *to, size_t size) {
  lua_getfield(L, at, name);
  snprintf(to, size, "%s", lua_tostring(L, -1) ? lua_tostring(L, -1) : "");
  lua_pop(L, 1);
}

static bool is_over(void);

/* Calls the global `name`(seed, resume, rough) and keeps what it says. */
static void call_lua(const char *name, bool resume) {
  if (lua_getglobal(L, "debug") == LUA_TTABLE) lua_getfield(L, -1, "traceback");
  lua_getglobal(L, name);
  lua_pushinteger(L, (lua_Integer)progress->seed);
  lua_pushboolean(L, resume);
  lua_pushboolean(L, world->rough);
  if (lua_pcall(L, 3, 1, -5) != LUA_OK) {
    world_wrong("%s raised: %s", name,
                lua_tostring(L, -1) ? lua_tostring(L, -1) : luaL_tolstring(L, -1, NULL));
  } else if (lua_istable(L, -1)) {
    int at = lua_gettop(L);
    text_field(at, "status", world->status, sizeof world->status);
    text_field(at, "reason", world->reason, sizeof world->reason);
    text_field(at, "message", world->message, sizeof world->message);
    text_field(at, "error", world->error, sizeof world->error);
    text_field(at, "code", world->code, sizeof world->code);
    text_field(at, "summary", world->summary, sizeof world->summary);
  }
}

/* Calls of the disk that others make meanwhile are not harmed; Lua has a thread of its own for it,
 * as a run waits in this one. */
bool sim_people(void) {
  bool changed = false, before = world->outside;
  lua_State *S = lua_newthread(L);
  int at = lua_gettop(L);
  world->outside = true;
  lua_getglobal(S, "people");
  lua_pushboolean(S, world->rough);
  if (lua_pcall(S, 1, 1, 0) != LUA_OK)
    world_wrong("people raised: %s", lua_tostring(S, -1) ? lua_tostring(S, -1) : "?");
  else
    changed = lua_toboolean(S, -1);
  world->outside = before;
  lua_remove(L, at);
  return changed;
}

bool sim_episode(void) {
  world->status[0] = world->reason[0] = world->message[0] = world->error[0] = world->code[0] = 0;
  progress->episodes++;
  unsigned episode = world->episode, process = fleet_process();
  call_lua("episode", world->begun);
  lua_settop(L, 0);
  world_note("episode %u of process %u: %s %s %s %s %s", episode, process, world->code,
             world->status, world->reason, world->message, world->error);
  if (strcmp(world->code, "busy") != 0) world->begun = strcmp(world->code, "nothing") != 0;
  return is_over();
}

void sim_process(void) {
  if (!image_restore()) {
    world->outside = true;
    call_lua("draw", false);
    world->outside = false;
    image_draw();
  }
  runtime_forget();
}

/* The same in a process of the world's; false: it was killed, as planned. */
static bool in_process(const char *name, bool resume) {
  struct extent *most = &world->most;
  if (world->calls > most->calls) most->calls = world->calls;
  if (world->syncs > most->syncs) most->syncs = world->syncs;
  sim_process();
  world->calls = world->syncs = world->events = 0;
  world->outside = false;
  int how = setjmp(world_death);
  if (how == 0) call_lua(name, resume);
  world_all_over();
  for (int fd = 3; fd < 64; fd++) /* the kernel closes what a process leaves open */
    ram_disk_sys(world->disk)->close(ram_disk_sys(world->disk), fd);
  return how != DIES_KILLED;
}

/* ---- a point ---- */

/* What a full disk or a failed sync ended is resumed when there is room again. */
static bool is_over(void) {
  if (strcmp(world->reason, "sync_failed") == 0 || strcmp(world->reason, "store_lost") == 0)
    return false;
  if (strcmp(world->status, "failed") == 0 && world->retried < RETRIES && world_one_in(2)) {
    world->retried++; /* a person tries it again */
    return false;
  }
  return strcmp(world->status, "completed") == 0 || strcmp(world->status, "aborted") == 0 ||
         strcmp(world->status, "failed") == 0 || strcmp(world->code, "over") == 0 ||
         strcmp(world->reason, "blocked") == 0; /* no resume changes that */
}

static uint64_t draw_harm(uint64_t below, const char *what) {
  return world_draw_for(below, "harm %u %s", world->episode, what);
}

/* `calm`: how far the run's longest process came in a calm world. */
static void plan_harm(struct extent calm) {
  world->harm = (struct harm){0};
  if (world_leaves_out("harm:%u", world->episode)) return;
  uint64_t most = draw_harm(4, "opening") ? calm.calls + calm.calls / 4 + 1 : 40,
           at = 1 + draw_harm(most, "at");
  struct harm *h = &world->harm;
  if (draw_harm(2, "people")) h->people_at = 1 + draw_harm(60, "people at");
  if (draw_harm(4, "second") == 0) h->second_at = 1 + draw_harm(60, "second at");
  if (draw_harm(6, "clock") == 0) {
    h->clock_at = 1 + draw_harm(60, "clock at");
    h->clock_ms = (int64_t)draw_harm(4, "days") * 86400000 - 86400000 +
                  (int64_t)draw_harm(100000, "clock ms");
  }
  switch (draw_harm(8, "kind")) {
  case 0:
  case 1:
  case 2:
    h->kill_at = at;
    h->halfway = draw_harm(2, "halfway");
    break;
  case 4:
    h->fail_at = at;
    h->fail_for = draw_harm(2, "once") ? 1 : 1 + draw_harm(40, "long");
    h->number = draw_harm(2, "number") ? ENOSPC : EIO;
    break;
  case 5: /* until the episode is over */
    h->fail_at = at;
    h->fail_for = UINT64_MAX / 2;
    h->number = ENOSPC;
    h->full = true;
    break;
  case 6:
    h->stop_at = 1 + draw_harm(60, "stop");
    break;
  case 7:
    h->sync_at = draw_harm(16, "sync");
    h->dies = draw_harm(2, "dies");
    break;
  default: /* what was written last is not durable, and the next process reads it */
    h->sync_at = calm.syncs - draw_harm(4, "syncs before the last");
    h->dies = true;
  }
}

/* The power fails, in half of the worlds where that may lose nothing. */
static void cut_power(void) {
  if (!world->durable || !world_one_in(2) || world_leaves_out("cut:%u", world->episode)) return;
  world_note("power cut");
  world->disk = ram_disk_cut(world->disk, world_draw(1 << 30));
}

static void after_death(void) {
  cut_power();
  if (world_one_in(4)) world->wall_ms += (int64_t)world_draw(4) * 86400000 - 86400000;
  world->now_ns += (int64_t)world_draw(world_one_in(3) ? 7200 : 5) * 1000000000;
  world_sys();
}

/* Runs to the end; `harms` episodes of it are harmed. */
static void run_to_end(unsigned harms, struct extent calm) {
  bool resume = false;
  for (world->episode = 1; !world->wrong[0]; world->episode++) {
    if (world->episode > EPISODES) {
      world_wrong("the run does not end in %d episodes: %s %s %s", EPISODES, world->status,
                  world->reason, world->error);
      return;
    }
    world->harm = (struct harm){0};
    if (harms > 0) {
      plan_harm(calm);
      harms--;
    }
    world_sys();
    world->status[0] = world->reason[0] = world->error[0] = world->code[0] = 0;
    progress->episodes++;
    if (!in_process("episode", resume)) after_death();
    world_note("episode %u%s: %s %s %s %s %s", world->episode, resume ? " (resume)" : "",
               world->code, world->status, world->reason, world->message, world->error);
    resume = strcmp(world->code, "nothing") != 0; /* it died before it was anything */
    if (is_over()) break;
  }
  world->harm = (struct harm){0};
}

/* The same seed: the same run, to the byte. */
static uint64_t one_run(uint64_t seed, bool harmed, unsigned harms, struct extent calm) {
  bool fleet = seed >= FLEET;
  world_begin(seed, !fleet && seed % 2 == 1, harmed ? 1 : 0);
  if (fleet) world->database = database_new(harmed);
  world_sys();
  if (fleet)
    fleet_run(harmed ? 2 + seed % 2 : 1, harmed);
  else
    run_to_end(harms, calm);
  if (harmed && !fleet) {
    cut_power();
    world_sys();
  }
  if (!world->wrong[0] || world->shows) in_process("audit", false);
  return world->trace;
}

/* So many deaths of the program that it talks to fail a call for good, whoever of those that share
 * the program caused them: that depends on the order. */
enum { DEATHS_MAX = 3 };

static bool prints_views; /* of each seed, as a digest */

/* What people are shown of the run (views.lua). `known`: the digest that it must have, or NULL. */
static void look_at_views(uint64_t seed, const char *known) {
  char shown[17];
  in_process("views", false);
  snprintf(shown, sizeof shown, "%.16s", world->summary);
  if (prints_views) {
    printf("SEED=%lu views=%s\n", (unsigned long)seed, shown);
    fflush(stdout);
  } else if (!world->wrong[0] && strcmp(shown, known) != 0) {
    world_wrong("what it does or shows has changed; read what SHOW=1 VIEWS= prints of it, then "
                "make golden");
  }
}

static bool point(uint64_t seed, const char *known_views) {
  static char calm[65536];
  progress->seed = seed;
  progress->points++;
  image_forget();
  uint64_t trace = one_run(seed, false, 0, (struct extent){0});
  struct extent extent = world->most;
  bool compares = !world->rough && world->deaths < DEATHS_MAX;
  progress->digest = progress->digest * 31 + trace;
  snprintf(calm, sizeof calm, "%s", world->summary);
  if (!world->wrong[0]) {
    trace = one_run(seed, true, 1 + (unsigned)(seed / 7 % 3), extent);
    progress->digest = progress->digest * 31 + trace;
    compares = compares && world->summary[0] && world->deaths < DEATHS_MAX;
    if (!world->wrong[0] && compares && strcmp(calm, world->summary) != 0)
      world_wrong("another end than in a calm world:\n  %.600s\n  %.600s", calm, world->summary);
    if (!world->wrong[0] && seed % 50 == 0 &&
        one_run(seed, true, 1 + (unsigned)(seed / 7 % 3), extent) != trace)
      world_wrong("the same seed, and another run");
  }
  if (!world->wrong[0] && (known_views || prints_views)) look_at_views(seed, known_views);
  snprintf(progress->wrong, sizeof progress->wrong, "%s", world->wrong);
  return !world->wrong[0];
}

/* ---- all of them ---- */

static void run_file(const char *path) {
  if (luaL_dofile(L, path) != LUA_OK) {
    fprintf(stderr, "%s: %s\n", path, lua_tostring(L, -1));
    exit(2);
  }
  lua_settop(L, 0);
}

static void open_lua(void) {
  static const luaL_Reg functions[] = {
      {"draw", l_draw},           {"draw_for", l_draw_for}, {"leaves_out", l_leaves_out},
      {"performed", l_performed}, {"trace", l_trace},       {"episode", l_episode},
      {"claimed", l_claimed},     {"outside", l_outside},   {"note", l_note},
      {"wrong", l_wrong},         {"allow", l_allow},       {"reported", l_reported},
      {"later", l_later},         {"forked", l_forked},     {"durable", l_durable},
      {"sent", l_sent},           {"place", l_place},       {"records", l_records},
      {"unnoticed", l_unnoticed}, {"lost", l_lost},         {NULL, NULL}};
  world_begin(0, false, 0);
  L = lua_newstate(allocate, NULL, 0);
  lua_gc(L, LUA_GCINC, 110, 400, 0); /* what is kept lies close together */
  luaL_openlibs(L);
  bind_set_sys(L, world_sys());
  core_install(L);
  limits_install(L);
  luaL_newlib(L, functions);
  lua_setglobal(L, "sim");
  run_file("tests/sim/sim.lua");
}

/* Loads what runs load late, once for all processes; those of a fleet have small skills. */
static void warm_up(void) {
  if (setjmp(world_death) == 0)
    for (uint64_t seed = 1; seed <= (image_now() ? 3 : 8); seed++) {
      progress->seed = seed;
      world_begin(seed, seed % 2 == 1, 0);
      world_sys();
      call_lua("draw", false);
      call_lua("episode", false);
      call_lua("audit", false);
      lua_settop(L, 0);
    }
  lua_gc(L, LUA_GCINC, 1000, 0, 0); /* to collect is to write to all that is restored */
  lua_gc(L, LUA_GCCOLLECT);
  image_keep();
}

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* ---- which seeds ---- */

/* A seed; the names of what is left out, with a comma between them; the digest of what people are
 * shown; NULL: none. */
struct asked {
  uint64_t seed;
  char *without, *views;
};

static struct asked old[OLD_MAX];
static size_t old_count;

static void read_old(const char *path) {
  FILE *file = fopen(path, "r");
  char line[4096];
  while (file && fgets(line, sizeof line, file) && old_count < OLD_MAX) {
    char *at = strstr(line, "SEED="), *steps = strstr(line, "STEPS="),
         *views = strstr(line, "views=");
    if (!at || line[0] == '#') continue;
    old[old_count].seed = strtoull(at + 5, NULL, 10);
    if (old[old_count].seed >= FLEET && !TRIES_FLEETS) continue;
    old[old_count].views = views ? strndup(views + 6, strcspn(views + 6, "\n")) : NULL;
    old[old_count++].without = steps ? strndup(steps + 6, strcspn(steps + 6, " \n")) : NULL;
  }
  if (file) fclose(file);
}

static void leave_out(const char *names) {
  drawn->out_count = drawn->seen_count = 0;
  for (size_t size; names && *names && drawn->out_count < SEEN_MAX;
       names += size + (names[size] == ',')) {
    size = strcspn(names, ",");
    snprintf(drawn->out[drawn->out_count++], LABEL_MAX, "%.*s", (int)size, names);
  }
}

/* ---- a seed that fails ---- */

/* Whether it still fails with what is left out now; in a process of its own. */
static bool still_fails(uint64_t seed) {
  fflush(NULL);
  pid_t pid = fork();
  assert(pid >= 0);
  if (pid == 0) {
    alarm(HANGS);
    prints_views = false;
    _exit(point(seed, NULL) ? 0 : 1);
  }
  int status = 0;
  while (waitpid(pid, &status, 0) < 0)
    assert(errno == EINTR);
  if (WIFSIGNALED(status))
    snprintf(progress->wrong, sizeof progress->wrong, "ended by signal %d%s", WTERMSIG(status),
             WTERMSIG(status) == SIGALRM ? ": it does not end" : "");
  return WIFSIGNALED(status) || WEXITSTATUS(status) != 0;
}

/* Leaves out one name after the other while the seed fails without it; those of one kind first all
 * together. */
static void shrink(uint64_t seed) {
  static char names[SEEN_MAX][LABEL_MAX];
  size_t count = drawn->seen_count;
  memcpy(names, drawn->seen, sizeof names);
  double until = seconds() + SHRINK_SECONDS;
  int tries = 0;
  for (int whole = 1; whole >= 0; whole--)
    for (size_t i = 0; i < count && tries < SHRINK_TRIES && seconds() < until; i++) {
      size_t kind = strcspn(names[i], ":"), before = drawn->out_count;
      bool known = false;
      for (size_t k = 0; k < before; k++)
        known = known || strcmp(drawn->out[k], names[i]) == 0;
      for (size_t k = 0; whole && k < i; k++)
        known = known || strncmp(names[k], names[i], kind + 1) == 0;
      if (known) continue;
      for (size_t k = i; k < (whole ? count : i + 1) && drawn->out_count < SEEN_MAX; k++)
        if (!whole || strncmp(names[k], names[i], kind + 1) == 0)
          memcpy(drawn->out[drawn->out_count++], names[k], LABEL_MAX);
      tries++;
      drawn->seen_count = 0;
      if (!still_fails(seed)) drawn->out_count = before;
    }
}

static void tell(uint64_t seed, bool shrinks) {
  printf("not ok: sim SEED=%lu: %s\n", (unsigned long)seed, progress->wrong);
  fflush(stdout);
  if (!shrinks) return;
  long points = progress->points, episodes = progress->episodes;
  drawn->is_listed = true;
  bool fails_again = still_fails(seed); /* else it is what people are shown */
  if (fails_again) {
    shrink(seed);
    still_fails(seed);
  }
  drawn->is_listed = false;
  progress->points = points;
  progress->episodes = episodes;
  if (!fails_again) return;
  printf("  smaller: sim SEED=%lu STEPS=", (unsigned long)seed);
  for (size_t i = 0; i < drawn->out_count; i++)
    printf("%s%s", i ? "," : "", drawn->out[i]);
  printf("\n  %s\n", progress->wrong);
}

/* ---- all of them ---- */

/* Of the processor, by the processes that looked at seeds, and by this one. */
static double used(void) {
  struct tms now;
  times(&now);
  clock_t all = now.tms_utime + now.tms_stime + now.tms_cutime + now.tms_cstime;
  return (double)all / (double)sysconf(_SC_CLK_TCK);
}

/* The seeds of old[first..], then those from `seed` on, until one fails, `last` was looked at or
 * so many seconds of a processor are used; in a process of its own. False: one failed, and it is
 * progress->seed. */
static bool look(size_t first, uint64_t seed, uint64_t last, double most) {
  fflush(NULL);
  pid_t pid = fork();
  assert(pid >= 0);
  if (pid == 0) {
    for (size_t i = first; i < old_count; i++) {
      leave_out(old[i].without);
      alarm(HANGS);
      if (!point(old[i].seed, old[i].views)) _exit(1);
    }
    for (; seed <= last && used() < most; seed++) {
      leave_out(getenv("STEPS"));
      alarm(HANGS);
      if (!point(seed, NULL)) _exit(1);
      if (TRIES_FLEETS && last == UINT64_MAX && !point(seed + FLEET, NULL)) _exit(1);
    }
    _exit(0);
  }
  int status = 0;
  while (waitpid(pid, &status, 0) < 0)
    assert(errno == EINTR);
  if (WIFSIGNALED(status))
    snprintf(progress->wrong, sizeof progress->wrong, "ended by signal %d%s", WTERMSIG(status),
             WTERMSIG(status) == SIGALRM ? ": it does not end" : "");
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void *shared(size_t size) {
  void *to = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  assert(to != MAP_FAILED);
  return to;
}

int main(int argc, char **argv) {
  const char *asked = getenv("SIM_SECONDS");
  double most = asked && *asked ? atof(asked) : 15, begun = seconds();
  uint64_t seed = 1, last = UINT64_MAX;
  long wrong = 0;
  setenv("XDG_STATE_HOME", "/state", 1); /* where sessions are kept, on every machine */
  progress = shared(sizeof *progress);
  drawn = shared(sizeof *drawn);
  arena_open(ARENA);
  store_module("simulated");
  for (unsigned i = IMAGES; i-- > 0;) {
    image_use(i);
    image_open(IMAGE);
    open_lua();
    warm_up();
  }
  world->shows = getenv("SHOW") != NULL;
  prints_views = getenv("VIEWS") != NULL;
  if (argc > 1) {
    seed = strtoull(argv[1], NULL, 10);
    last = seed + (argc > 2 ? strtoull(argv[2], NULL, 10) : 1) - 1;
    most = 1e9;
  } else {
    read_old("tests/golden/sim.txt");
    read_old("tests/sim/seeds.txt");
    const char *from = getenv("SIM_SEED");
    seed = from && *from ? strtoull(from, NULL, 10) : (uint64_t)time(NULL) * 1000;
    printf("# from SEED=%lu\n", (unsigned long)seed);
  }
  for (size_t first = 0; !look(first, seed, last, most - used()) && wrong < WRONG_MOST;) {
    wrong++;
    tell(progress->seed, !getenv("SHOW") && !getenv("SIM_FIRST"));
    if (getenv("SIM_FIRST")) break; /* a planted fault is found */
    while (first < old_count && old[first].seed != progress->seed)
      first++;
    if (first++ >= old_count) seed = (argc > 1 ? progress->seed : progress->seed % FLEET) + 1;
  }
  double processor = used();
  printf("# %ld points, %ld episodes in %.1f s, %.1f s of a processor, %.2f ms a point; digest "
         "%016lx\n",
         progress->points, progress->episodes, seconds() - begun, processor,
         processor * 1000 / (double)progress->points, (unsigned long)progress->digest);
  printf("%ld passed, %ld failed\n", progress->points - wrong, wrong);
  return wrong > 0;
}
