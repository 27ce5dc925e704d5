/* bind_sse.c: server-sent events out of a whole body, for Lua.
 *
 * The parser is the transport's own (base/sse.h), so that a stream means the same while it comes
 * and afterwards. It lives in a userdata: what raises in the middle leaves nothing behind. Knows
 * nothing of what events mean. */
#include "lua/bind.h"

#include <lauxlib.h>

#include "base/sse.h"

enum {
  TEXT_MAX = 64 << 20, /* bytes of a line, and of an event's data; replies have their own limit */
  EVENTS_MAX = 200000
};

struct listing {
  lua_State *L;
  lua_Integer count; /* of the events in the list at the top of the stack */
};

static int clear_parser(lua_State *L) {
  sse_clear(lua_touserdata(L, 1));
  return 0;
}

static struct sse *new_parser(lua_State *L) {
  struct sse *parser = lua_newuserdatauv(L, sizeof *parser, 0);
  sse_init(parser, bind_sys(L), TEXT_MAX, TEXT_MAX);
  lua_createtable(L, 0, 1);
  lua_pushcfunction(L, clear_parser);
  lua_setfield(L, -2, "__gc");
  lua_setmetatable(L, -2);
  return parser;
}

static void set_text(lua_State *L, struct span text, const char *field) {
  lua_pushlstring(L, text.length ? text.data : "", text.length);
  lua_setfield(L, -2, field);
}

static bool add_event(void *data, const struct sse_event *event) {
  struct listing *listing = data;
  lua_State *L = listing->L;
  if (listing->count++ == EVENTS_MAX) return false;
  lua_createtable(L, 0, 3);
  set_text(L, event->event, "event");
  set_text(L, event->data, "data");
  set_text(L, event->id, "id");
  lua_rawseti(L, -2, listing->count);
  return true;
}

/* sse(body) -> a list of { event, data, id }, and whether the body ends inside an event, which is
 * then not in the list. */
static int core_sse(lua_State *L) {
  size_t size;
  const char *body = luaL_checklstring(L, 1, &size);
  struct sse *parser = new_parser(L);
  lua_newtable(L);
  struct listing listing = {.L = L};
  struct error error = {0};
  bool good = sse_feed(parser, body, size, add_event, &listing, &error);
  bool unfinished = sse_unfinished(parser);
  sse_clear(parser);
  if (good && listing.count > EVENTS_MAX)
    good = error_set(&error, ERROR_LIMIT, "event stream: more than %d events", EVENTS_MAX);
  if (!good) return bind_fail(L, &error);
  lua_pushboolean(L, unfinished);
  return 2;
}

int bind_sse(lua_State *L) {
  lua_pushcfunction(L, core_sse);
  return 1;
}
