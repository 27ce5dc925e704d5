-- completions_spec.lua: the completions that make/completions.lua writes name commands, options and values in each shell.
local pages = require "tests.support.pages"

local build = os.getenv "SKILLRT_BUILD" or "build/release"

-- The file for a shell, and whether the shell is on this machine.
local function written(shell, folder)
  local path = folder .. "/" .. shell
  local out, code = pages.run(("SKILLRT_BUILD='%s' lua5.4 make/completions.lua %s > '%s'"):format(build, shell, path))
  assert.equal(0, code, out)
  return path, select(2, pages.run("command -v " .. shell)) == 0
end

local function in_bash(path, ...)
  local words = { ... }
  local script = ("source %s; COMP_WORDS=(skillrt %s) COMP_CWORD=%d; _skillrt; echo ${COMPREPLY[@]}"):format(path,
    table.concat(words, " "), #words)
  local out, code = pages.run(("cd '%s' && bash -c '%s'"):format(path:match "^(.*)/", script))
  assert.equal(0, code, out)
  return (out:gsub("\n$", ""))
end

-- Types each line into a zsh on a pseudoterminal, presses Tab, and prints what the line is then.
local ZSH <const> = [=[
zmodload zsh/zpty
cd $1
zpty -b shell zsh -f -i
until_there() { integer n; while [[ ! -s $1 ]] && (( n++ < 200 )) { zpty -r -t shell out; sleep 0.05 } }
zpty -w shell "PS1= fpath=($PWD/functions \$fpath) && autoload -Uz compinit && compinit -u -d dump"
zpty -w shell 'show() { print -r -- "$BUFFER" > line; BUFFER= }; zle -N show; bindkey "^Xs" show; print 1 > ready'
until_there ready
for typed in ${@:2}; do
  rm -f line
  zpty -w -n shell "$typed"$'\t\030s'
  until_there line
  cat line
done
zpty -d shell
]=]

describe("completions", function()
  it("in bash offer commands, options, words, folders and files", function()
    local folder <close> = pages.folder()
    assert(os.execute(("mkdir -p '%s/runs' && touch '%s/retry.lua'"):format(folder.path, folder.path)))
    local path = written("bash", folder.path)
    assert.matches("resume retry", in_bash(path, "re"), 1, true)
    assert.equal("--decide", in_bash(path, "resume", "--dec"))
    assert.equal("process", in_bash(path, "run", "--durability", "pr"))
    assert.equal("runs", in_bash(path, "status", "ru"))
    assert.equal("retry.lua", in_bash(path, "check", "ret"))
  end)

  it("in zsh complete commands, options, words, folders and files", function()
    local folder <close> = pages.folder()
    local _, is_here = written("zsh", folder.path)
    if not is_here then
      return
    end
    assert(os.execute(("cd '%s' && mkdir functions runs && mv zsh functions/_skillrt && touch retry.lua")
      :format(folder.path)))
    local file <close> = assert(io.open(folder.path .. "/drive", "w"))
    file:write(ZSH)
    file:close()
    local typed = { "skillrt ru", "skillrt resume --dec", "skillrt run --durability pr", "skillrt status ru",
      "skillrt check ret" }
    local out, code = pages.run(("zsh -f '%s/drive' '%s' '%s'"):format(folder.path, folder.path,
      table.concat(typed, "' '")))
    assert.equal(0, code, out)
    assert.same("skillrt run\nskillrt resume --decide\nskillrt run --durability process\nskillrt status runs/\n"
      .. "skillrt check retry.lua\n", (out:gsub(" +\n", "\n")))
  end)

  it("in fish offer the same", function()
    local folder <close> = pages.folder()
    local fish, is_here = written("fish", folder.path)
    if is_here then
      local out, code = pages.run(("fish -c 'source %s; complete -C \"skillrt run --durability \"'"):format(fish))
      assert.equal(0, code, out)
      assert.matches("process", out, 1, true)
    end
  end)

  it("name every command and option", function()
    local folder <close> = pages.folder()
    for _, shell in ipairs { "bash", "zsh", "fish" } do
      local text = pages.read((written(shell, folder.path)))
      for _, command in ipairs(require("skillrt.cli.help").commands()) do
        assert(text:find(command.name, 1, true), shell .. ": " .. command.name)
        for _, option in ipairs(command.options) do
          assert(text:find((shell == "fish" and "-l " or "--") .. option.name, 1, true), shell .. ": --" .. option.name)
        end
      end
    end
  end)
end)
