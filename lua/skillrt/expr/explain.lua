-- expr/explain.lua: why a condition is true or false, in one line for a person: the part that is false and the values
-- that make it so. Values come from an agent or a file, so they are shown escaped and shortened. Called by
-- expr/init.lua.
local compile = require "skillrt.expr.compile"
local json = require "skillrt.base.json"
local number = require "skillrt.expr.number"
local terminal_text = require "skillrt.base.terminal_text"
local tree = require "skillrt.expr.tree"
local value = require "skillrt.expr.value"

local M = {}

local MAX_SHOWN <const> = 60
local MAX_PATHS <const> = 5

-- escapes everything that a terminal would obey
local function escape(text)
  return terminal_text.escape((text:gsub('["\\]', "\\%0")))
end

local function cut(text, most)
  if #text <= most then return text end
  return text:sub(1, utf8.offset(text, 0, most - 2) - 1) .. "..."
end

local show

local function show_list(list, room)
  local parts = {}
  for i = 1, #list do
    if room <= 0 or i > 8 then
      parts[#parts + 1] = "..."
      break
    end
    parts[i] = show(list[i], room)
    room = room - #parts[i] - 2
  end
  return "[" .. table.concat(parts, ", ") .. "]"
end

local function show_object(object, room)
  local keys = {}
  for key in pairs(object) do
    keys[#keys + 1] = tostring(key)
    if #keys > 64 then break end
  end
  table.sort(keys)
  local parts = {}
  for i, key in ipairs(keys) do
    if room <= 0 or i > 8 then
      parts[#parts + 1] = "..."
      break
    end
    parts[i] = cut(escape(key), 24)
    room = room - #parts[i] - 2
  end
  return "{" .. table.concat(parts, ", ") .. "}"
end

---A value in a few characters: strings quoted, an object by its keys.
---@param v any
---@param room? integer
---@return string
function show(v, room)
  room = room or MAX_SHOWN
  if type(v) == "string" then
    local head = #v > MAX_SHOWN * 4 and utf8.len(v) and v:sub(1, utf8.offset(v, 0, MAX_SHOWN * 4) - 1) or v
    return '"' .. cut(escape(head:sub(1, MAX_SHOWN * 4)), math.max(room, 8)) .. '"'
  end
  if type(v) == "number" then return v == 0 and 1 / v < 0 and "-0" or number.to_string(v) end
  if type(v) ~= "table" or value.is_null(v) then return value.is_null(v) and "null" or value.to_string(v) end
  if room < MAX_SHOWN and #v == 0 then return "{...}" end
  if json.is_array(v) then return room < MAX_SHOWN and "[...]" or show_list(v, room - 10) end
  return show_object(v, room)
end

local function reads_parameter(node)
  local reads = node.type == "parameter"
  tree.each_below(node, function(below) reads = reads or reads_parameter(below) end)
  return reads
end

local PATH <const> = { name = true, member = true, index = true, chain = true }

---The longest paths below a node that stand for state: `files.length`, not `files`.
local function collect_paths(node, paths)
  local has_call = node.type == "chain" and node.expression.type == "call"
  if PATH[node.type] and not has_call and not reads_parameter(node) then
    local base = node
    while base.object or base.expression do base = base.object or base.expression end
    if base.type == "name" then
      paths[#paths + 1] = node
      if node.type == "index" then collect_paths(node.index, paths) end
      return
    end
  end
  tree.each_below(node, collect_paths, paths)
end

---@class skillrt.expr.Trial
---@field text string
---@field truth fun(node: skillrt.expr.Node): boolean, string? truth, and the reason when it fails
---@field value fun(node: skillrt.expr.Node): any, string?

---"files.length is 0, status is "new"": the values behind a node.
local function values_behind(node, trial)
  local paths, parts, seen = {}, {}, {}
  collect_paths(node, paths)
  for _, path in ipairs(paths) do
    local text = compile.quote(path, trial.text)
    if not seen[text] and #parts < MAX_PATHS then
      seen[text] = true
      local found, reason = trial.value(path)
      if not reason then parts[#parts + 1] = text .. " is " .. show(found) end
    end
  end
  return table.concat(parts, ", ")
end

local function first_false(node, trial)
  if node.type == "logical" and node.operator == "&&" then
    for _, term in ipairs(node.terms) do
      if not trial.truth(term) then return first_false(term, trial) end
    end
  end
  return node
end

---@param ast skillrt.expr.Node
---@param trial skillrt.expr.Trial
---@param as_wish boolean?  if it is false: "n is 2, wanted n > 3"
---@return string
function M.explain(ast, trial, as_wish)
  local holds = trial.truth(ast)
  local node = holds and ast or first_false(ast, trial)
  local _, reason = trial.truth(node)
  local text = compile.quote(node, trial.text)
  local why = reason or values_behind(node, trial)
  if as_wish then
    if reason then
      return ("%s (%s)"):format(text, reason)
    end
    return why == "" and "wanted " .. text or ("%s, wanted %s"):format(why, text)
  end
  local said = ("%s is %s"):format(text, tostring(holds))
  if why == "" or why == said then return said end
  return said .. ": " .. why
end

---The parts that must all be true.
---@param ast skillrt.expr.Node
---@param trial skillrt.expr.Trial
---@return { text: string, holds: boolean, values: string }[]
function M.clauses(ast, trial)
  local list = {}
  local function add(node)
    if node.type == "logical" and node.operator == "&&" then
      for _, term in ipairs(node.terms) do add(term) end
      return
    end
    local holds, reason = trial.truth(node)
    local text, values = compile.quote(node, trial.text), reason or values_behind(node, trial)
    list[#list + 1] = { text = text, holds = holds, values = values }
  end
  add(ast)
  return list
end

return M
