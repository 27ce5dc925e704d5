/* fuzz_expr.c: libFuzzer feeds texts to lua/skillrt/expr/init.lua (lua_host.h).
 * Compiling, evaluating, explaining and proving must never raise, and a constant condition must be
 * what it is said to be. */
#include "lua_host.h"

static const char driver[] =
    "local expr = require 'skillrt.expr'\n"
    "local list = setmetatable({}, { __is_json_array = true })\n"
    "local item = { name = 'b', n = -0.0, tags = { 'x', 2, true } }\n"
    "local state = { a = 1, b = 0.1, s = 'a\\u{1F600}b', x = false, n = 9007199254740993,\n"
    "  null = io.stdout, list = { 1, 'a', 0 / 0 }, none = list, items = { item, item, {} },\n"
    "  o = { k = 'k', deep = { list = { { 1 }, { 'z' } } } } }\n"
    "return function(text)\n"
    "  local condition, message, code = expr.compile(text, { max_steps = 20000 })\n"
    "  if not condition then\n"
    "    return assert(message:find '^%d+:%d+: ' and utf8.len(message) and code == 'invalid')\n"
    "  end\n"
    "  local truth = condition(state)\n"
    "  condition:evaluate(state)\n"
    "  assert(type(condition:explain(state)) == 'string')\n"
    "  local constant = expr.constant(condition)\n"
    "  assert(constant == nil or constant == truth)\n"
    "end\n";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  return lua_host_feed(driver, data, size);
}
