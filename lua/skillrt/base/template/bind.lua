-- base/template/bind.lua: a template for many documents that share most of their data: what the shared part alone
-- decides is rendered once, what the rest may touch is left as it stands.
--
-- Walks what template.parse made and makes the same kind of tree. Called by template only.
local parse = require "skillrt.base.template.parse"
local value_of = require "skillrt.base.template.value"

local M = {}

local NAME, RAW_NAME, TEXT = parse.NAME, parse.RAW_NAME, parse.TEXT
local SECTION, INVERTED = parse.SECTION, parse.INVERTED

local function add(block, op, arg, at)
  local n = block.n
  if op == TEXT and block.ops[n] == TEXT then
    block.args[n] = block.args[n] .. arg
    return
  end
  n = n + 1
  block.n, block.ops[n], block.args[n], block.at[n] = n, op, arg, at
end

-- A value of the shared data that is its own text; nil for all that is walked or missing.
local function plain_text(value)
  local kind = type(value)
  return (kind == "string" or kind == "number" or kind == "boolean") and value_of.text(value) or nil
end

-- The name of a section that the shared data alone decides, or nil.
local function decided(node, own)
  local path = node.path
  return #path == 1 and not path.implicit and rawget(own, path[1]) == nil and path[1] or nil
end

local function walk(from, data, own, into)
  for i = 1, from.n do
    local op, arg, at = from.ops[i], from.args[i], from.at[i]
    local text, name
    if (op == NAME or op == RAW_NAME) and rawget(own, arg) == nil then
      text = plain_text(data[arg])
    elseif op == SECTION or op == INVERTED then
      name = decided(arg, own)
    end
    if text then
      add(into, TEXT, text, at)
    elseif not name then
      add(into, op, arg, at)
    elseif value_of.is_false(data[name]) then
      if op == INVERTED then
        walk(arg.block, data, own, into)
      end
    elseif op == SECTION and data[name] == true then
      walk(arg.block, data, own, into)
    elseif op == SECTION then -- a list or an object: what it shows is not ours to know
      add(into, op, arg, at)
    end
  end
end

---The block with what `data` alone decides put in: names, and sections that are true or false.
---@param block skillrt.template.Block
---@param data table
---@param own table<string, any> names that each document has of its own; its metatable does not count
---@return skillrt.template.Block
function M.bind(block, data, own)
  local into = { n = 0, ops = {}, args = {}, at = {}, source = block.source }
  walk(block, data, own, into)
  return into
end

return M
