/* record.c: writes down which lines of the program, in Lua and C, a test runs, in all processes
 * that it starts.
 *
 * Built and used by `make nearest` alone: loaded into each process by LD_PRELOAD, and into the
 * interpreter of the specs by LUA_INIT, as that one has its own copy of Lua. The blocks in C tell
 * of themselves by -fsanitize-coverage=trace-pc. The file that the environment's RECORD names is
 * mapped and shared, so that nothing is lost when a process is killed, and a process in a sandbox
 * needs no call of the system. A line for each: "lua @SOURCE LINE" or "c OBJECT OFFSET"; one that
 * another process has written already, which some tests start hundreds of, is not written again.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <lua.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define ROOM ((size_t)8 << 20) /* of what make/nearest.sh reads */
#define OTHERS 256
#define SEEN (1 << 17) /* lines of a process, and of all; a power of two */

struct record {
  _Atomic size_t used;
  char text[ROOM - sizeof(size_t)];
  _Atomic uintptr_t seen[SEEN];
};

static struct record *record;
static _Atomic uintptr_t seen[SEEN];
static char program[4096]; /* this process's own: it may have been begun as /proc/self/exe */

typedef void set_hook_fn(lua_State *L, lua_Hook hook, int mask, int count);

/* Hooks that the program itself sets, by their state: its time limits. */
static struct {
  lua_State *L;
  lua_Hook hook;
} others[OTHERS];

__attribute__((constructor)) static void open_record(void) {
  const char *path = getenv("RECORD");
  int fd = path ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666) : -1;
  if (fd < 0) return;
  if (!ftruncate(fd, sizeof *record)) {
    void *at = mmap(NULL, sizeof *record, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    record = at == MAP_FAILED ? NULL : at;
  }
  close(fd);
  if (readlink("/proc/self/exe", program, sizeof program - 1) < 0) program[0] = 0;
}

/* Whether this is the first time. */
static int is_new(_Atomic uintptr_t *seen, uintptr_t key) {
  for (size_t i = key * 0x9E3779B97F4A7C15u >> 47, tries = 0; tries < 64;
       tries++, i = (i + 1) % SEEN) {
    uintptr_t known = atomic_load_explicit(&seen[i], memory_order_relaxed);
    if (known == key) return 0;
    if (!known) {
      atomic_store_explicit(&seen[i], key, memory_order_relaxed);
      return 1;
    }
  }
  return 0;
}

/* Of a source by its name: each state has it at another address, and a test opens many states. */
static uintptr_t hash_of(const char *text) {
  uintptr_t key = 0xCBF29CE484222325u;
  for (const char *c = text; *c && c - text < 256; c++) {
    key = (key ^ (unsigned char)*c) * 0x100000001B3u;
  }
  return key;
}

static void add(const char *kind, const char *name, unsigned long number) {
  char line[512];
  int length = snprintf(line, sizeof line, "%s %s %lu\n", kind, name, number);
  if (length <= 0 || (size_t)length >= sizeof line) return;
  if (!is_new(record->seen, hash_of(line))) return;
  size_t at = atomic_fetch_add(&record->used, (size_t)length);
  if (at + (size_t)length < sizeof record->text) memcpy(record->text + at, line, (size_t)length);
}

void __sanitizer_cov_trace_pc(void);

void __sanitizer_cov_trace_pc(void) {
  char *at = __builtin_return_address(0);
  Dl_info info;
  if (record && is_new(seen, (uintptr_t)at) && dladdr(at, &info)) {
    int own = program[0] && strcmp(info.dli_fname, program_invocation_name) == 0;
    add("c", own ? program : info.dli_fname, (unsigned long)(at - (char *)info.dli_fbase));
  }
}

static lua_Hook other_of(lua_State *L) {
  for (size_t i = 0; i < OTHERS; i++) {
    if (others[i].L == L) return others[i].hook;
  }
  return NULL;
}

static void pass(lua_State *L, lua_Debug *at) {
  if (at->event != LUA_HOOKLINE) {
    lua_Hook other = other_of(L);
    if (other) other(L, at);
    return;
  }
  static int (*info)(lua_State *, const char *, lua_Debug *);
  if (!info) *(void **)&info = dlsym(RTLD_DEFAULT, "lua_getinfo");
  if (record && info(L, "S", at) &&
      (strstr(at->source, "skillrt/") || strstr(at->source, "strategies/")) &&
      is_new(seen, hash_of(at->source) + (uintptr_t)at->currentline * 2 + 1)) {
    add("lua", at->source, (unsigned long)at->currentline);
  }
}

/* What the program calls instead of lua_sethook and lua_gethook (the Makefile's FLAGS_record): the
 * interpreter of the specs has its own, which no library can stand before. */
void record_sethook(lua_State *L, lua_Hook hook, int mask, int count);
void record_sethook(lua_State *L, lua_Hook hook, int mask, int count) {
  set_hook_fn *real;
  *(void **)&real = dlsym(RTLD_DEFAULT, "lua_sethook");
  size_t i = 0;
  while (i < OTHERS - 1 && others[i].L && others[i].L != L)
    i++;
  others[i].L = L;
  others[i].hook = hook;
  real(L, pass, mask | LUA_MASKLINE, count);
}

lua_Hook record_gethook(lua_State *L);
lua_Hook record_gethook(lua_State *L) {
  int (*mask)(lua_State *);
  *(void **)&mask = dlsym(RTLD_DEFAULT, "lua_gethookmask");
  return mask(L) & LUA_MASKCOUNT ? other_of(L) : NULL;
}

static lua_State *hooked(lua_State *L) {
  if (L && record) record_sethook(L, NULL, 0, 0);
  return L;
}

lua_State *lua_newstate(lua_Alloc allocate, void *data) {
  lua_State *(*real)(lua_Alloc, void *);
  *(void **)&real = dlsym(RTLD_NEXT, "lua_newstate");
  return hooked(real(allocate, data));
}

lua_State *luaL_newstate(void);
lua_State *luaL_newstate(void) {
  lua_State *(*real)(void);
  *(void **)&real = dlsym(RTLD_NEXT, "luaL_newstate");
  return hooked(real());
}

/* require "record": of an interpreter that has its own Lua */
int luaopen_record(lua_State *L);
int luaopen_record(lua_State *L) {
  set_hook_fn *real;
  *(void **)&real = dlsym(RTLD_DEFAULT, "lua_sethook");
  if (record) real(L, pass, LUA_MASKLINE, 0);
  return 0;
}
