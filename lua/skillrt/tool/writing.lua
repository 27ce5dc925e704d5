-- tool/writing.lua: tools that write files below declared folders: write_file, edit.
--
-- Files are written completely or not at all, following no link, never over a file of the run itself or into .git.
-- Both tools may be repeated after a crash: writing the same bytes changes nothing, and an edit knows what it found
-- and what it makes of it.

local files = require("skillrt.base.files")
local names = require("skillrt.base.names")
local record = require("skillrt.base.record")
local roots_of = require("skillrt.tool.roots")

local M = {}

M.FIELDS = { roots = roots_of.FIELD }

local MAX_EDITED <const>, MAX_KEPT <const> = 16 << 20, 1 << 20

-- Whether a file below a folder is one of the run's own files.
local function is_of_run(place, task)
  local own = files.stat(files.bare(task.store:path()) .. "/.")
  local path = ""
  for part, rest in place.name:gmatch("([^/]+)()") do
    local here = files.stat(files.bare(place.root.path) .. (path == "" and "/." or "/" .. path))
    if own and here and here.id == own.id then
      return names.is_taken(place.name:sub(rest - #part))
    end
    path = path == "" and part or path .. "/" .. part
  end
  return false
end

-- Where something may be written, or why not.
local function place_of(tool, task, path)
  local roots, message = roots_of.of(tool.roots, task)
  local place
  if roots then
    place, message = roots_of.place(roots, path, true)
  end
  if not place then
    return nil, message
  elseif place.name == "." then
    return nil, path .. ": is a folder"
  elseif names.is_git(place.name) then
    return nil, path .. ": is in .git, or in what some file systems take for it; tools may not write there"
  elseif is_of_run(place, task) then
    return nil, path .. ": is a file of the run itself"
  end
  return place, nil, roots.base
end

-- The written path for people: relative if possible, else absolute.
local function wrote(tool, task, arguments)
  local place, _, base = place_of(tool, task, arguments.path)
  local path = place and files.join(files.bare(place.root.path), place.name)
  base = base and base .. "/"
  return path and record.printable(base and path:sub(1, #base) == base and path:sub(#base + 1) or path)
end

-- As durable as the record about it will be.
local function put(place, text, task)
  return files.put(place.root.path, place.name, text, task.lasts)
end

-- Lets a function act, as a call of its own.
local function act(ctx, name, fn)
  local reply, message = ctx.await({ kind = "local", name = name, idempotent = true, run = fn })
  return reply and reply.value, message
end

-- Records what is about to be written: a rollback computes the earlier content from it.
local function told(place, before, after, back)
  local text = before and not back and #before <= MAX_KEPT and utf8.len(before) and before or nil
  return { wrote = { root = place.root.path, name = place.name, before = before and files.digest(before),
    after = files.digest(after), back = back }, text = text }
end

local TOOLS = {}

TOOLS.write_file = {
  description = "Writes a file whole; folders are made as needed. What was there is replaced.",
  input = {
    type = "object",
    properties = { path = { type = "string", minLength = 1 }, content = { type = "string" } },
    required = { "path", "content" },
    additionalProperties = false,
  },
  perform = function(tool, ctx, arguments, task)
    local place, message = place_of(tool, task, arguments.path)
    if not place then
      return nil, message
    end
    ctx.once("write", function()
      local text, _, code = roots_of.read(place, MAX_EDITED)
      return (text or code == "missing") and told(place, text, arguments.content) or {}
    end)
    return act(ctx, tool.name, function()
      local ok, why = put(place, arguments.content, task)
      return ok and ("written: %s, %d bytes"):format(arguments.path, #arguments.content), why
    end)
  end,
}

-- How often a text occurs in another, counting overlaps; at most 2.
local function count(text, old)
  local first, last = text:find(old, 1, true)
  if not first then
    return 0
  end
  return text:find(old, first + 1, true) and 2 or 1, first, last
end

-- The result of an edit of a text; or why it cannot be made.
local function edited(text, arguments)
  local old, new = arguments.old, arguments.new
  local times, first, last = count(text, old)
  if times == 0 then
    return nil, "the text `old` is not in it; read the file again"
  elseif old == new then
    return nil, "`old` and `new` are the same"
  elseif times == 1 then
    return text:sub(1, first - 1) .. new .. text:sub(last + 1), nil, { at = first - 1, old = old, length = #new }
  elseif not arguments.all then
    return nil, "the text `old` is in it more than once; give more of what stands around it, or all = true"
  end
  local out, pos = {}, 1
  while true do
    local from, to = text:find(old, pos, true)
    if not from then
      out[#out + 1] = text:sub(pos)
      return table.concat(out)
    end
    out[#out + 1], out[#out + 2] = text:sub(pos, from - 1), new
    pos = to + 1
  end
end

-- The content before an edit, and the result: recorded, so that a resume recognizes an edit that was made.
local function look(ctx, place, arguments)
  return ctx.once("edit", function()
    local text, message = roots_of.read(place, MAX_EDITED)
    local made, back
    if text then
      made, message, back = edited(text, arguments)
    end
    if not made then
      return { problem = ("%s: %s"):format(arguments.path, message) }
    end
    return told(place, text, made, back)
  end)
end

TOOLS.edit = {
  description = "Replaces a text in a file. `old` must occur in the file exactly once, unless `all` is true.",
  input = {
    type = "object",
    properties = { path = { type = "string", minLength = 1 }, old = { type = "string", minLength = 1 },
      new = { type = "string" }, all = { type = "boolean" } },
    required = { "path", "old", "new" },
    additionalProperties = false,
  },
  perform = function(tool, ctx, arguments, task)
    local place, message = place_of(tool, task, arguments.path)
    if not place then
      return nil, message
    end
    local found = look(ctx, place, arguments)
    if found.problem then
      return nil, found.problem
    end
    return act(ctx, tool.name, function()
      local text, why = roots_of.read(place, MAX_EDITED)
      if not text then
        return nil, why
      end
      local digest = files.digest(text)
      local known = found.wrote
      if digest == known.after then
        return "edited: " .. arguments.path
      elseif digest ~= known.before then
        return nil, arguments.path .. ": was changed by somebody else meanwhile; read it again"
      end
      local ok, problem = put(place, edited(text, arguments), task)
      return ok and "edited: " .. arguments.path, problem
    end)
  end,
}

---@param given table
---@param name string  which of them
---@return table parts
function M.make(given, _, name)
  local one = TOOLS[name]
  given.description, given.input = given.description or one.description, one.input
  given.perform, given.source, given.wrote = one.perform, "built in", wrote
  given.acts, given.idempotent, given.alone = true, true, true
  return given
end

return M
