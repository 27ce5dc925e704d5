-- cli/arguments.lua: a command line read by the command's own table of arguments and options.
--
-- argparse reads it and says what is wrong with it. Loading argparse takes longer than a small run, so the plain
-- forms (--flag, --option VALUE, words) are read here first, from the same table; whatever is not plain and right is
-- left to argparse. Called by cli/init.lua.

local M = {}

local function key_of(name)
  return (name:lower():gsub("-", "_"))
end

local function set(args, option, value)
  local key = key_of(option.name)
  if not option.many then
    args[key] = value
    return
  end
  args[key] = args[key] or {}
  table.insert(args[key], value)
end

local function is_choice(option, value)
  for _, choice in ipairs(option.choices or { value }) do
    if choice == value then
      return true
    end
  end
  return false
end

---The arguments where the line is plain and right; nil: ask argparse.
---@param command skillrt.Command
---@param argv string[]
---@return table|nil args
function M.plain(command, argv)
  local args, words, by_name, i = {}, {}, {}, 1
  for _, option in ipairs(command.options) do
    by_name["--" .. option.name] = option
    by_name["-" .. (option.short or "-" .. option.name)] = option
  end
  while i <= #argv do
    local word = argv[i]
    local option = by_name[word]
    if not option then
      if word:sub(1, 1) == "-" then
        return nil
      end
      words[#words + 1] = word
    elseif not option.many and args[key_of(option.name)] ~= nil then
      return nil
    elseif option.value then
      i = i + 1
      local value = argv[i]
      if not value or value:sub(1, 1) == "-" or not is_choice(option, value) then
        return nil
      end
      set(args, option, value)
    else
      set(args, option, true)
    end
    i = i + 1
  end
  local last, needed = command.arguments[#command.arguments], 0
  for _, argument in ipairs(command.arguments) do
    needed = needed + (argument.optional and 0 or 1)
  end
  if #words < needed or (#words > #command.arguments and not (last and last.many)) then
    return nil
  end
  for n, argument in ipairs(command.arguments) do
    local some = argument.many and words[n] and table.move(words, n, #words, 1, {})
    args[key_of(argument.name)] = some or words[n]
  end
  return args
end

---The argparse parser of a command; raises where argparse is not installed.
---@param command skillrt.Command
---@return table parser
function M.parser(command)
  local argparse = require("argparse")
  local parser = argparse("skillrt " .. command.name, command.summary .. ".")
  parser:add_help(false):help_max_width(80):help_description_margin(26)
  for _, argument in ipairs(command.arguments) do
    local count = argument.many and (argument.optional and "*" or "+") or argument.optional and "?" or 1
    parser:argument(argument.name, argument.help):target(key_of(argument.name)):args(count)
  end
  for _, option in ipairs(command.options) do
    local one
    if option.value then
      local names = (option.short and "-" .. option.short .. " " or "") .. "--" .. option.name
      one = parser:option(names):argname(option.value):target(key_of(option.name))
    else
      one = parser:flag("--" .. option.name)
    end
    if option.many then
      one:count("*")
    end
    if option.choices then
      one:choices(option.choices)
    end
  end
  return parser
end

-- What stands behind "--" is handed on to the script.
local function split_rest(command, argv)
  if not command.rest then
    return argv, {}
  end
  for i, word in ipairs(argv) do
    if word == "--" then
      return table.move(argv, 1, i - 1, 1, {}), table.move(argv, i + 1, #argv, 1, {})
    end
  end
  return argv, {}
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

-- A flag given twice, an empty list: as argparse has it, made as plain() has it.
local function tidy(command, args)
  for _, option in ipairs(command.options) do
    local key = key_of(option.name)
    if option.many and args[key] and #args[key] == 0 then
      args[key] = nil
    end
  end
  return args
end

---@param command skillrt.Command
---@param argv string[]
---@return table|nil args  by lower-case name; `rest`: what follows "--"
---@return integer? code   where there is nothing to run
function M.read(command, argv)
  local words, rest = split_rest(command, argv)
  if wants_help(words) then
    return nil, require("skillrt.cli.help").command(command, words)
  end
  local args = M.plain(command, words)
  if not args then
    local found, parser = pcall(M.parser, command)
    if not found then
      return nil, require("skillrt.cli.help").wrong(command, "the command line is not understood")
    end
    local ok, parsed = parser:pparse(words)
    if not ok then
      return nil, require("skillrt.cli.help").wrong(command, parsed)
    end
    args = tidy(command, parsed)
  end
  args.rest = rest
  return args
end

return M
