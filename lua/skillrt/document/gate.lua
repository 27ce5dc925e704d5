-- document/gate.lua: the gate for code from others: nothing at a path becomes code, a process, a permission or a
-- prompt before it passed here.
--
-- It lets pass: a script that a person typed, which is their own; what is trusted in its present form; what is only
-- looked at, if that executes nothing of it. It asks the person about everything else. document/trust knows what a
-- folder contains; the program (cli/init) or a host says whom to ask. Without a person to ask, the caller is code
-- that may do everything, and decides itself. Called by document/open.lua, document/reopen.lua,
-- document/check/subject.lua, cli/command/test.lua and cli/serving/options.lua.

local kind_of = require("skillrt.document.kind").of

local M = {}

---@class skillrt.Person  the person who decides about code that is not trusted yet
---@field looks boolean?  nothing is performed: only code that runs when a skill is loaded counts
---@field submitted boolean?  they trust whoever may submit runs: code approved there is approved
---@field decide fun(code: skillrt.Code, path: string): boolean?, string?, string?

---@type skillrt.Person?
M.person = nil

local function decide(person, code, path)
  if not code or person.looks and not code.loads or require("skillrt.document.trust").is_trusted(code) then
    return true
  end
  return person.decide(code, path)
end

---Whether what is at a path may be loaded and run; else why not, and the error code.
---@param path string
---@param document skillrt.load.Document?  its documents, if they were read
---@param person skillrt.Person|false|nil  false: trusted code asks; nil: the program's
---@param more { specs: string[]?, agent: any }?  its tests that are to run; the agent of its steps
---@return boolean|nil ok
---@return string? message
---@return string? code
function M.pass(path, document, person, more)
  if person == nil then
    person = M.person
  end
  local kind = kind_of(path)
  if not person or kind == "script" then
    return true
  end
  more = more or {}
  return decide(person, require("skillrt.document.trust").code(path, document, more.specs, 0, more.agent), path)
end

---Whether what a run's journal names may be loaded. A run that was started elsewhere is untrusted, whatever it names.
---@param dir string
---@param first table  the run's first record
---@param person skillrt.Person|false|nil  as for pass
---@param given { script: string?, agent: any, unpacked: table? }?  instead of those that the journal names; the files
---  that were submitted with it
---@return boolean|nil ok
---@return string? message
---@return string? code
function M.pass_run(dir, first, person, given)
  if person == nil then
    person = M.person
  end
  if not person then
    return true
  end
  given = given or {}
  local unpacked = not given.script and given.unpacked
  if unpacked and person.submitted then
    return require("skillrt.document.submission").approved(dir, first, unpacked.folder or unpacked.script)
  elseif not require("skillrt.base.seal").is_ours(first) then
    local ok, message, code = decide(person, require("skillrt.document.trust").code_of_run(first), dir)
    if not ok then
      return nil, message, code
    end
  elseif type(first.agent) == "table" and first.agent.kind == "dry" and kind_of(first.script) == "workflow" then
    return true -- as at its start: no agent is called, and the script has no access to anything
  end
  local script = given.script or unpacked and unpacked.script or first.script
  local folder = script == first.script and first.folder or unpacked and unpacked.folder
  return M.pass(folder or script, nil, person, { agent = given.agent or first.agent })
end

return M
