-- skill/sandbox.lua: what a program that a skill starts may reach on this machine (docs/run/sandbox.md), in the words
-- of csrc/jail.
--
-- "off", "strict" (the system's programs, the skill's folder and what is granted), "work" (may read all but secrets
-- and write the working folder), or a table with grants. The one place that decides about a program's sandbox: its
-- own setting, else its skill's, else the default for programs that a document names and for coding agents; what the
-- person who runs it says overrides all. Knows no calls; run/call/transport.lua asks for each program.

local files = require("skillrt.base.files")
local names = require("skillrt.base.names")
local schema = require("skillrt.skill.schema")
local secrets = require("skillrt.base.secrets")
local tables = require("skillrt.base.tables")

local M = {}

---@class skillrt.Needs  what a program gets in any sandbox, and what changes for it there
---@field programs string[]?  by name, with the files that were installed with them
---@field read string[]?      those that exist are granted; one that ends with "/" is created
---@field write string[]?
---@field network string[]?   added to a list of places
---@field instead table<string, string>?  by argument: the value after it
---@field only_reads boolean?  the folders in which it works are read-only
---@field lifts boolean?  if no sandbox works, it runs without its default one: the person chose the program

---@class skillrt.Sandbox
---@field level "strict"|"work"|"off"
---@field read string[]    folders and files: from "/", from "~/", or below the folder in which the run started
---@field write string[]
---@field network boolean|string[]  all of it, none, or places as name:port (csrc/transport/proxy.h); the places of a
---  coding agent's provider are added to a list
---@field unix boolean     sockets of this machine
---@field headers table<string, string>  by a place of the network: headers that skillrt adds to plain requests there
---@field ca_file string?   trusted for these
---@field env string[]     further environment variables

M.LEVELS = { "strict", "work", "off" }

local FIELDS <const> = {
  level = { enum = M.LEVELS, default = "strict" },
  read = { type = "text", list = true, default = {} },
  write = { type = "text", list = true, default = {} },
  network = { type = { "boolean", "text" }, list = true },
  headers = { type = "text", map = true, default = {} },
  ca_file = { type = "text" },
  unix = { type = "boolean", default = false },
  env = { type = "text", list = true, default = {} },
}

---The field type of a sandbox: its normal form, or nil and what it must be.
---@param value any
---@return skillrt.Sandbox|nil
---@return string? message
function M.read(value)
  value = type(value) == "string" and { level = value } or value
  if type(value) ~= "table" then
    return nil, ('must be "strict", "work", "off" or a table, not %s'):format(names.show(value))
  end
  local sandbox, message = schema.record(value, FIELDS, "is not a valid sandbox")
  if not sandbox then
    return nil, message
  end
  local network = sandbox.network or { sandbox.level == "work" and "registries" or nil }
  sandbox.network = network
  if type(network[1]) == "boolean" then
    sandbox.network = network[1]
  end
  for place, header in pairs(sandbox.headers) do
    if not header:find("^[%w_-]+: *%S") or header:find("%c") then
      local text = 'is not a valid sandbox: headers of %s: write "Name: value", not %s'
      return nil, text:format(place, names.show(header))
    elseif sandbox.network == true then
      return nil, "is not a valid sandbox: headers are added where network is a list, not true"
    end
  end
  return sandbox
end

schema.types.sandbox = M.read

-- The places that it may reach, if it has a list of them.
local function places(sandbox)
  return type(sandbox.network) == "table" and sandbox.network or {}
end

---The person's setting, in the words of --sandbox, if that was not given.
M.VARIABLE = "SKILLRT_SANDBOX"

---The person's setting for all programs of their runs.
---@return string|nil level
---@return string? message
function M.of_environment()
  local level = os.getenv(M.VARIABLE)
  if not level or level == "" or tables.has(M.LEVELS, level) then
    return level ~= "" and level or nil
  end
  return nil, ("%s is %s; it must be strict, work or off"):format(M.VARIABLE, names.show(level))
end

