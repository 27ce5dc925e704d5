-- helper.lua: loaded by busted before every spec: the right Lua, the tree's own modules.
assert(_VERSION == "Lua 5.4", "the tests need Lua 5.4: run them with `make test`, not plain busted")
local mode = os.getenv "SKILLRT_MODE" or "release"
package.path = "./lua/?.lua;./lua/?/init.lua;./?.lua;" .. package.path
package.cpath = ("./build/%s/lib/?.so;"):format(mode) .. package.cpath
