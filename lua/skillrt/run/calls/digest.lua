-- run/calls/digest.lua: what tells a call from another: the digest of what was declared, where it goes as it may
-- be shown, and the task that leaves, with what was not part of the declaration filled in.
--
-- Declared is what a request says before credentials, keys and the run's own paths and id are in it: a
-- resume from another folder, with another key, makes the same call. Pure but for SHA-256.

local core = require("skillrt.core")
local files = require("skillrt.base.files")
local message = require("skillrt.run.message")
local request_of = require("skillrt.agent.request")
local secrets = require("skillrt.base.secrets")

local M = {}

local TEXTS <const> = { "kind", "method", "url", "body", "stdin", "cwd", "session", "message", "name", "asked", "event",
  "instant" }
local SECRET <const> = {
  authorization = true,
  cookie = true,
  ["idempotency-key"] = true,
  ["proxy-authorization"] = true,
  ["x-api-key"] = true,
}
-- What a program finds around it, wherever it runs.
local AROUND <const> = {}
for _, name in ipairs(request_of.AROUND) do
  AROUND[name] = true
end

-- Takes the run's own paths and id out of a text; of a run that is replayed, where it was recorded, too: what it was
-- answered may say so.
local function placeless(text, run)
  for _, own in ipairs({ run.work_dir, run.recorded_in or "", run.skill.dir or "", run.books.run_id }) do
    if #own > 1 and text:find(own, 1, true) then
      text = text:gsub(own:gsub("%p", "%%%0"), "\1")
    end
  end
  return text
end

local function add_map(parts, name, map, left_out, run)
  local keys = {}
  for key in pairs(map or {}) do
    keys[#keys + 1] = key
  end
  table.sort(keys)
  for _, key in ipairs(keys) do
    local plain = not left_out[name == "headers" and key:lower() or key]
    if plain or name == "headers" then
      parts[#parts + 1] = ("%s.%s=%s"):format(name, key, plain and placeless(tostring(map[key]), run) or "")
    end
  end
end

-- A body that is declared in pieces: each is hashed once, behind the hash of those before it (agent/talk.lua).
local function chained(chain, run)
  local texts, hashes = chain.texts, chain.hashes
  local count = #hashes
  local hash = hashes[count] or ""
  for i = count + 1, #texts do
    hash = core.sha256(hash .. placeless(texts[i], run))
    hashes[i] = hash
  end
  return placeless(chain.head, run) .. "\0" .. hash
end

---@param request table  checked
---@param run table  { work_dir, skill, books }
---@return string digest  32 hex digits
function M.of(request, run)
  local declared, parts = request.declared or {}, {}
  for _, name in ipairs(TEXTS) do
    local text = declared[name] or request[name]
    if text then
      text = type(text) == "table" and chained(text, run) or placeless(text, run)
      parts[#parts + 1] = ("%s=%s"):format(name, text)
    end
  end
  for i, word in ipairs(declared.argv or request.argv or {}) do
    parts[#parts + 1] = ("argv.%d=%s"):format(i, placeless(word, run))
  end
  add_map(parts, "headers", declared.headers or request.headers, SECRET, run)
  add_map(parts, "env", declared.env or request.env, AROUND, run)
  if request.seconds then
    parts[#parts + 1] = ("seconds=%.17g"):format(request.seconds)
  end
  local said = table.concat(parts, "\0")
  return core.sha256(secrets.active and secrets.clean(said) or said):sub(1, 32)
end

---Where a request goes: without user, password and query.
---@param request table
---@return string
function M.target(request)
  local to = request.shown or request.url or (request.argv and request.argv[1]) or request.kind
  return (to:gsub("//[^/@]*@", "//"):gsub("[?#].*$", ""))
end

---The task in the core's form, and its key.
---@param request table
---@param key string
---@param run table  { elsewhere, books }
---@return table task
---@return string key
function M.task(request, key, run)
  local task = setmetatable({ unwatched = run.unwatched, reply_id = message.key(request.id) }, { __index = request })
  if request.kind == "http" then
    task.headers = {}
    for name, value in pairs(request.headers) do
      task.headers[name] = value
    end
    key = request_of.keyed(task, key)
  elseif request.kind == "host" then
    task.key = request.key or key
    key = task.key
  elseif request.argv and run.elsewhere then -- where the run was begun, wherever it is resumed
    task.cwd = files.join(run.books.cwd, request.cwd or ".")
  end
  return task, key
end

return M
