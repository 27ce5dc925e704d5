-- transcripts.lua: what skillrt says of some runs, word by word: each step of a story is a line for the program, which
-- may end with "< FILE" or "> FILE", or with "! " one for the shell; the output is kept in tests/golden, without what
-- differs between two runs (times, ids, sizes, folders).
--
-- Called by transcripts_spec.lua and tests/golden.lua (`make golden`), which writes it anew: read what changes.
local files = require "skillrt.base.files"
local kit = require "tests.support.cli_kit"

local M = {}

---@class transcripts.Story  an entry of stories/*.lua
---@field [1] string  its name
---@field [2] string  lines for the program; words without blanks
---@field [3] string?  its script, s.lua
---@field [4] table<string, string>?  further files

---@param set string  "quick" or "full"
---@return string path  of what is kept
function M.path(set)
  return ("tests/golden/transcripts_%s.txt"):format(set)
end

-- What differs between two runs of the same, and a word for it.
local DIFFERS <const> = {
  { "%d%d%d%d%-%d%d%-%d%dT%d%d:%d%d:%d%d%.?%d*Z", "TIME" },
  { "%d%d%d%d%d%d%d%dT%d%d%d%d%d%dZ", "TIME" },
  { "%d%d%d%d%d%d%d%d%-%d%d%d%d%d%d%-%x%x%x%x%x%x", "RUN" },
  { "%f[%x]%x%x%x%x%x%x%x%x%x%x%x%x+%f[%X]", "DIGEST" },
  { '("nonce":)"%x+"', "%1N" },
  { "%f[%d]%d+%.?%d* m?s%f[%W]", "N s" },
  { "%d+%.%d+ seconds", "N seconds" },
  { "_seconds%S* %d[%d.e+-]*", "_seconds N" },
  { 'time="%d+%.%d+"', 'time="N"' },
  { "run_timeout %d+%.%d+", "run_timeout N" },
  { '("ms":)%d+', "%1N" },
  { '(_ms": )%d+', "%1N" },
  { '("%l+":)%d%d%d%d?%f[,}]', "%1N" }, -- bytes
  { " *%d+ B(  %S+  %(journal) %d+ B", " N B%1 N B" },
  { " *%d+ B(  total)", " N B%1" },
}

local function settled(text, folder)
  text = text:gsub(folder:gsub("%p", "%%%0"), "DIR"):gsub("\r", "\n")
  for _, one in ipairs(DIFFERS) do
    text = text:gsub(one[1], one[2])
  end
  return text
end

-- EXAMPLES is their folder.
local function shell(folder, line)
  line = line:gsub("EXAMPLES", files.current() .. "/examples")
  local pipe = assert(io.popen(("cd '%s' && { %s; } 2>&1 </dev/null"):format(folder, line)))
  local out = pipe:read "a"
  local _, _, code = pipe:close()
  return { code = code, out = out, err = "" }
end

-- Tells one story; the lines of it are performed one behind the other in a folder of their own.
local function told(story)
  local folder <close> = kit.folder()
  local here = folder.path
  assert(os.execute(("cd examples && cp hello/skill.lua '%s/hello.lua' && cp machine/skill.lua '%s/machine.lua' && "
    .. "cp -r machine/notes plain stand_in.sh '%s'"):format(here, here, here)))
  folder.file("s.lua", story[3] or "")
  for name, text in pairs(story[4] or {}) do
    local sub = name:match "^(.*)/"
    assert(not sub or os.execute(("mkdir -p '%s/%s'"):format(here, sub)))
    folder.file(name, text)
  end
  local out = { ("##### %s\n"):format(story[1]) }
  local env = ("-u SKILLRT_AGENT HOME='%s/home' XDG_STATE_HOME='%s/home' NO_COLOR=1 TZ=UTC"):format(here, here)
  for line in story[2]:gmatch "[^\n]+" do
    local words = { env = env }
    local sign, file = line:match " ([<>]) (%S+)$"
    words.input = sign == "<" and folder.read(file) or nil
    for word in line:gsub(" [<>] %S+$", ""):gmatch "%S+" do
      words[#words + 1] = word
    end
    local done = line:find "^! " and shell(here, line:sub(3)) or kit.run(folder, words)
    if sign == ">" then
      folder.file(file, done.out)
      done.out = ""
    end
    local shown = line:find "^! " and line:sub(3) or "skillrt " .. line
    out[#out + 1] = ("$ %s\n%s%s%s"):format(shown, settled(done.out, here), done.err ~= "" and "--\n" or "",
      settled(done.err, here))
    out[#out + 1] = done.code ~= 0 and ("= %d\n"):format(done.code) or nil
  end
  return table.concat(out)
end

---@param set string
---@return string
function M.golden(set)
  local out = { "# Written by `make golden`: what skillrt says of some runs; behind -- as errors, = a code.\n" }
  for _, story in ipairs(require("tests.support.stories." .. set)) do
    out[#out + 1] = told(story)
  end
  return table.concat(out, "\n")
end

return M
