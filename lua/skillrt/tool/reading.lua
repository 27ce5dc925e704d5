-- tool/reading.lua: tools that only read files below declared folders: read_file, list_dir, glob, grep.
--
-- Follows no links and reads regular files only, so that nothing blocks. What each visits and returns is bounded.
-- What was read is recorded with the use of the tool.

local looking = require("skillrt.tool.looking")
local names = require("skillrt.base.names")
local regex = require("skillrt.base.regex")
local roots_of = require("skillrt.tool.roots")
local text_of = require("skillrt.base.text")
local wildcard = require("skillrt.base.wildcard")

local M = {}

M.FIELDS = { roots = roots_of.FIELD }

local MOST_FOUND <const> = 500
local MOST_VISITED <const> = 100000
local MAX_LINE <const> = 2000
local MAX_DEPTH <const> = 64

local function object(properties, required)
  return { type = "object", properties = properties, required = required, additionalProperties = false }
end

local PATH <const> = { type = "string", description = "absolute, or relative to the first folder" }

-- Calls `visit(place, path)` for each regular file below a place, in order, until it returns false.
local function walk(place, path, depth, count, visit)
  if depth > MAX_DEPTH then
    return true
  end
  for _, entry in ipairs(roots_of.entries(place) or {}) do
    count.n = count.n + 1
    local name = path == "" and entry.name or path .. "/" .. entry.name
    if count.n > MOST_VISITED then
      return false
    elseif entry.kind == "directory" and entry.name ~= ".git" then
      if not walk(roots_of.inside(place, entry.name), name, depth + 1, count, visit) then
        return false
      end
    elseif entry.kind == "file" and not visit(roots_of.inside(place, entry.name), name) then
      return false
    end
  end
  return true
end

-- Lines, with a note if there are more.
local function told(lines, is_whole, nothing)
  if not is_whole then
    lines[#lines + 1] = "(and more: ask for less)"
  end
  return #lines > 0 and table.concat(lines, "\n") or nothing
end

local TOOLS = {}

TOOLS.read_file = {
  description = "Reads a text file. Long files come in parts: give the offset that was named.",
  input = object({ path = PATH, offset = { type = "integer", minimum = 0, description = "bytes to skip" },
    limit = { type = "integer", minimum = 1, description = "bytes to read at most" } }, { "path" }),
  look = function(place, arguments, tool)
    local most = math.min(math.tointeger(arguments.limit or 0xFFFFFF) or 0, tool.max_result or 64 * 1024)
    return looking.look(place, math.tointeger(arguments.offset or 0) or 0, math.max(most, 4), true)
  end,
}

TOOLS.list_dir = {
  description = "Lists a folder: names, sizes; folders end with /.",
  input = object({ path = PATH }),
  look = looking.listed,
}

TOOLS.glob = {
  description = "Finds files by a pattern such as **/*.lua or src/{a,b}*.c.",
  input = object({ pattern = { type = "string" }, path = PATH }, { "pattern" }),
  look = function(place, arguments)
    local fits, found = wildcard.compile(arguments.pattern), {}
    local is_whole = walk(place, "", 0, { n = 0 }, function(_, name)
      found[#found + 1] = fits(name) and name or nil
      return #found < MOST_FOUND
    end)
    return told(found, is_whole, "(no file fits)")
  end,
}

-- Adds the lines of a text that match. False: there may be more; nil and why: that is unknown.
local function add_lines(found, name, text, is_found, most)
  local number = 0
  for whole in text_of.lines(text) do
    number = number + 1
    local line = text_of.cut(whole, MAX_LINE, "")
    local is_there = is_found(line)
    if is_there == nil then
      return nil, ("the expression takes too long at %s:%d; write a simpler one"):format(name, number)
    elseif is_there then
      found[#found + 1] = ("%s:%d:%s"):format(name, number, line)
    end
    if #found >= MOST_FOUND or os.clock() > most then
      return false
    end
  end
  return true
end

TOOLS.grep = {
  description = "Finds lines by a regular expression, in a file or in all files below a folder.",
  input = object({ pattern = { type = "string", minLength = 1, maxLength = 1000 }, path = PATH,
    files = { type = "string", description = "only files that fit, such as **/*.c" },
    ignore_case = { type = "boolean" } }, { "pattern" }),
  look = function(place, arguments)
    local is_found, message = regex.compile((arguments.ignore_case and "(?i)" or "") .. arguments.pattern)
    if not is_found then
      return nil, "the expression: " .. message
    end
    local fits = wildcard.compile(arguments.files or "**")
    local found, unread, problem = {}, {}, nil
    local most = os.clock() + looking.SEARCH_SECONDS
    local function search(one, name)
      local text, why = nil, nil
      if fits(name) then
        text, why = roots_of.read(one, looking.MAX_READ)
      end
      unread[#unread + 1] = why and name
      if not text or text:find("\0", 1, true) then
        return true
      end
      local is_whole
      is_whole, problem = add_lines(found, name, text, is_found, most)
      return is_whole
    end
    local info, why = roots_of.stat(place)
    if not info then
      return nil, why
    end
    local is_whole
    if info.kind == "directory" then
      is_whole = walk(place, "", 0, { n = 0 }, search)
    else
      is_whole = search(place, place.name)
    end
    if problem then
      return nil, problem
    elseif unread[1] then
      found[#found + 1] = ("(not searched: %s: more than %d bytes, or not to be read)"):format(
        names.listed(unread, 10), looking.MAX_READ)
    end
    return told(found, is_whole, "(nothing found)")
  end,
}

---@param given table
---@param name string  which of them
---@return table parts
function M.make(given, _, name)
  local one = TOOLS[name]
  given.description, given.input, given.source, given.acts = given.description or one.description, one.input,
    "built in", false
  function given.perform(tool, _, arguments, task)
    local roots, message = roots_of.of(tool.roots, task)
    local place
    if roots then
      place, message = roots_of.place(roots, arguments.path or ".")
    end
    if not place then
      return nil, message
    end
    return one.look(place, arguments, tool)
  end
  return given
end

return M
