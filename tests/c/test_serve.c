/* test_serve.c: core.serve where the system fails: at every n-th call and allocation lines and
 * programs either work or say why not; nothing is left, and the next time all works. */
#include <errno.h>
#include <lauxlib.h>
#include <lualib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lua/bind.h"
#include "support/check.h"
#include "support/faulty_sys.h"

/* What a server does: takes lines, long ones and half ones, too, while a program runs. */
static const char served[] =
    "local serve = ...\n"
    "local lines, said, code, output = serve.lines(5000), {}, nil, nil\n"
    "local program, message, why = serve.start({ 'sh', '-c', 'cat; exit 3' }, 'input', true)\n"
    "if not program then said[#said + 1] = assert(message) .. assert(why) end\n"
    "for _ = 1, 100 do\n"
    "  local text, reason\n"
    "  repeat\n"
    "    text, reason = lines:next()\n"
    "    said[#said + 1] = text and #text .. text:sub(1, 4) or reason == 'long' and reason or nil\n"
    "  until not text and reason ~= 'long'\n"
    "  code = program and program:code()\n"
    "  if reason == 'closed' and (code or not program) then break end\n"
    "  assert(serve.wait(10, lines, { program }))\n"
    "end\n"
    "if program then output = program:output(100) program:stop(true) end\n"
    "return table.concat(said, ' ') .. '; ' .. tostring(code) .. ' ' .. tostring(output)\n";

/* "one", a line that is too long, and half a line at the end. */
static bool type_lines(void) {
  static char text[40000];
  int ends[2];
  memset(text, 'x', sizeof text);
  memcpy(text, "one\n", 4);
  text[20000] = '\n';
  memcpy(text + sizeof text - 9, "\ntwo\nhalf", 9);
  text[sizeof text - 3000] = '\n';
  if (pipe(ends) != 0) return false;
  bool whole = write(ends[1], text, sizeof text) == (ssize_t)sizeof text;
  whole = dup2(ends[0], STDIN_FILENO) == STDIN_FILENO && whole;
  close(ends[0]);
  close(ends[1]);
  return whole;
}

static bool serve(const struct sys *sys, char *said, size_t size) {
  lua_State *L = luaL_newstate();
  if (!L || !type_lines()) return false;
  luaL_openlibs(L);
  bind_set_sys(L, sys);
  bool ok =
      luaL_loadstring(L, served) == LUA_OK && bind_serve(L) == 1 && lua_pcall(L, 1, 1, 0) == LUA_OK;
  const char *text = lua_tostring(L, -1);
  snprintf(said, size, "%s", text ? text : "");
  lua_close(L);
  return ok;
}

static const char wanted[] = "3one long long 2990xxxx 3two 4half; 3 input";

static void everywhere(const char *name, unsigned mask, int number, enum faulty_how how) {
  struct faulty *faulty = faulty_new(sys_real());
  char said[400];
  for (uint64_t n = 1; n < 2000; n++) {
    faulty_reset(faulty);
    if (mask)
      faulty_fail(faulty, mask, n, number, how);
    else
      faulty_fail_alloc(faulty, n, false, how == FAULTY_FROM);
    bool ok = serve(faulty_sys(faulty), said, sizeof said);
    bool reached = faulty_count(faulty, mask ? mask : FAULTY_BIT(FAULTY_ALLOC)) >= n;
    bool good = said[0] && (reached || (ok && strcmp(said, wanted) == 0));
    good = good && faulty_outstanding(faulty) == 0 && faulty_open_files(faulty) == 0;
    CHECK(good);
    if (!good)
      printf("# %s %lu: %s, %zu bytes and %d descriptors left\n", name, (unsigned long)n, said,
             faulty_outstanding(faulty), faulty_open_files(faulty));
    if (!reached || !good) break;
  }
  faulty_free(faulty);
}

int main(void) {
  char said[400];
  TEST("lines, long and half ones, and a program are served") {
    CHECK(serve(sys_real(), said, sizeof said));
    CHECK_STR(said, wanted);
  }
  TEST("what serves others survives every failing call") {
    static const unsigned calls = FAULTY_FILES | FAULTY_BIT(FAULTY_SPAWN);
    everywhere("EIO", calls, EIO, FAULTY_ONCE);
    everywhere("EIO from", calls, EIO, FAULTY_FROM);
    everywhere("EINTR", FAULTY_BIT(FAULTY_READ) | FAULTY_BIT(FAULTY_WRITE), EINTR, FAULTY_ONCE);
    everywhere("EMFILE", FAULTY_BIT(FAULTY_OPEN) | FAULTY_BIT(FAULTY_SPAWN), EMFILE, FAULTY_ONCE);
    everywhere("short write", FAULTY_BIT(FAULTY_WRITE), 0, FAULTY_SHORT);
  }
  TEST("what serves others survives every failing allocation") {
    everywhere("allocation", 0, 0, FAULTY_ONCE);
    everywhere("allocations from", 0, 0, FAULTY_FROM);
  }
  return check_finish();
}
