/* sim.c: whole runs of skills drawn from a seed, in a world drawn from the same seed.
 *
 * A point is one seed: a skill (skills.lua), run once in a calm world and once in one that kills,
 * cuts the power, fails calls, stops and lies; people answer in between (people.lua). What came of
 * it is held against the rules: the witness (world.c), the audit of the journal
 * (support/crash_audit.lua), the model of a run (model.lua), and, where order and failures cannot
 * matter, the end of the calm run. A seed is all that a failure needs to be seen again:
 * build/release/tests/sim SEED.
 *
 *   sim                 SIM_SECONDS (15) of seeds from 1 on, after those of tests/sim/seeds.txt;
 * with NIGHTLY=1 new ones sim SEED [COUNT]    these; SHOW=1 prints what happens */
#include <assert.h>
#include <errno.h>
#include <lauxlib.h>
#include <lualib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lua/bind.h"
#include "lua/core.h"
#include "lua/limits.h"
#include "sim/world.h"

enum { EPISODES = 150, RETRIES = 0, ARENA = 1 << 30, PIECE = 1 << 30 };

static lua_State *L; /* with all modules loaded; each child has its own copy */
static uint64_t seed_now;
static long points, wrong_points, episodes;

/* ---- memory ---- */

/* A child takes memory from the bottom of a piece of its own and gives none back: what it shares
 * with its parent stays uncopied, and it lives for some milliseconds. */
static struct { char *at, *end; /* NULL: the parent, which allocates as others do */ } piece;

static void *allocate(void *data, void *block, size_t old_size, size_t new_size) {
  (void)data;
  if (!piece.at) {
    if (new_size) return realloc(block, new_size);
    free(block);
    return NULL;
  }
  if (new_size == 0 || (block && new_size <= old_size)) return new_size ? block : NULL;
  if (piece.at + new_size + 16 > piece.end) return NULL;
  char *to = piece.at;
  piece.at += (new_size + 15) / 16 * 16;
  if (block) memcpy(to, block, old_size);
  return to;
}

