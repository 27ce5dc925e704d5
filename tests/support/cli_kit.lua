-- cli_kit.lua: drives the real program in tests: a folder of its own, files in it, runs of the
-- program with their output and exit code, and processes that are signalled.
--
-- Called by tests/run/cli_*_spec.lua.

local core = require "skillrt.core"
local json = require "skillrt.base.json"

local M = {}

local here = core.files.current()
M.program = here .. "/build/" .. (os.getenv "SKILLRT_MODE" or "release") .. "/skillrt"

local function quoted(word) return "'" .. tostring(word):gsub("'", [['\'']]) .. "'" end
M.quoted = quoted

function M.read(path)
  local file <close> = io.open(path, "rb")
  return file and file:read "a"
end

---A folder that is removed when it goes out of scope.
function M.folder()
  local path = os.tmpname()
  os.remove(path)
  assert(os.execute("mkdir -p " .. quoted(path)))
  local folder = { path = path }
  function folder.file(name, text)
    local full = path .. "/" .. name
    local file <close> = assert(io.open(full, "wb"))
    file:write(text)
    return full
  end
  function folder.read(name) return M.read(path .. "/" .. name) end
  return setmetatable(folder, { __close = function() os.execute("rm -rf " .. quoted(path)) end })
end

---Whether the system has pseudo-terminals to give: a bare chroot has none.
function M.has_terminal() return os.execute "script -qec true /dev/null >/dev/null 2>&1 </dev/null" == true end

-- The program and its arguments as the shell reads them, in the environment that is asked for.
local function call(words, before)
  local parts = { (words.env and "env " .. words.env .. " " or "") .. (before or "") .. quoted(M.program) }
  for _, word in ipairs(words) do parts[#parts + 1] = quoted(word) end
  return table.concat(parts, " ")
end

---Runs the program: { code, out, err }. `words`: its arguments; env: "A=b"; input: a text.
function M.run(folder, words)
  local out, err, input = folder.path .. "/.out", folder.path .. "/.err", "/dev/null"
  if words.input then
    input = folder.file(".in", words.input)
  end
  local _, how, code = os.execute(("cd %s && exec %s >%s 2>%s <%s"):format(
    quoted(folder.path), call(words, "timeout -s KILL 60 "), quoted(out), quoted(err), quoted(input)))
  return { code = how == "signal" and 128 + code or code, out = M.read(out), err = M.read(err) }
end

---Runs the program and kills it by signal 9 after some ms, if it has not ended by then:
---{ code (137: it was killed), out (with the errors) }.
function M.killed_after(folder, words, ms)
  local out = folder.path .. "/.out"
  local command = ("cd %s; %s >%s 2>&1 </dev/null & p=$!; sleep %.4f; kill -9 $p 2>/dev/null; wait $p"):format(
    quoted(folder.path), call(words), quoted(out), ms / 1000)
  local _, how, code = os.execute(("sh -c %s 2>/dev/null"):format(quoted(command)))
  return { code = how == "signal" and 128 + code or code, out = M.read(out) }
end

---Starts the program in the background: { pid, wait() -> { code, out, err }, signal(name) }; closed, it is killed.
---`words`: its arguments; env: "A=b"; before: "nohup ".
function M.start(folder, words)
  local name = folder.path .. "/.bg" .. core.uuid():sub(1, 8)
  assert(os.execute(("(cd %s && %s & echo $! >%s.pid; wait $!; echo $? >%s.code) >%s.out 2>%s.err </dev/null &"):format(
    quoted(folder.path), call(words, words.before), name, name, name, name)))
  local self = {}
  local function wait_for(path, ms)
    local deadline = core.mono_ns() + ms * 1000000
    while core.mono_ns() < deadline do
      local text = M.read(path)
      if text and text:find "\n" then return text end
      os.execute "sleep 0.01"
    end
  end
  self.pid = tonumber((assert(wait_for(name .. ".pid", 20000), "the program did not start"):match "%d+"))
  function self.signal(signal) os.execute(("kill -%s %d 2>/dev/null"):format(signal, self.pid)) end
  function self.output() return M.read(name .. ".out") end
  ---How many ms until its messages hold the text; nil: they did not.
  function self.complains(text)
    local began = core.mono_ns()
    while core.mono_ns() - began < 20000000000 do
      if (M.read(name .. ".err") or ""):find(text, 1, true) then return (core.mono_ns() - began) / 1e6 end
      os.execute "sleep 0.01"
    end
  end
  ---Until the output holds the text.
  function self.says(text)
    local deadline = core.mono_ns() + 20000000000
    while core.mono_ns() < deadline do
      if (self.output() or ""):find(text, 1, true) then return true end
      os.execute "sleep 0.01"
    end
    return false
  end
  ---Until it has ended; one that does not is killed and gives no code.
  function self.wait(ms)
    local began = core.mono_ns()
    local code = wait_for(name .. ".code", ms or 20000)
    local took = (core.mono_ns() - began) / 1e6
    if not code then self.signal "KILL" end
    local number = code and tonumber((code:match "%d+"))
    return { code = number, out = self.output(), err = M.read(name .. ".err"), ms = took }
  end
  return setmetatable(self, { __close = function()
    if not M.read(name .. ".code") then self.signal "KILL" end
    self.wait()
  end })
end

---What those that were started in this folder have complained of.
function M.complaints(folder)
  local pipe <close> = io.popen(("cat %s/.bg*.err"):format(quoted(folder.path)))
  return pipe:read "a"
end

---The JSON object of each line.
function M.objects(text)
  local list = {}
  for one in text:gmatch "[^\n]+" do list[#list + 1] = assert(json.decode(one)) end
  return list
end

return M
