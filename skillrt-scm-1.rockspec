-- skillrt-scm-1.rockspec: the LuaRocks face of the Makefile.
--
-- Only Lua is named under `dependencies`. LPeg, lyaml and lua-cjson come from the
-- system's packages on the machines this is made for, where LuaRocks does not see them: naming
-- them would make it fetch and build second copies from the network. `make deps` installs them,
-- and a program that misses one is told so by name when it requires skillrt.
rockspec_format = "3.0"
package = "skillrt"
version = "scm-1"
source = { url = "git+file://." }
description = {
  summary = "Runs agent skills to the end: scriptable in Lua, recorded before it is reported",
  detailed = [[
    A skill says what may happen: actions with preconditions and effects, phases, agents, limits.
    skillrt owns that it happens: which step is next, that it is recorded before it is reported,
    that a crash loses nothing, that a limit is a limit.]],
  license = "MIT",
}
dependencies = { "lua >= 5.4, < 5.5" }
-- libcurl's headers lie in a folder per machine type that LuaRocks does not search; the Makefile
-- finds it, and libuv and Lua, through pkg-config, and says what is missing
external_dependencies = { UV = { header = "uv.h" } }
-- a folder of its own, because LuaRocks brings flags of its own
local variables = { BUILD = "build/rock", CFLAGS = "$(CFLAGS)", LUADIR = "$(LUADIR)", LIBDIR = "$(LIBDIR)" }
build = {
  type = "make",
  build_target = "rock",
  install_target = "install-rock",
  build_variables = variables,
  install_variables = variables,
}
