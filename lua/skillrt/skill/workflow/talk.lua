-- skill/workflow/talk.lua: what is said to the program in which a workflow script runs (child.js), and what it says.
--
-- The script is a function of what it is told: its program may end and begin anew at any time, and is told all
-- again then. So what it says is kept like any call's result, but made anew where the script was changed
-- (`pure`). Knows sessions, nothing of agents.

local files = require("skillrt.base.files")
local json = require("skillrt.base.json")
local json_schema = require("skillrt.base.json_schema")

local M = {}

-- Node without files, programs and addons, whatever the script reaches: by the flag that this node knows (9 is what
-- it ends with where it knows it not; 18 knows neither). In a network of its own, where the system gives one. Code is
-- never made of texts.
local BEGIN <const> = [[
if ! command -v node >/dev/null; then
  echo "node was not found in PATH: install nodejs, 18 or later" >&2
  exit 127
fi
for permission in --permission --experimental-permission ""; do
  node $permission --version >/dev/null 2>&1
  [ $? = 9 ] || break
done
set -- node $permission --no-warnings --experimental-vm-modules --disallow-code-generation-from-strings \
  --max-old-space-size=1024 -e "$1"
unshare -nr true 2>/dev/null && set -- unshare -nr "$@"
exec "$@"
]]

-- What the program says. A script that got out of its realm may say what it likes: no more than this is heard.
local TEXT <const>, FLAG <const> = { type = "string" }, { type = "boolean" }
local function object(properties, ...)
  return { type = "object", properties = properties, required = { ... } }
end
local SAID <const> = object({
  have = { type = "integer", minimum = 0 },
  meta = object({ name = TEXT, description = TEXT, phases = { type = "array", items = object({ title = TEXT }) } }),
  asks = { type = "array", items = object({ kind = TEXT }, "kind") },
  done = { anyOf = { { type = "null" }, object({ error = TEXT, stack = TEXT, fault = FLAG }) } },
})
local ASKED <const> = {
  log = object({ text = TEXT }, "text"),
  phase = object({ text = TEXT }, "text"),
  threw = object({ at = TEXT, message = TEXT }, "at", "message"),
  agent = object({ at = TEXT, prompt = TEXT, options = object({ label = TEXT }) }, "at", "prompt", "options"),
  question = object({ at = TEXT, question = { type = { "string", "object" } } }, "at", "question"),
  workflow = object({ at = TEXT, name = TEXT }, "at", "name"),
}

-- What a program said; nil and what is wrong with it.
local function heard(text)
  local said, why = json.decode(text)
  local ok = said ~= nil
  if ok then
    ok, why = json_schema.judge(SAID, said, "it")
  end
  for _, ask in ipairs(ok and said.asks or {}) do
    local schema = ASKED[ask.kind]
    if ok and schema then
      ok, why = json_schema.judge(schema, ask, ask.kind)
    elseif ok then
      ok, why = nil, ("asks for %s"):format(ask.kind)
    end
  end
  if not ok then
    return nil, "its program said what no script can say: " .. why, "permanent"
  end
  return said
end

---@class skillrt.Talk
---@field ctx table
---@field said string[]  every message, to be told again to a program that began anew
local Talk = {}
Talk.__index = Talk

---@param ctx table
---@param timeout number  seconds within which a script must come to rest
---@return skillrt.Talk
function M.new(ctx, timeout)
  return setmetatable({ ctx = ctx, said = {}, timeout = timeout,
    argv = { "sh", "-c", BEGIN, "sh", files.asset("lua/skillrt/skill/workflow/child.js") } }, Talk)
end

local function request(self, text)
  return {
    kind = "session",
    session = ("workflow-%s"):format(self.ctx.step),
    argv = self.argv,
    env = {
      HOME = false, LC_ALL = false, TMPDIR = false, TERM = false,
      TZ = "UTC",
      LANG = "C.UTF-8",
      SKILLRT_REALM = files.asset("lua/skillrt/skill/workflow/realm.js"),
    },
    declared = { argv = { "node" }, env = {} },
    message = text,
    idempotent = true,
    pure = true,
    acts = false,
    retry = { max = 2 },
    timeout = self.timeout,
    max_reply = 64 << 20,
    shown = "workflow script",
  }
end

local function exchange(self, text)
  local reply, message, class = self.ctx.await(request(self, text))
  if reply then
    return heard(reply.body)
  elseif class == "timeout" then
    message = ("it came to no rest within %g s: a loop without an end?"):format(self.timeout)
  end
  return nil, message, class
end

---Says one thing to the script; gives what it asks for then: { asks, done, meta }.
---@param message table
---@return table|nil said
---@return string? message
---@return string? class
function Talk:say(message)
  local said = self.said
  message.n = #said + 1
  said[message.n] = assert(json.encode(message, { sorted = true }))
  local told, why, class = exchange(self, said[message.n])
  if told and told.have then -- it knows nothing of what was said before: it began anew
    local missing = table.concat(said, ",", told.have + 1, message.n)
    told, why, class = exchange(self, ('{"n":%d,"since":[%s]}'):format(message.n, missing))
  end
  return told, why, class
end

return M
