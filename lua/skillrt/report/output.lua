-- report/output.lua: where reports write: standard output and standard error, in colour or not.
--
-- Writes whole texts at once; a closed pipe ends the writing, not the run. Knows kinds of lines, no records.

local core = require("skillrt.core")

local M = {}

local terminal = core.terminal

-- Colours by kind of line (SGR); used only on a terminal that shows them, if no option or variable forbids it.
local COLOURS = { good = "32", warning = "33", error = "31", detail = "2", strong = "1" }

local looks = {} -- by descriptor: whether it shows colours

---Whether a descriptor is a terminal that supports cursor addressing.
---@param fd 0|1|2
---@return boolean
function M.is_terminal(fd)
  local term = os.getenv("TERM")
  return terminal.is_terminal(fd) and term ~= nil and term ~= "" and term ~= "dumb"
end

local function shows_colours(fd)
  if looks[fd] == nil then
    local refused = os.getenv("NO_COLOR")
    looks[fd] = M.is_terminal(fd) and (refused == nil or refused == "")
  end
  return looks[fd]
end

---The text in the colour of its kind, where the descriptor shows colours.
---@param fd 1|2
---@param kind string
---@param text string
---@return string
function M.paint(fd, kind, text)
  local colour = COLOURS[kind]
  if not colour or text == "" or not shows_colours(fd) then
    return text
  end
  return ("\27[%sm%s\27[0m"):format(colour, text)
end

---Columns and rows of the terminal, or nil.
---@param fd 0|1|2
---@return integer|nil columns
---@return integer|nil rows
function M.size(fd)
  return terminal.size(fd)
end

local to = 1

---@param text string
function M.write(text)
  io.stdout:flush() -- what the script printed comes first
  terminal.write(to, text)
end

---Sends all later output, also of scripts, to standard error; standard output is for the result.
function M.divert()
  to = 2
  M.capture(function(text)
    io.stderr:write(text)
  end)
end

---What a run was asked for, as a text.
---@param answer any
---@return string
function M.answer(answer)
  local json = require("skillrt.base.json")
  return type(answer) == "string" and answer or assert(json.encode(answer, { sorted = true, indent = 2 }))
end

---Lines for people; escapes what they contain from others.
---@param lines string[]
function M.write_lines(lines)
  local escape = require("skillrt.base.terminal_text").escape
  for _, line in ipairs(lines) do
    M.write(escape(line) .. "\n")
  end
end

---A value for programs (`--json`), on a line of its own; docs/forms.lua lists what each command prints.
---@param value table
function M.write_json(value)
  M.write(assert(require("skillrt.base.json").encode(value, { sorted = true })) .. "\n")
end

---One line for people on standard error; escaped already.
---@param kind string
---@param text string
function M.say(kind, text)
  terminal.write(2, M.paint(2, kind, text) .. "\n")
end

---A line of standard input; nil at its end; nil and "timeout" if none came in time.
---@param ms integer|nil  how long to wait
---@param prompt string?  a person at a terminal edits the line after it
---@return string|nil
---@return string? why
function M.read_line(ms, prompt)
  if prompt then
    local text, why = terminal.edit_line(prompt, ms)
    if text ~= false then
      return text, why
    end
    M.write(prompt)
  end
  return terminal.read_line(ms)
end

---Passes what a script prints to `take` until the returned function is called: by `print`, `io.write`, or the `write`
---of io.stdout and, if asked for, io.stderr.
---@param take fun(text: string)  with its newlines
---@param with_errors boolean?  standard error, too
---@return fun() restore
function M.capture(take, with_errors)
  local methods = getmetatable(io.stdout).__index
  local print_was, write_was, method_was = print, io.write, methods.write
  local function is_taken(file)
    return file == io.stdout or (with_errors and file == io.stderr)
  end
  rawset(_G, "print", function(...)
    local words = table.pack(...)
    for i = 1, words.n do
      words[i] = tostring(words[i])
    end
    take(table.concat(words, "\t") .. "\n")
  end)
  rawset(io, "write", function(...)
    local file = io.output()
    if not is_taken(file) then
      return write_was(...)
    end
    take(table.concat({ ... }))
    return file
  end)
  methods.write = function(file, ...)
    if not is_taken(file) then
      return method_was(file, ...)
    end
    take(table.concat({ ... }))
    return file
  end
  return function()
    rawset(_G, "print", print_was)
    rawset(io, "write", write_was)
    methods.write = method_was
  end
end

return M
