-- transcripts.lua: what skillrt says of some runs, word by word: each step of a story is a line for the program, which
-- may end with "< FILE" or "> FILE"; with "! " before it one for the shell; with a method of HTTP one for a server.
-- What comes of it is kept in tests/golden, without what differs between two runs (times, ids, sizes, folders).
--
-- Called by transcripts_spec.lua and tests/golden.lua (`make golden`), which writes it anew: read what changes.
local files = require "skillrt.base.files"
local json = require "skillrt.base.json"
local kit = require "tests.support.cli_kit"
local serve_client = require "tests.support.serve_client"

local M = {}

---@class transcripts.Story  an entry of stories/*.lua
---@field [1] string  its name
---@field [2] string  lines for the program; words without blanks
---@field [3] string?  its script, s.lua
---@field [4] table<string, string>?  further files
---@field [5] (fun(folder: table): table?)?  prepares the folder; may give a server to stop, which a line calls URL

---@param set string  the name of a file in stories/
---@return string path  of what is kept
function M.path(set)
  return ("tests/golden/transcripts_%s.txt"):format(set)
end

-- What differs between two runs of the same, and a word for it.
local DIFFERS <const> = {
  { "%f[%x]%x%x%x%x%x%x%x%x%-%x%x%x%x%-%x%x%x%x%-%x%x%x%x%-%x%x%x%x%x%x%x%x%x%x%x%x", "UUID" },
  { "%d%d%d%d%-%d%d%-%d%dT%d%d:%d%d:%d%d%.?%d*Z", "TIME" },
  { "%d%d%d%d%d%d%d%dT%d%d%d%d%d%dZ", "TIME" },
  { "%d%d%d%d%d%d%d%d%-%d%d%d%d%d%d%-%x%x%x%x%x%x", "RUN" },
  { "%f[%x]%d%d%d%d%d%d%d%d%d%d%d%d%d%f[%X]", "MOMENT" },
  { "%f[%x]%x%x%x%x%x%x%x%x%x%x%x%x+%f[%X]", "DIGEST" },
  { '("nonce":)"%x+"', "%1N" },
  { "(%-fork%-)%x+", "%1N" },
  { '("active":)%d+', "%1N" },
  { '("retry":)%d+', "%1N" },
  { '("place":)%d+', "%1N" },
  { '("used":)0%.%d+', "%1N" }, -- seconds
  { '("reply":)"{[^\n]*jsonrpc[^\n]*', "%1MESSAGE" }, -- of a server whose library sorts no keys
  { "%f[%d]%d+%.?%d* m?s%f[%W]", "N s" },
  { "%d+%.%d+ seconds", "N seconds" },
  { "_seconds%S* %d[%d.e+-]*", "_seconds N" },
  { 'time="%d+%.%d+"', 'time="N"' },
  { "run_timeout %d+%.%d+", "run_timeout N" },
  { '("ms":)%d+', "%1N" },
  { '(_ms": ?)%d+', "%1N" },
  { '("%l+":)%d%d%d%d?%f[,}]', "%1N" }, -- bytes
  { " *%d+ B(  %S+  %(journal) %d+ B", " N B%1 N B" },
  { " *%d+ B(  total)", " N B%1" },
}

local function settled(text, folder)
  text = text:gsub(folder.path:gsub("%p", "%%%0"), "DIR"):gsub("\r", "\n")
  if folder.other then
    local address = folder.other.url:match "//(.*)"
    text = text:gsub("http://" .. address:gsub("%p", "%%%0"), "URL"):gsub(address:gsub("%p", "%%%0"), "ADDRESS")
  end
  for _, one in ipairs(DIFFERS) do
    text = text:gsub(one[1], one[2])
  end
  return text
end

-- A line for the shell; EXAMPLES is their folder.
local function shell(folder, line)
  line = line:gsub("EXAMPLES", files.current() .. "/examples")
  local pipe = assert(io.popen(("cd '%s' && { %s; } 2>&1 </dev/null"):format(folder.path, line)))
  local out = pipe:read "a"
  local _, _, code = pipe:close()
  return { code = code, out = out, err = "" }
end

-- A line for the program.
local function program(folder, line)
  local here = folder.path
  local words = { env = ("-u SKILLRT_AGENT HOME='%s' XDG_STATE_HOME='%s/.state' NO_COLOR=1 TZ=UTC"):format(here, here) }
  local sign, file = line:match " ([<>]) (%S+)$"
  words.input = sign == "<" and folder.read(file) or nil
  for word in line:gsub(" [<>] %S+$", ""):gmatch "%S+" do
    words[#words + 1] = word
  end
  if folder.other then
    for i, word in ipairs(words) do
      words[i] = word:gsub("^URL", folder.other.url)
    end
  end
  local done = kit.run(folder, words)
  if sign == ">" then
    folder.file(file, done.out)
    done.out = ""
  end
  return done
end

-- A request to a server of the story's own, which serves its skills/ and runs/; or "UNTIL RUN STATUS", or "HEADER NAME
-- VALUE" of the next request.
local function request(folder, method, path, body)
  if not folder.server then
    assert(os.execute(("mkdir -p '%s/skills' '%s/runs'"):format(folder.path, folder.path)))
    folder.server = serve_client.start(folder, { "--trust", "skills" })
  end
  if method == "UNTIL" then
    folder.server:until_it(path, body)
    return { code = 0, out = "", err = "" }
  end
  if method == "HEADER" then
    folder.headers = { [path] = body }
    return { code = 0, out = "", err = "" }
  end
  body = body ~= "" and body or nil
  local status, value = folder.server:ask(path, { method = method, body = body, headers = folder.headers })
  folder.headers = nil
  local text = type(value) == "string" and value or json.encode(value, { sorted = true })
  text = status == 202 and "" or text -- a process is at it
  return { code = 0, out = ("%d %s\n"):format(status, text), err = "" }
end

-- Performs a line: the line as it is shown, and what came of it.
local function performed(folder, line)
  local method, path, body = line:match "^(%u+) (%S+) ?(.*)$"
  if line:find "^! " then
    return line:sub(3), shell(folder, line:sub(3))
  elseif method then
    return line, request(folder, method, path, body)
  end
  return "skillrt " .. line, program(folder, line)
end

-- What the page of a run shows, a field in a line; "": there is no such run.
local function page_of(folder, run)
  if not files.stat(folder.path .. "/" .. run .. "/journal") then
    return ""
  end
  local page = program(folder, ("report %s --html -"):format(run)).out
  local data = page:match '<script type="application/json" id="data">(.-)</script>' or page
  return ("$ the page of %s\n%s\n"):format(run, settled(data:gsub(',"', ',\n"'), folder))
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
  folder.other = story[5] and story[5](folder)
  local out = { ("##### %s\n"):format(story[1]) }
  for line in story[2]:gmatch "[^\n]+" do
    local shown, done = performed(folder, line)
    out[#out + 1] = ("$ %s\n%s%s%s"):format(shown, settled(done.out, folder), done.err ~= "" and "--\n" or "",
      settled(done.err, folder))
    out[#out + 1] = done.code ~= 0 and ("= %d\n"):format(done.code) or nil
  end
  out[#out + 1] = page_of(folder, "r")
  if folder.server then
    folder.server:close()
  end
  if folder.other then
    folder.other.stop()
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
