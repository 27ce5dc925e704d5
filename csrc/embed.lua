-- embed.lua: writes embedded.c: the Lua files, strategies and templates as C strings.
--
-- Run by the Makefile: lua5.4 csrc/embed.lua FILE... > embedded.c
-- Names inside: "lua/skillrt/policy.lua", "strategies/priority.lua", "templates/en/x.mustache".

local function bytes(text)
  local out, column = {}, 0
  for i = 1, #text do
    local piece = ("%d,"):format(text:byte(i))
    column = column + #piece
    if column > 96 then
      out[#out + 1] = "\n"
      column = #piece
    end
    out[#out + 1] = piece
  end
  return table.concat(out)
end

print("/* written by csrc/embed.lua; do not edit */")
print('#include "lua/embedded.h"')
local rows = {}
for i, path in ipairs(arg) do
  local file <close> = assert(io.open(path, "rb"))
  local text = file:read("a")
  print(("static const unsigned char file_%d[] = {\n%s0};"):format(i, bytes(text)))
  rows[#rows + 1] = ('  {"%s", (const char *)file_%d, %d},'):format(path, i, #text)
end
print("const struct embedded_file embedded_files[] = {")
print(table.concat(rows, "\n"))
print("  {0, 0, 0},\n};")
