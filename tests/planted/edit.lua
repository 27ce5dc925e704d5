-- edit.lua: plants a fault of tests/planted/sim: in the one source that holds the text below "--- from", that becomes
-- the one below "--- to". It is found by its text, so that it outlives moves.
--
-- Called by make/planted.sh in the copy of the tree: lua5.4 edit.lua FILE.edit
local function read(path)
  local file <close> = assert(io.open(path, "rb"))
  return file:read "a"
end

local from, to = read(arg[1]):match "%-%-%- from\n(.-)\n%-%-%- to\n(.-)\n$"
local list <close> = assert(io.popen "find csrc lua -name '*.lua' -o -name '*.c'")
local done = 0
for path in list:lines() do
  local text = read(path)
  local first, last = text:find(from, 1, true)
  if first then
    local file <close> = assert(io.open(path, "wb"))
    file:write(text:sub(1, first - 1), to, text:sub(last + 1))
    done = done + 1
  end
end
os.exit(done == 1)
