-- cli/arguments.lua: reads a command line by the command's own table of arguments and options: words, --flag,
-- --option VALUE or --option=VALUE, -o VALUE or -oVALUE, and only words after `--`.
--
-- lua-argparse would do the same, but takes longer to load than a small run takes (9 of 34 million instructions).
-- Called by cli/init.lua.

local names = require("skillrt.base.names")
local tables = require("skillrt.base.tables")

local M = {}

local function key_of(name)
  return (name:lower():gsub("-", "_"))
end

local function options_of(command)
  local all = {}
  for _, option in ipairs(command.options) do
    all["--" .. option.name] = option
    if option.short then
      all["-" .. option.short] = option
    end
  end
  for _, option in ipairs(command.inner or {}) do
    all["--" .. option.name] = option
  end
  return all
end

-- A word that begins with a dash: its option, and the value that is part of it.
local function option_of(all, word)
  local name, value = word:match("^(%-%-[^=]+)=(.*)$")
  if not name and word:find("^%-[^-].") then
    name, value = word:sub(1, 2), word:sub(3)
  end
  name = name or word
  if all[name] then
    return all[name], value
  end
  local near = names.nearest(name, all)
  return nil, ("unknown option '%s'%s"):format(name, near and (" (did you mean '%s'?)"):format(near) or "")
end

-- What is wrong with a value that must be one of some words; nil: nothing.
local function unknown(shown, choices, value)
  if choices and not tables.has(choices, value) then
    return ("%s must be one of %s, not %s"):format(shown, table.concat(choices, ", "), names.show(value))
  end
end

-- Puts an option into the arguments; returns what is wrong with it.
local function set(args, option, value)
  local key, shown = key_of(option.name), "option '--" .. option.name .. "'"
  if option.value == nil and value then
    return shown .. " takes no value"
  elseif option.value and not value then
    return ("%s needs a value: %s"):format(shown, option.value)
  elseif not option.many and args[key] ~= nil then
    return shown .. " is given twice"
  end
  if option.many then
    args[key] = args[key] or {}
    table.insert(args[key], value)
  else
    args[key] = value or true
  end
  return unknown(shown, option.choices, value)
end

-- Assigns the words to the command's arguments, in order; returns what is wrong with them.
local function set_words(args, command, words)
  for n, argument in ipairs(command.arguments) do
    if not words[n] and not argument.optional then
      return ("missing argument '%s'"):format(argument.name)
    end
    local problem = words[n] and unknown(argument.name, argument.choices, words[n])
    if problem then
      return problem
    end
    args[key_of(argument.name)] = argument.many and words[n] and table.move(words, n, #words, 1, {}) or words[n]
  end
  local last = command.arguments[#command.arguments]
  if #words > #command.arguments and not (last and last.many) then
    return ("too many arguments: %s"):format(names.show(words[#command.arguments + 1]))
  end
end

-- The arguments of a command line; or nil and what is wrong with it.
local function parsed(command, argv)
  local args, words, all, i = { rest = {} }, {}, options_of(command), 1
  while i <= #argv do
    local word = argv[i]
    if word == "--" then
      local behind = table.move(argv, i + 1, #argv, 1, {})
      if command.rest then -- handed on to the script
        args.rest = behind
      else
        tables.append(words, behind)
      end
      break
    elseif word:find("^%-.") then
      local option, value = option_of(all, word)
      if not option then
        return nil, value
      elseif option.value and not value and argv[i + 1] and not argv[i + 1]:find("^%-.") then
        i, value = i + 1, argv[i + 1]
      end
      local problem = set(args, option, value)
      if problem then
        return nil, problem
      end
    else
      words[#words + 1] = word
    end
    i = i + 1
  end
  local problem = set_words(args, command, words)
  for _, option in ipairs(command.options) do
    if option.needed and args[key_of(option.name)] == nil then
      problem = problem or ("missing option '--%s %s'"):format(option.name, option.value)
    end
  end
  return not problem and args or nil, problem
end

local function wants_help(argv)
  for _, word in ipairs(argv) do
    if word == "--" then
      return false
    elseif word == "--help" or word == "-h" then
      return true
    end
  end
  return false
end

---@param command skillrt.Command
---@param argv string[]
---@return table|nil args  by lower-case name; `rest`: what follows "--", where the command passes it on
---@return integer? code   set if there is nothing to run
function M.read(command, argv)
  if wants_help(argv) then
    return nil, require("skillrt.cli.help").command(command, argv)
  end
  local args, problem = parsed(command, argv)
  if not args then
    return nil, require("skillrt.cli.help").wrong(command, problem)
  end
  return args
end

return M
