-- skillrt-scm-1.rockspec: the LuaRocks face of the Makefile.
--
-- `dependencies` are the modules in Lua that skillrt loads (docs/inside/architecture.md has the reasons). LuaRocks does
-- not see those of the system's packages and installs its own from luarocks.org. Where they are installed already, or
-- luarocks.org cannot be reached: `luarocks --lua-version=5.4 make --deps-mode none`.
rockspec_format = "3.0"
package = "skillrt"
version = "scm-1"
source = { url = "git+file://." }
description = {
  summary = "Runs agent skills durably: every call is recorded, and a killed run resumes where it was",
  detailed = [[
    A skill is a folder with a SKILL.md, a workflow script that calls agents, or a Lua script with actions and
    conditions. skillrt chooses the next step, records each call before it is sent and when it is answered, stops at
    limits, and resumes a run that was killed.]],
  license = "MIT",
}
dependencies = { "lua >= 5.4, < 5.5", "lpeg >= 1.0", "lyaml >= 6.2", "lua-cjson >= 2.1" }
build_dependencies = { "lua-zlib >= 1.2" }
-- libcurl's headers lie in a folder per machine type that LuaRocks does not search; the Makefile
-- finds it, and libuv and Lua, through pkg-config, and says what is missing
external_dependencies = { UV = { header = "uv.h" } }
-- a folder of its own, because LuaRocks brings flags of its own
local variables = { BUILD = "build/rock", CFLAGS = "$(CFLAGS)", LUADIR = "$(LUADIR)", LIBDIR = "$(LIBDIR)",
  BINDIR = "$(BINDIR)" }
build = {
  type = "make",
  build_target = "rock",
  install_target = "install-rock install-program",
  build_variables = variables,
  install_variables = variables,
}
