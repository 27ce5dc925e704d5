-- embed.lua: writes embedded.c: the Lua modules, strategies and templates as C strings.
--
-- Run by the Makefile: lua5.4 csrc/embed.lua [--source] FILE... > embedded.c
-- Names inside: "lua/skillrt/run/turn.lua", "strategies/priority.lua", "templates/en/x.mustache".
-- What a plain run loads (csrc/started.txt, written by `make started`) is compiled here, with its line numbers:
-- loading it takes an eighth of the time of parsing it. All other modules travel as text without comments and
-- blanks, packed folder by folder, which takes a quarter of the room, and so do templates. A syntax error stops the
-- build; --source leaves all as it is. Strategies stay text: a journal pins their digest, which must not depend on
-- the build.
local zlib = require "zlib"

-- The modules that a plain run loads.
local STARTED = {}
for line in io.lines((arg[0]:gsub("[^/]*$", "started.txt"))) do
  STARTED[line] = true
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

-- Where a text in quotes or brackets, or a comment, that begins here ends; nil: none does.
local function literal_end(text, at)
  local quote = text:match("^[\"']", at)
  local level = text:match("^%[(=*)%[", at)
  if level then
    return select(2, text:find("]" .. level .. "]", at, true))
  end
  local stop = quote and at
  while stop do
    stop = text:find("[\\" .. quote .. "]", stop + 1)
    if not stop or text:byte(stop) ~= 92 then
      return stop
    end
    stop = stop + 1 -- what is escaped
  end
end

-- Blanks between two characters that would be something else without them.
local function parts(before, after)
  local both = before .. after
  return both:find("^[%w_][%w_]$") or both:find("^[%-%[<>=~/:.][%-%[<>=~/:.]$") or both:find("^%d%.$")
end

-- A module's text without comments, indents and blanks that say nothing, line for line. Where that would mean
-- something else it stays as it is.
local function lean(text, chunk)
  local out, at = {}, 1
  local last = "\n"
  while at <= #text do
    local stop = literal_end(text, at)
    local piece
    if stop then
      piece = text:sub(at, stop)
    elseif text:find("^%-%-", at) then
      local long = text:match("^%-%-()%[=*%[", at)
      stop = long and literal_end(text, long) or (text:find("\n", at, true) or #text + 1) - 1
      piece = long and text:sub(at, stop) or ""
    elseif text:find("^ ", at) then
      stop = select(2, text:find("^ +", at))
      local next_one = text:sub(stop + 1, stop + 1)
      piece = last ~= "\n" and parts(last, next_one) and " " or ""
    else
      stop = select(2, text:find("^[%w_]+", at)) or at
      piece = text:sub(at, stop)
    end
    if piece ~= "" then
      out[#out + 1], last = piece, piece:sub(-1)
    end
    at = stop + 1
  end
  local short = table.concat(out)
  local same = load(short, "=", "t")
  return same and string.dump(same, true) == string.dump(chunk, true) and short or text
end

-- What to embed for a file: its bytes, and whether they go into the group of its folder.
local function content(path, as_source)
  local file <close> = assert(io.open(path, "rb"))
  local text = file:read "a"
  local module = path:match "^lua/(.+%.lua)$"
  if as_source or not module and not path:find "^templates/" then
    return text, false
  elseif not module then
    return text, true
  end
  local chunk, message = load(text, "@" .. module, "t")
  if not chunk then
    io.stderr:write(("lua/%s\n"):format(message))
    os.exit(1)
  elseif STARTED[module] then
    return string.dump(chunk, false), false
  end
  return lean(text, chunk), true
end

local paths = { table.unpack(arg) }
local as_source = paths[1] == "--source"
if as_source then
  table.remove(paths, 1)
end

-- The files of a folder that are packed are packed together.
local groups, by_folder, rows = {}, {}, {}
local function group_of(path)
  local folder = path:match "^(.*)/"
  if not by_folder[folder] then
    by_folder[folder] = { number = #groups, size = 0 }
    groups[#groups + 1] = by_folder[folder]
  end
  return by_folder[folder]
end

print("/* written by csrc/embed.lua; do not edit */")
print('#include "lua/embedded.h"\n')
for i, path in ipairs(paths) do
  local bytes, packed = content(path, as_source)
  if packed then
    local group = group_of(path)
    rows[#rows + 1] = ('    {"%s", 0, %d, %d, %d},'):format(path, #bytes, group.number, group.size)
    group[#group + 1], group.size = bytes, group.size + #bytes
  else
    print(("static const char file_%d[] =\n%s;"):format(i, literals(bytes)))
    rows[#rows + 1] = ('    {"%s", file_%d, %d, 0, 0},'):format(path, i, #bytes)
  end
end
local list = {}
for i, group in ipairs(groups) do
  local packed = zlib.deflate(zlib.BEST_COMPRESSION)(table.concat(group), "finish")
  print(("static const char group_%d[] =\n%s;"):format(i, literals(packed)))
  list[i] = ("    {group_%d, %d, %d},"):format(i, #packed, group.size)
end
print("\nconst struct embedded_group embedded_groups[] = {")
print(table.concat(list, "\n"))
print("    {0, 0, 0},\n};")
print("\nconst struct embedded_file embedded_files[] = {")
print(table.concat(rows, "\n"))
print("    {0, 0, 0, 0, 0},\n};")