static void take_a_piece(void) {
  piece.at =
      mmap(NULL, PIECE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  assert(piece.at != MAP_FAILED);
  piece.end = piece.at + PIECE;
}

/* ---- what Lua asks of the world ---- */

static int l_draw(lua_State *S) {
  lua_pushinteger(S, (lua_Integer)world_draw((uint64_t)luaL_checkinteger(S, 1)));
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
  if (world->reported_size + size + 1 < sizeof world->reported) {
    memcpy(world->reported + world->reported_size, text, size + 1);
    world->reported_size += size + 1;
  }
  return 0;
}
/* sent(): the witness's list, for the model */
static int l_sent(lua_State *S) {
  lua_createtable(S, (int)world->sent_count, 0);
  for (size_t i = 0; i < world->sent_count; i++) {
    const struct sent *one = &world->sent[i];
    lua_createtable(S, 0, 5);
    lua_pushstring(S, one->label);
    lua_setfield(S, -2, "label");
    lua_pushstring(S, one->key);
    lua_setfield(S, -2, "key");
    lua_pushboolean(S, one->fate != FATE_REFUSES);
    lua_setfield(S, -2, "acted");
    lua_pushinteger(S, one->episode);
    lua_setfield(S, -2, "episode");
    lua_rawseti(S, -2, (lua_Integer)i + 1);
  }
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

/* ---- a child ---- */

static void text_field(int at, const char *name, char *to, size_t size) {
  lua_getfield(L, at, name);
  snprintf(to, size, "%s", lua_tostring(L, -1) ? lua_tostring(L, -1) : "");
  lua_pop(L, 1);
}

/* Calls the global `name`(seed, resume) and keeps what it says; never returns. */
static void child(const char *name, bool resume) {
  take_a_piece();
  if (lua_getglobal(L, "debug") == LUA_TTABLE) lua_getfield(L, -1, "traceback");
  lua_getglobal(L, name);
  lua_pushinteger(L, (lua_Integer)seed_now);
  lua_pushboolean(L, resume);
  lua_pushboolean(L, world->rough);
  if (lua_pcall(L, 3, 1, -5) != LUA_OK) {
    world_wrong("%s raised: %s", name,
                lua_tostring(L, -1) ? lua_tostring(L, -1) : luaL_tolstring(L, -1, NULL));
    _exit(1);
  }
  if (lua_istable(L, -1)) {
    int at = lua_gettop(L);
    text_field(at, "status", world->status, sizeof world->status);
    text_field(at, "reason", world->reason, sizeof world->reason);
    text_field(at, "message", world->message, sizeof world->message);
    text_field(at, "error", world->error, sizeof world->error);
    text_field(at, "code", world->code, sizeof world->code);
    text_field(at, "summary", world->summary, sizeof world->summary);
  }
  _exit(0);
}

/* Runs it in a child; false: it was killed, as planned. */
static bool in_child(const char *name, bool resume) {
  if (world->calls > world->most_calls) world->most_calls = world->calls;
  world->calls = world->events = 0;
  fflush(NULL);
  pid_t pid = fork();
  assert(pid >= 0);
  if (pid == 0) child(name, resume);
  int status = 0;
  while (waitpid(pid, &status, 0) < 0)
    assert(errno == EINTR);
  for (int fd = 3; fd < 64; fd++) /* the kernel closes what a process leaves open */
    ram_disk_sys(world->disk)->close(ram_disk_sys(world->disk), fd);
  if (WIFEXITED(status) && WEXITSTATUS(status) == KILLED_EXIT) return false;
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    world_wrong("%s ended by itself: %s %d", name, WIFSIGNALED(status) ? "signal" : "exit code",
                WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
  return true;
}

/* ---- a point ---- */

/* What a full disk or a failed sync ended is resumed when there is room again. */
static bool is_over(void) {
  if (strcmp(world->reason, "sync_failed") == 0 || strcmp(world->reason, "store_lost") == 0)
    return false;
  if (strcmp(world->status, "failed") == 0 && (int)world->retried < RETRIES && world_one_in(2)) {
    world->retried++; /* a person tries it again */
    return false;
  }
  return strcmp(world->status, "completed") == 0 || strcmp(world->status, "aborted") == 0 ||
         strcmp(world->status, "failed") == 0 || strcmp(world->code, "over") == 0;
}

static void plan_harm(uint64_t calls) {
  world->harm = (struct harm){0};
  uint64_t at = 1 + world_draw(calls + calls / 4 + 1);
  switch (world_draw(6)) {
  case 0:
  case 1:
  case 2:
    world->harm.kill_at = at;
    world->harm.halfway = world_one_in(2);
    break;
  case 3:
    world->harm.fail_at = at;
    world->harm.fail_for = world_one_in(2) ? 1 : 1 + world_draw(40);
    world->harm.number = world_one_in(2) ? ENOSPC : EIO;
    break;
  case 4:
    world->harm.stop_at = 1 + world_draw(60);
    break;
  default:
    break;
  }
}

static void after_death(void) {
  if (world->durable && world_one_in(2)) {
    world_note("power cut");
    world->disk = ram_disk_cut(world->disk, world_draw(1 << 30));
  }
  if (world_one_in(4)) world->wall_ms += (int64_t)world_draw(4) * 86400000 - 86400000;
  world->now_ns += (int64_t)world_draw(world_one_in(3) ? 7200 : 5) * 1000000000;
  world_sys();
}

/* Runs to the end; `harms` episodes of it are harmed. */
static void run_to_end(unsigned harms, uint64_t calls) {
  bool resume = false;
  for (world->episode = 1; !world->wrong[0]; world->episode++) {
    if (world->episode > EPISODES) {
      world_wrong("the run does not end in %d episodes: %s %s %s", EPISODES, world->status,
                  world->reason, world->error);
      return;
    }
    world->harm = (struct harm){0};
    if (harms > 0) {
      plan_harm(calls);
      harms--;
    }
    world_sys();
    world->status[0] = world->reason[0] = world->error[0] = world->code[0] = 0;
    episodes++;
    if (!in_child("episode", resume)) after_death();
    world_note("episode %u%s: %s %s %s %s %s", world->episode, resume ? " (resume)" : "",
               world->code, world->status, world->reason, world->message, world->error);
    resume = strcmp(world->code, "nothing") != 0; /* it died before it was anything */
    if (is_over()) break;
  }
  world->harm = (struct harm){0};
}

/* The same seed: the same run, to the byte. */
static uint64_t one_run(uint64_t seed, bool harmed, unsigned harms, uint64_t calls) {
  seed_now = seed;
  world_begin(seed, seed % 2 == 1, harmed ? 1 : 0);
  world_sys();
  run_to_end(harms, calls);
  if (!world->wrong[0] || world->shows) in_child("audit", false);
  return world->trace;
}

static bool point(uint64_t seed) {
  static char calm[65536], wrong[2048];
  points++;
  one_run(seed, false, 0, 0);
  uint64_t calls = world->most_calls;
  snprintf(calm, sizeof calm, "%s", world->summary);
  if (!world->wrong[0]) {
    uint64_t trace = one_run(seed, true, 1 + (unsigned)(seed / 7 % 3), calls);
    if (!world->wrong[0] && !world->rough && strcmp(calm, world->summary) != 0)
      world_wrong("another end than in a calm world:\n  %.900s\n  %.900s", calm, world->summary);
    if (!world->wrong[0] && seed % 50 == 0 &&
        one_run(seed, true, 1 + (unsigned)(seed / 7 % 3), calls) != trace)
      world_wrong("the same seed, and another run");
  }
  if (!world->wrong[0]) return true;
  snprintf(wrong, sizeof wrong, "%s", world->wrong);
  wrong_points++;
  printf("not ok: sim SEED=%lu: %s\n", (unsigned long)seed, wrong);
  fflush(stdout);
  return false;
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
      {"draw", l_draw},         {"note", l_note},   {"wrong", l_wrong},     {"allow", l_allow},
      {"reported", l_reported}, {"later", l_later}, {"durable", l_durable}, {"sent", l_sent},
      {"records", l_records},   {NULL, NULL}};
  world_begin(0, false, 0);
  L = lua_newstate(allocate, NULL);
  luaL_openlibs(L);
  bind_set_sys(L, world_sys());
  core_install(L);
  limits_install(L);
  luaL_newlib(L, functions);
  lua_setglobal(L, "sim");
  run_file("tests/sim/sim.lua");
  lua_gc(L, LUA_GCCOLLECT);
  lua_gc(L, LUA_GCINC, 1000, 0, 0); /* to collect is to copy all that a child shares with us */
}

/* Loads what runs load late, once for all children. */
static void warm_up(void) {
  for (lua_Integer seed = 1; seed <= 12; seed++) {
    world_begin((uint64_t)seed, false, 0);
    world_sys();
    for (int i = 0; i < 2; i++) {
      lua_getglobal(L, i ? "audit" : "episode");
      lua_pushinteger(L, seed);
      lua_pushboolean(L, false);
      lua_pushboolean(L, seed % 2 == 1);
      if (lua_pcall(L, 3, 1, 0) != LUA_OK) fprintf(stderr, "# %s\n", lua_tostring(L, -1));
      lua_settop(L, 0);
    }
  }
  lua_gc(L, LUA_GCCOLLECT);
}

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void old_seeds(void) {
  FILE *file = fopen("tests/sim/seeds.txt", "r");
  char line[256];
  while (file && fgets(line, sizeof line, file)) {
    char *at = strstr(line, "SEED=");
    if (at && line[0] != '#') point(strtoull(at + 5, NULL, 10));
  }
  if (file) fclose(file);
}

int main(int argc, char **argv) {
  const char *asked = getenv("SIM_SECONDS");
  double most = asked && *asked ? atof(asked) : 15, begun = seconds();
  arena_open(ARENA);
  open_lua();
  warm_up();
  world->shows = getenv("SHOW") != NULL;
  if (argc > 1) {
    uint64_t seed = strtoull(argv[1], NULL, 10), count = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    for (uint64_t i = 0; i < count; i++)
      point(seed + i);
  } else {
    old_seeds();
    /* the same ones for all who look at a change; what is new is drawn for NIGHTLY=1 */
    uint64_t seed = getenv("SKILLRT_NIGHTLY") ? (uint64_t)time(NULL) * 1000 : 1;
    printf("# from SEED=%lu\n", (unsigned long)seed);
    while (seconds() - begun < most && wrong_points < 10)
      point(seed++);
  }
  double took = seconds() - begun;
  printf("# %ld points, %ld episodes in %.1f s, %.2f ms a point\n", points, episodes, took,
         took * 1000 / (double)points);
  printf("%ld passed, %ld failed\n", points - wrong_points, wrong_points);
  lua_close(L);
  return wrong_points > 0;
}
