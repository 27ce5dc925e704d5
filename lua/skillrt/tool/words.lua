-- tool/words.lua: the words of a command in which {name} stands for an argument of a tool: each stays one word,
-- and none becomes an option by its own first character.
--
-- "{files}" alone is a word for each item of a list; a word with an argument that was not given is left out;
-- "{{x}}" is the text {x}. Pure.

local json = require("skillrt.base.json")

local M = {}

local HOLE <const> = "{([%a_][%w_-]*)}"

-- The pieces of a word: texts, and names of arguments as { name }.
local function pieces_of(word)
  local out, pos = {}, 1
  while true do
    local at, last, name = word:find(HOLE, pos)
    if not at then
      out[#out + 1] = word:sub(pos)
      return out
    end
    local doubled = word:sub(at - 1, at - 1) == "{" and word:sub(last + 1, last + 1) == "}"
    if doubled then
      out[#out + 1] = word:sub(pos, at - 2) .. "{" .. name .. "}"
      pos = last + 2
    else
      out[#out + 1] = word:sub(pos, at - 1)
      out[#out + 1] = { name }
      pos = last + 1
    end
  end
end

---The arguments that a word names.
---@param word string
---@return fun(): string?
function M.names(word)
  return coroutine.wrap(function()
    for _, piece in ipairs(pieces_of(word)) do
      if type(piece) == "table" then
        coroutine.yield(piece[1])
      end
    end
  end)
end

local function text_of(value)
  if type(value) == "table" then
    return assert(json.encode(value, { sorted = true }))
  end
  return math.type(value) == "float" and value == math.floor(value) and ("%d"):format(value) or tostring(value)
end

---A text with its arguments filled in; nil without a message: one was not given.
---@param text string
---@param arguments table
---@return string|nil filled
function M.text(text, arguments)
  local out = {}
  for _, piece in ipairs(pieces_of(text)) do
    if type(piece) == "table" then
      local value = arguments[piece[1]]
      if value == nil or value == json.null then
        return nil
      end
      piece = text_of(value)
    end
    out[#out + 1] = piece
  end
  return table.concat(out)
end

-- The words that one word of the command becomes.
local function expanded(word, arguments)
  local pieces = pieces_of(word)
  local hole = #pieces == 3 and pieces[1] == "" and pieces[3] == "" and pieces[2]
  local value = hole and arguments[hole[1]]
  if json.is_array(value) then
    local out = {}
    for i, item in ipairs(value) do
      out[i] = text_of(item)
    end
    return out, true
  end
  return { M.text(word, arguments) }, type(pieces[1]) == "string" and pieces[1] == "" and #pieces > 1
end

---The words of a command; nil and why an argument cannot stand there.
---@param command string[]
---@param arguments table
---@return string[]|nil argv
---@return string? message
function M.filled(command, arguments)
  local argv, ended = {}, false
  for _, word in ipairs(command) do
    local list, may_be_option = expanded(word, arguments)
    for _, one in ipairs(list) do
      if one:find("\0", 1, true) then
        return nil, "an argument holds a NUL byte"
      elseif may_be_option and not ended and one:sub(1, 1) == "-" then
        return nil, ("the argument %s begins with -: it would be an option of %s"):format(json.encode(one), command[1])
      end
      argv[#argv + 1] = one
    end
    ended = ended or word == "--"
  end
  return argv
end

return M
