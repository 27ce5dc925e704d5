/* fuzz_template.c: libFuzzer feeds templates to lua/skillrt/base/template.lua (lua_host.h).
 * The input is up to three texts with a zero byte between: the template and the partials p and q.
 * Render must never raise and never run out of its limits. */
#include "lua_host.h"

static const char driver[] =
    "local template = require 'skillrt.base.template'\n"
    "local data = { x = '{{x}} $&', l = { 1, 'b', { x = 2 } }, o = { y = 'in' }, n = false, d = "
    "'q',\n"
    "  f = function(raw, render) return render and render(raw) or '{{x}}' end }\n"
    "local options = { max_steps = 20000, max_bytes = 1 << 20, max_depth = 30 }\n"
    "return function(input)\n"
    "  local text, p, q = input:match '^([^\\0]*)\\0?([^\\0]*)\\0?(.*)$'\n"
    "  local result, message, code = template.render(text, data, { p = p, q = q }, options)\n"
    "  assert(result or (type(message) == 'string' and code == 'invalid'))\n"
    "end\n";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  return lua_host_feed(driver, data, size);
}
