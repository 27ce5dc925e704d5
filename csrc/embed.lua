-- embed.lua: writes embedded.c: the Lua modules, strategies and templates as C strings.
--
-- Run by the Makefile: lua5.4 csrc/embed.lua [--source] FILE... > embedded.c
-- Names inside: "lua/skillrt/run/policy.lua", "strategies/priority.lua", "templates/en/x.mustache".
-- The modules below lua/ are compiled here, with their line numbers (loading them takes an eighth
-- of the time of parsing them, and a syntax error stops the build); --source leaves them as text.
-- Strategies stay text: a journal pins their digest, which must not depend on the build. Modules are
-- packed, but for those that all others need. Those that read and write documents, or ask over a network,
-- are packed as text without comments and indents, which takes less than what is compiled of it.
package.path = arg[0]:gsub("[^/]*$", "?.lua")
local pack = require "pack"

-- Unpacking costs a start less than a tenth, and saves a third of the room.
local PACKED = {}
for folder in ("agent cli document expr mode report run skill template workflow"):gmatch "%w+" do
  PACKED[folder] = true
end

local AS_TEXT = { document = true, template = true, workflow = true }
local AGENTS = "anthropic openai model provider reading wire claude codex gemini coding dry used chosen plain skill "
  .. "person pace"
for agent in AGENTS:gmatch "%w+" do
  AS_TEXT["agent/" .. agent] = true -- they ask over a network: a millisecond to parse them is nothing
end

local escapes = { ["\n"] = "\\n", ["\\"] = "\\\\", ['"'] = '\\"', ["?"] = "\\?" }
for byte = 0, 255 do
  local char = string.char(byte)
  if not escapes[char] and (byte < 32 or byte > 126) then
    escapes[char] = ("\\%03o"):format(byte)
  end
end

-- The bytes as C string literals of some 100 characters a line.
local function literals(bytes)
  local lines, line, column = {}, {}, 0
  for i = 1, #bytes do
    local char = bytes:sub(i, i)
    local piece = escapes[char] or char
    line[#line + 1] = piece
    column = column + #piece
    if column > 100 or char == "\n" then
      lines[#lines + 1] = '  "' .. table.concat(line) .. '"'
      line, column = {}, 0
    end
  end
  lines[#lines + 1] = '  "' .. table.concat(line) .. '"'
  return table.concat(lines, "\n")
end

-- A module's text without comments and indents, line for line. Where that would mean something else (a text
-- over several lines that holds such a line), it stays as it is.
local function lean(text, chunk)
  local short = ("\n" .. text):gsub("\n[ ]*%-%-[^\n%[][^\n]*", "\n"):gsub("\n[ ]*%-%-%f[\n]", "\n")
  short = short:gsub("\n[ ]+", "\n"):sub(2)
  local same = load(short, "=", "t")
  return same and string.dump(same, true) == string.dump(chunk, true) and short or text
end

-- What to embed for a file: its text, or a module compiled under the name its errors will show.
local function content(path, as_source)
  local file <close> = assert(io.open(path, "rb"))
  local text = file:read "a"
  local module = path:match "^lua/(.+%.lua)$"
  if not module or as_source then
    return text
  end
  local chunk, message = load(text, "@" .. module, "t")
  if not chunk then
    io.stderr:write(("lua/%s\n"):format(message))
    os.exit(1)
  end
  local as_text = AS_TEXT[module:match "^skillrt/(%w+)/"] or AS_TEXT[module:match "^skillrt/(agent/%a+)"]
  return as_text and lean(text, chunk) or string.dump(chunk, false)
end

local paths = { table.unpack(arg) }
local as_source = paths[1] == "--source"
if as_source then
  table.remove(paths, 1)
end

local rows = {}
print("/* written by csrc/embed.lua; do not edit */")
print('#include "lua/embedded.h"\n')
for i, path in ipairs(paths) do
  local bytes = content(path, as_source)
  local kept, packed = bytes, 0
  if PACKED[path:match "^lua/skillrt/(%w+)/"] and not as_source then
    kept = pack.pack(bytes)
    packed = #kept
  end
  print(("static const char file_%d[] =\n%s;"):format(i, literals(kept)))
  rows[#rows + 1] = ('    {"%s", file_%d, %d, %d},'):format(path, i, #bytes, packed)
end
print("\nconst struct embedded_file embedded_files[] = {")
if #rows > 0 then
  print(table.concat(rows, "\n"))
end
print("    {0, 0, 0, 0},\n};")
