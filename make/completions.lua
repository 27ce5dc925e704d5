-- completions.lua: writes the completions of a shell from the commands' own tables: completions.lua bash|zsh|fish
--
-- Called by `make` (make/install.mk), which installs them. Needs the built core (SKILLRT_BUILD, default build/release).

local build = os.getenv "SKILLRT_BUILD" or "build/release"
package.path = "./lua/?.lua;./lua/?/init.lua;" .. package.path
package.cpath = ("./%s/lib/?.so;"):format(build) .. package.cpath

local help = require "skillrt.cli.help"
local commands = help.commands()

local out = {}
local function put(text, ...) out[#out + 1] = select("#", ...) > 0 and text:format(...) or text end

local function quoted(text) return "'" .. text:gsub("'", "'\\''") .. "'" end

-- What a value may be: "dirs", "files", words, or nil where nothing is known of it.
local function kind_of(name, choices)
  name = name or ""
  if choices then
    return table.concat(choices, " ")
  elseif name:find "DIR" or name:find "^FOLDER" then
    return "dirs"
  elseif name:find "FILE" or name:find "^SCRIPT" or name:find "^SKILL" or name:find "^PATH" or name:find "^CONFIG" then
    return "files"
  end
end

local function first_sentence(text) return (text:match "^(.-)[;:.]%f[%s%z]" or text):sub(1, 70) end

local function options_of(command)
  local list = { { name = "help" } }
  table.move(command.options, 1, #command.options, 2, list)
  return list
end

local function names_of(command)
  local list = {}
  for i, option in ipairs(options_of(command)) do
    list[i] = "--" .. option.name
  end
  return table.concat(list, " ")
end

local write = {}

function write.bash()
  put "# bash completion of skillrt, written by make/completions.lua"
  put "_skillrt() {"
  put "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]} words= kind="
  put "  COMPREPLY=()"
  put "  if [ \"$COMP_CWORD\" = 1 ]; then"
  local names = {}
  for i, command in ipairs(commands) do
    names[i] = command.name
  end
  put("    words='%s --help --version' kind=files", table.concat(names, " "))
  put "  else"
  put "    case $command in"
  for _, command in ipairs(commands) do
    put("    %s)", command.name)
    put("      words=%s", quoted(names_of(command)))
    local argument = command.arguments[1]
    put("      kind=%s", quoted(argument and kind_of(argument.name) or ""))
    put "      case $prev in"
    for _, option in ipairs(command.options) do
      if option.value then
        put("      --%s) words= kind=%s ;;", option.name, quoted(kind_of(option.value, option.choices) or "none"))
      end
    end
    put "      esac ;;"
  end
  put "    *) kind=files ;;"
  put "    esac"
  put "  fi"
  put "  case $kind in"
  put "  dirs) mapfile -t COMPREPLY < <(compgen -d -- \"$cur\") ;;"
  put "  files) mapfile -t COMPREPLY < <(compgen -f -- \"$cur\") ;;"
  put "  none | '') ;;"
  put "  *) COMPREPLY=($(compgen -W \"$kind\" -- \"$cur\")) ;;"
  put "  esac"
  put "  COMPREPLY+=($(compgen -W \"$words\" -- \"$cur\"))"
  put "}"
  put "complete -o filenames -F _skillrt skillrt"
end

function write.fish()
  put "# fish completion of skillrt, written by make/completions.lua"
  for _, command in ipairs(commands) do
    put("complete -c skillrt -n __fish_use_subcommand -a %s -d %s", command.name,
      quoted(first_sentence(command.summary)))
    local seen = ("'__fish_seen_subcommand_from %s'"):format(command.name)
    local argument = command.arguments[1]
    if argument and kind_of(argument.name) == "dirs" then
      put("complete -c skillrt -n %s -f -a '(__fish_complete_directories)'", seen)
    end
    for _, option in ipairs(command.options) do
      local kind = option.value and kind_of(option.value, option.choices)
      local value = not option.value and "" or kind == "files" and " -r"
        or kind == "dirs" and " -x -a '(__fish_complete_directories)'" or kind and " -x -a " .. quoted(kind) or " -x"
      put("complete -c skillrt -n %s -l %s%s -d %s", seen, option.name, value, quoted(first_sentence(help.words(option))))
    end
  end
end

function write.zsh()
  local function said(text) return (first_sentence(text):gsub("[%[%]:']", "")) end
  local function action(kind)
    return kind == "dirs" and "_files -/" or kind == "files" and "_files" or kind and "(" .. kind .. ")" or " "
  end
  put "#compdef skillrt"
  put "# zsh completion of skillrt, written by make/completions.lua"
  put "_skillrt() {"
  put "  local -a commands=("
  for _, command in ipairs(commands) do
    put("    '%s:%s'", command.name, said(command.summary))
  end
  put "  )"
  put "  if (( CURRENT == 2 )); then"
  put "    _describe command commands"
  put "    _files"
  put "    return"
  put "  fi"
  put "  local command=$words[2]"
  put "  shift words"
  put "  (( CURRENT-- ))"
  put "  case $command in"
  for _, command in ipairs(commands) do
    put("  %s) _arguments '--help[shows this]' \\", command.name)
    for _, option in ipairs(command.options) do
      put("      '%s--%s[%s]%s' \\", option.many and "*" or "", option.name, said(help.words(option)),
        option.value and (":%s:%s"):format(option.value, action(kind_of(option.value, option.choices))) or "")
    end
    local argument = command.arguments[1]
    put("      '*:%s:%s' ;;", argument and argument.name or "argument", action(argument and kind_of(argument.name)))
  end
  put "  *) _files ;;"
  put "  esac"
  put "}"
  put "_skillrt \"$@\""
end

assert(write[arg[1]], "completions.lua: name a shell: bash, zsh or fish")()
io.write(table.concat(out, "\n"), "\n")
