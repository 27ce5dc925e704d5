-- words.lua: finds the words of make/words.txt in pages and in messages; `make lint` calls it.
--
-- Pages are README.md and the .md files of docs and examples. Messages are strings with a blank in them, in lua, csrc,
-- strategies, docs/*.lua and examples; comments are not checked. Prints file, line, word and replacement, and fails if
-- it found one. Arguments: the files to look at instead.

local function read(path)
  local file <close> = assert(io.open(path, "rb"))
  return file:read "a"
end

-- { pattern, word, better, how it begins }
local function words(text)
  local list = {}
  for line in text:gmatch "[^\n]+" do
    local word, better = line:match "^([^#\t][^\t]*)\t(.+)$"
    if word then
      local pattern = word:lower():gsub("[%p]", "%%%0"):gsub("%%%*", "%%a*"):gsub(" ", "%%s+")
      list[#list + 1] = { "%f[%w]" .. pattern .. "%f[^%w]", word, better, word:lower():match "^[^%s*]+" }
    end
  end
  return list
end

-- The text with everything but strings that have a blank made blank; lines stay where they are.
local function messages(text, comment)
  local out, at = {}, 1
  local function keep(from, to, shown)
    local part = text:sub(from, to)
    out[#out + 1] = shown and part:find("%s") and part or part:gsub("[^\n]", " ")
    at = to + 1
  end
  while at <= #text do
    local char = text:sub(at, at)
    local level = text:match("^%[(=*)%[", at)
    if text:sub(at, at + #comment - 1) == comment then
      keep(at, (text:find("\n", at, true) or #text + 1) - 1)
    elseif comment == "//" and text:sub(at, at + 1) == "/*" then
      keep(at, select(2, text:find("*/", at, true)) or #text)
    elseif level and comment == "--" then
      keep(at, select(2, text:find("]" .. level .. "]", at, true)) or #text, true)
    elseif char == '"' or char == "'" then
      local to = at + 1
      while to < #text and text:sub(to, to) ~= char do
        to = to + (text:sub(to, to) == "\\" and 2 or 1)
      end
      keep(at, to, true)
    else
      keep(at, (text:find("[\"'%[/-]", at + 1) or #text + 1) - 1)
    end
  end
  return table.concat(out)
end

local ALL <const> = "{ find README.md docs examples -name '*.md'; find docs examples -name '*.lua'; "
  .. "find lua csrc strategies -name '*.lua' -o -name '*.[ch]'; } | LC_ALL=C sort -u"

local list, found, paths = words(read "make/words.txt"), 0, { table.unpack(arg) }
if not paths[1] then
  for path in io.popen(ALL):lines() do
    paths[#paths + 1] = path
  end
end
for _, path in ipairs(paths) do
  local text = read(path)
  if path:find "docs/inside/files.md" then
    text = "" -- the first sentences of comments
  elseif path:find "%.lua$" then
    text = messages(text, "--")
  elseif path:find "%.[ch]$" then
    text = messages(text, "//")
  end
  local low = text:lower()
  for _, row in ipairs(list) do
    local at = low:find(row[4], 1, true) and low:find(row[1])
    while at do
      local _, line = text:sub(1, at):gsub("\n", "")
      print(("%s:%d: %q is no longer used: write %s"):format(path, line + 1, row[2], row[3]))
      found = found + 1
      at = low:find(row[1], at + 1)
    end
  end
end
os.exit(found == 0)
