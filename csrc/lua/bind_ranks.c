/* bind_ranks.c: which of some ranks are open, and the i-th of these, for Lua: a bit for each, and
 * counts of 64 words each, so that one of 100,000 is found by looking at a few.
 *
 * The functions of a set hold it as an upvalue: nobody can hand them another's. Knows nothing of
 * actions and conditions. */
#include "lua/bind.h"

#include <lauxlib.h>
#include <stdint.h>
#include <string.h>

enum { WORD = 64, GROUP = 64 * WORD };

struct ranks {
  lua_Integer size, open;
  uint32_t *groups; /* open ones among 4,096 ranks each */
  uint64_t words[];
};

enum { SET = 1, ORDER }; /* upvalues */

static struct ranks *set_of(lua_State *L) {
  return lua_touserdata(L, lua_upvalueindex(SET));
}

static void put(struct ranks *set, lua_Integer rank, bool now) {
  uint64_t bit = UINT64_C(1) << (rank - 1) % WORD, *word = &set->words[(rank - 1) / WORD];
  if (((*word & bit) != 0) == now) return;
  *word ^= bit;
  set->open += now ? 1 : -1;
  set->groups[(rank - 1) / GROUP] += now ? 1u : UINT32_MAX;
}

static lua_Integer check_rank(lua_State *L, const struct ranks *set) {
  lua_Integer rank = luaL_checkinteger(L, 1);
  luaL_argcheck(L, rank >= 1 && rank <= set->size, 1, "no such rank");
  return rank;
}

/* put(rank, now) -> how many are open */
static int ranks_put(lua_State *L) {
  struct ranks *set = set_of(L);
  put(set, check_rank(L, set), lua_toboolean(L, 2));
  lua_pushinteger(L, set->open);
  return 1;
}

/* is_open(rank) -> boolean */
static int ranks_is_open(lua_State *L) {
  const struct ranks *set = set_of(L);
  lua_Integer rank = check_rank(L, set);
  lua_pushboolean(L, set->words[(rank - 1) / WORD] >> (rank - 1) % WORD & 1);
  return 1;
}

/* The rank of the i-th open one, 1 <= i <= open. */
static lua_Integer nth(const struct ranks *set, lua_Integer i) {
  size_t group = 0;
  for (; set->groups[group] < i; group++)
    i -= set->groups[group];
  size_t word = group * (GROUP / WORD);
  for (; __builtin_popcountll(set->words[word]) < i; word++)
    i -= __builtin_popcountll(set->words[word]);
  uint64_t bits = set->words[word];
  while (--i > 0)
    bits &= bits - 1;
  return (lua_Integer)word * WORD + __builtin_ctzll(bits) + 1;
}

/* index(list, i) -> what stands in the order at the i-th open rank; nil: no such i. An __index. */
static int ranks_index(lua_State *L) {
  const struct ranks *set = set_of(L);
  if (!lua_isinteger(L, 2)) return 0;
  lua_Integer i = lua_tointeger(L, 2);
  if (i < 1 || i > set->open) return 0;
  lua_rawgeti(L, lua_upvalueindex(ORDER), nth(set, i));
  return 1;
}

/* ranks(size, order) -> { put, is_open, index } of a set in which none of the ranks 1 to size is
 * open; order is read by rank. */
static int core_ranks(lua_State *L) {
  lua_Integer size = luaL_checkinteger(L, 1);
  luaL_argcheck(L, size >= 0 && size <= INT32_MAX, 1, "a number of ranks");
  luaL_checktype(L, 2, LUA_TTABLE);
  lua_settop(L, 2);
  size_t groups = (size_t)(size + GROUP - 1) / GROUP, words = groups * (GROUP / WORD);
  size_t bytes = sizeof(struct ranks) + words * sizeof(uint64_t) + groups * sizeof(uint32_t);
  struct ranks *set = lua_newuserdatauv(L, bytes, 0);
  memset(set, 0, bytes);
  set->size = size;
  set->groups = (uint32_t *)(set->words + words);
  static const luaL_Reg functions[] = {
      {"put", ranks_put}, {"is_open", ranks_is_open}, {"index", ranks_index}, {NULL, NULL}};
  luaL_newlibtable(L, functions);
  lua_pushvalue(L, 3);
  lua_pushvalue(L, 2);
  luaL_setfuncs(L, functions, 2);
  return 1;
}

int bind_ranks(lua_State *L) {
  lua_pushcfunction(L, core_ranks);
  return 1;
}
