-- embed_spec.lua: what csrc/embed.lua writes is C that holds the very bytes.

-- Embeds files written from `files`, compiles the result with a C main that prints entry `wanted`.
local function embedded(files, wanted, options)
  local root = os.tmpname()
  os.remove(root)
  local names = {}
  for name, text in pairs(files) do
    assert(os.execute(("mkdir -p '%s/%s'"):format(root, name:match "^(.*)/")))
    local file <close> = assert(io.open(root .. "/" .. name, "wb"))
    file:write(text)
    names[#names + 1] = name
  end
  table.sort(names)
  local main <close> = assert(io.open(root .. "/main.c", "w"))
  main:write(([[
#include <stdio.h>
#include <string.h>
#include "lua/embedded.h"
int main(void) {
  for (const struct embedded_file *f = embedded_files; f->name; f++)
    if (strcmp(f->name, "%s") == 0) fwrite(f->text, 1, f->size + 1, stdout);
  return 0;
}]]):format(wanted))
  main:close()
  local here = io.popen("pwd"):read "l"
  local pipe = assert(io.popen(([[cd '%s' && { lua5.4 '%s/csrc/embed.lua' %s %s > e.c &&
    ${CC:-gcc} -Wall -Wextra -Werror -I'%s/csrc' main.c e.c -o e && ./e; } 2>&1]]):format(
    root, here, options or "", table.concat(names, " "), here)))
  local output = pipe:read "a"
  pipe:close()
  os.execute(("rm -r '%s'"):format(root))
  return output
end

describe("embedding", function()
  local core = require "skillrt.core"

  -- What a module's text means, without names of files and lines; and its lines.
  local function meant(text)
    return string.dump(assert(load(text, "=")), true), select(2, text:gsub("\n", ""))
  end

  local function each_module(folder, look)
    local count = 0
    for _, name in ipairs(core.assets(folder)) do
      if name:find "%.lua$" then
        local file <close> = assert(io.open(name, "rb"))
        look(name, file:read "a", core.asset(name))
        count = count + 1
      end
    end
    assert.is_true(count > 0)
  end

  local function lines_of(path)
    local set = {}
    for line in io.lines(path) do
      set[line] = true
    end
    return set
  end

  it("compiles what a plain run loads: csrc/started.txt names it, but for a twentieth at most", function()
    local path = os.tmpname()
    local build = assert(os.getenv "SKILLRT_BUILD")
    local command = "LUA_PATH='lua/?.lua;lua/?/init.lua' LUA_CPATH='%s/lib/?.so;;' lua5.4 csrc/started.lua %s > /dev/null"
    assert(os.execute(command:format(build, path)))
    local listed, all, missing = lines_of "csrc/started.txt", 0, {}
    for name in pairs(lines_of(path)) do
      all = all + 1
      missing[#missing + 1] = not listed[name] and name or nil
    end
    os.remove(path)
    assert.is_true(all > 100)
    assert.is_true(#missing <= all // 20, "run make started; not listed: " .. table.concat(missing, ", "))
  end)

  it("packs all other modules as text without blanks, which means the same on the same lines", function()
    local listed, before, after = lines_of "csrc/started.txt", 0, 0
    each_module("lua/skillrt/", function(name, text, asset)
      local got, kept = meant(asset)
      local wanted, lines = meant(text)
      assert.is_true(wanted == got, name .. " does not mean what it meant")
      if not listed[name:gsub("^lua/", "")] then
        assert.equal(lines, kept, name)
        before, after = before + #text, after + #asset
      end
    end)
    assert.is_true(after < 0.7 * before, ("%d of %d bytes"):format(after, before))
  end)

  it("packs templates, and unpacks them to the byte", function()
    for _, name in ipairs(core.assets "templates/") do
      local file <close> = assert(io.open(name, "rb"))
      assert.is_true(file:read "a" == core.asset(name), name .. " is not what it was")
    end
  end)

  it("keeps every byte of a strategy, whatever it is", function()
    local all = {}
    for byte = 0, 255 do
      all[#all + 1] = string.char(byte) .. "1??=\\\""
    end
    local text = table.concat(all)
    assert.equal(text .. "\0", embedded({ ["strategies/a.lua"] = text, ["strategies/b.lua"] = "" }, "strategies/a.lua"))
  end)

  it("compiles modules with their names and lines, and leaves strategies as text", function()
    local files = { ["lua/skillrt/run/turn.lua"] = "local M = {}\nerror 'here'\nreturn M\n", ["strategies/s.lua"] = "return {}\n" }
    local chunk = assert(load(embedded(files, "lua/skillrt/run/turn.lua"):sub(1, -2), "=?", "b"))
    local _, message = pcall(chunk)
    assert.equal("skillrt/run/turn.lua:2: here", message)
    assert.equal("return {}\n\0", embedded(files, "strategies/s.lua"))
    assert.equal(files["lua/skillrt/run/turn.lua"] .. "\0", embedded(files, "lua/skillrt/run/turn.lua", "--source"))
  end)

  it("stops the build at a syntax error, naming file and line", function()
    local output = embedded({ ["lua/skillrt/x.lua"] = "\nlocal = 1\n" }, "x")
    assert.truthy(output:find("lua/skillrt/x.lua:2: <name> expected near '='", 1, true))
  end)
end)