-- The headers that skillrt adds to its requests, as a list of texts.
local function headers_of(sandbox, form)
  local out = {}
  for place, header in pairs(sandbox.headers) do
    out[#out + 1] = form:format(place, header)
  end
  table.sort(out)
  return out
end

---The words with the secrets that its headers name. No record contains them.
---@param words string[]
---@return string[]
function M.filled(words)
  local out = {}
  for i, word in ipairs(words) do
    local ok, text = true, word
    if word:sub(1, 7) == "header " then
      ok, text = pcall(string.gsub, word, "{secret%.([%w_.-]+)}", secrets.get)
    end
    out[i] = ok and text or "missing " .. tostring(text)
  end
  return out
end

---Whether the person decided, on the command line or in the environment, that untrusted Lua runs with their own
---permissions.
---@param given string?  on the command line, or when the run started
---@return boolean
function M.is_off(given)
  return (given or os.getenv(M.VARIABLE)) == "off"
end

---The sandbox of a program: its own, else its skill's, else its default, else what a stranger's skill was granted; the
---setting of the person who runs it can lift it, or make it stricter.
---@param request table
---@param skill skillrt.Skill
---@return skillrt.Sandbox|nil  nil: none
---@return boolean? is_lifted  because none works here
local function in_force(request, skill, works)
  local own, said, default = request.sandbox or skill.sandbox, skill.sandbox_override, request.sandbox_default
  default = default or skill.guest and skill.guest.granted
  if not own and not said and default and default.level ~= "off" and (request.needs or {}).lifts and not works() then
    return nil, true
  end
  own = own or default
  if said == "off" or not said and (not own or own.level == "off") then
    return nil
  elseif not own or own.level == "off" then
    return M.read(said)
  end
  return said == "strict" and own.level == "work" and setmetatable({ level = said }, { __index = own }) or own
end

---The addresses that an HTTP request may connect to; nil: any. Only a stranger's own requests are confined: those of
---the agent that a person chose are theirs.
---@param request table  { url, addresses, theirs }
---@param skill skillrt.Skill
---@return string?
function M.addresses(request, skill)
  local guest = skill.guest
  if request.addresses or request.theirs or not (guest and guest.skill) then
    return request.addresses
  end
  return require("skillrt.skill.stranger").addresses(request.url, guest.granted)
end

-- Folders that contain everything a person has are granted only by name.
local function is_broad(folder)
  return folder == "/" or folder == os.getenv("HOME")
end

-- In a run's own folder: files that only the runtime writes.
local OURS <const> = { "journal", "blobs", "inbox", "context", "run.lock", "state.json", "execution-state.json" }

local function add_run(words, dir)
  files.make_folders(dir .. "/inbox") -- a file that does not exist yet cannot be protected
  words[#words + 1] = "write " .. dir
  for _, name in ipairs(OURS) do
    words[#words + 1] = ("keep %s/%s"):format(dir, name)
  end
end

-- A folder in which a program works: if it lies in one of the run or in that of the skill, no link leads out of that.
-- Another one is a grant only if the skill is no stranger's, which may compute its name.
local function add_folder(words, what, folder, run)
  for _, base in ipairs({ run.store:path(), run.cwd, run.skill.dir }) do
    local inside = folder:sub(1, #base + 1) == base .. "/" and folder:sub(#base + 2)
    if inside and files.is_confined(inside) then
      tables.append(words, { "in " .. base, (what == "write" and "edit " or "read ") .. inside })
      return
    end
  end
  local is_known = folder == run.cwd or folder == run.skill.dir or not run.skill.guest
  words[#words + 1] = is_known and not is_broad(folder) and ("%s %s"):format(what, folder) or nil
end

-- A program outside of the system's folders; for one in the home folder, with the files installed with it.
local function add_program(words, name)
  local path, home = files.program(name), os.getenv("HOME") or "/"
  if not path or not files.is_absolute(path) or path:find("^/usr/") or path:find("^/s?bin/") then
    return
  end
  words[#words + 1] = "read " .. path
  local folder = files.dirname(path)
  local around = files.dirname(folder)
  if tables.has({ "bin", "shims" }, folder:match("[^/]*$")) and around:sub(1, #home + 1) == home .. "/"
    and around ~= home .. "/.local" then
    words[#words + 1] = "read " .. around
  end
end

-- What the program needs, whatever its sandbox grants besides; only what exists.
local function add_needs(words, needs, network)
  for _, name in ipairs(needs.programs or {}) do
    add_program(words, name)
  end
  for _, what in ipairs({ "read", "write" }) do
    for _, path in ipairs(needs[what] or {}) do
      local folder = path:match("^(.*)/$")
      if folder then
        files.make_folders(folder)
      end
      path = folder or path
      words[#words + 1] = files.stat(path) and ("%s %s"):format(what, path) or nil
    end
  end
  for _, place in ipairs(type(network) == "table" and needs.network or {}) do
    words[#words + 1] = "reach " .. place
  end
end

---The words of a program's jail; nil: it has none.
---@param request table  { argv, sandbox, sandbox_default, needs, cwd }
---@param run table      { skill, store, books }
---@param works fun(): boolean  whether a sandbox works on this machine
---@return string[]|nil words
---@return boolean? is_lifted  it has none because none works here
function M.words(request, run, works)
  local skill, here = run.skill, run.cwd
  local sandbox, is_lifted = in_force(request, skill, works)
  if not sandbox then
    return nil, is_lifted
  end
  local cwd = files.join(here, request.cwd or ".")
  local words = { sandbox.level, sandbox.network == true and "network" or nil }
  local is_work = sandbox.level == "work" and not (request.needs and request.needs.only_reads)
  words[#words + 1] = sandbox.unix and "unix" or nil
  add_folder(words, is_work and "write" or "read", cwd, run)
  words[#words + 1] = not is_broad(skill.dir) and "read " .. skill.dir or nil
  if is_work and skill.context ~= "memory" then
    add_run(words, run.store:path())
  end
  for _, place in ipairs(places(sandbox)) do
    words[#words + 1] = "reach " .. place
  end
  tables.append(words, headers_of(sandbox, "header %s %s"))
  words[#words + 1] = sandbox.ca_file and "ca " .. files.join(here, sandbox.ca_file) or nil
  add_program(words, request.argv[1])
  add_needs(words, request.needs or {}, sandbox.network)
  words[#words + 1] = "in " .. here
  for _, what in ipairs({ "read", "write" }) do
    for _, path in ipairs(sandbox[what]) do
      local full = path:gsub("^~%f[/\0]", os.getenv("HOME") or "~")
      words[#words + 1] = ("%s %s"):format(what, files.is_confined(full) and full or files.join(here, full))
    end
  end
  return words
end

---The arguments of a program in a sandbox: some get another value there.
---@param request table
---@return string[]
function M.argv(request)
  local out, instead = tables.append({}, request.argv), request.needs and request.needs.instead or {}
  for i = 2, #out do
    out[i] = instead[out[i - 1]] or out[i]
  end
  return out
end

---The record for a program without a sandbox because none works here.
M.LIFTED = "none works here"

---The record for it.
---@param words string[]
---@return string
function M.recorded(words)
  return ("%s %s"):format(words[1], files.digest(table.concat(words, "\n")):sub(1, 16))
end

---For people: the parts that are more than a word.
---@param sandbox skillrt.Sandbox
---@return string
function M.shown(sandbox)
  local out = { sandbox.level }
  for _, what in ipairs({ "read", "write", "env" }) do
    tables.append(out, sandbox[what][1] and { ("%s %s"):format(what, table.concat(sandbox[what], ", ")) } or {})
  end
  out[#out + 1] = sandbox.network == true and "network" or nil
  out[#out + 1] = places(sandbox)[1] and "network " .. table.concat(places(sandbox), ", ") or nil
  tables.append(out, headers_of(sandbox, "requests to %s get %s"))
  out[#out + 1] = sandbox.unix and "unix sockets" or nil
  return table.concat(out, "; ")
end

local function missing(line)
  local path = line:match("(/[^%s'\":,;]+)[^/]*[Nn]o such file") or line:match("can't cd to (/%S+)")
    or line:match("Cannot find module '(/[^']+)'")
  return path and files.stat(path) and ("read = { %q }"):format(path) or nil
end

-- The field that would grant what an error line says was refused; nil: it says no such thing.
local function grant_of(line)
  local lower, path = line:lower(), line:match("(/[^%s'\":,;]+)")
  local host = line:match("resolve host[ a-z]-[^%w]+([%w-]+%.[%w.-]*%w)")
    or line:match("ENOTFOUND ([%w-]+%.[%w.-]*%w)") or line:match("EAI_AGAIN ([%w-]+%.[%w.-]*%w)")
  if lower:find("read-only file system", 1, true) or lower:find("erofs", 1, true) then
    return ("write = { %q }"):format(path or ".")
  elseif host then
    return ("network = { %q }"):format(host)
  elseif lower:find("failed to resolve", 1, true) or lower:find("name resolution", 1, true)
    or lower:find("unreachable", 1, true) or line:find("ENOTFOUND", 1, true) then
    return "network = true"
  end
  return lower:find("permission denied", 1, true) and ("read = { %q }"):format(path or "the path") or missing(line)
end

---What to grant a program that its jail refused something, from the network's report, or from its errors if it
---failed.
---@param reply table  { code, extra, refused }
---@return string?
function M.grant(reply)
  if reply.refused then
    return ('network = { "%s" }'):format(reply.refused:gsub(" ", '", "'))
  end
  for line in (reply.code ~= 0 and reply.extra or ""):gmatch("[^\n]+") do
    local grant = grant_of(line)
    if grant then
      return grant
    end
  end
end

return M
