-- cli/command/notify.lua: `skillrt notify [DIR] --url URL`: sends a run's status to a server, as a signed webhook.

local M = {
  name = "notify",
  summary = "Sends a run's status to a URL, as a CloudEvent signed by Standard Webhooks",
  description = "The id is the same until the run has a new record. skillrt serve --webhook does it for each run "
    .. "that ended or paused.",
  arguments = { require("skillrt.cli.selection").RUN },
  options = {
    { name = "url", value = "URL", needed = true, help = "where it is sent" },
    { name = "secret-file", value = "FILE", needed = true,
      help = "the file with the secret that signs, whsec_...; created if it is missing" },
    { name = "links", value = "URL",
      help = "the address of skillrt serve: each question gets a link that answers it once" },
  },
}

-- The link by which whoever has it answers a question.
local function links_of(key, base, status)
  local run = status.work_dir:match("([^/]+)/*$")
  return function(one)
    local token = require("skillrt.cli.webhook").token(key, status.run_id, one)
    return base and ("%s/answer/%s/%d/%s"):format(base:gsub("/+$", ""), run, one.q, token) or nil
  end
end

---@param args table
---@return integer|nil code
function M.run(args)
  local core, ending, webhook = require("skillrt.core"), require("skillrt.cli.ending"), require("skillrt.cli.webhook")
  if not args.url:lower():find("^https?://[^/]") then
    return nil, "--url: must begin with http:// or https://", "invalid"
  end
  local key, message = webhook.key(args.secret_file)
  if not key then
    return nil, message, "invalid"
  end
  local books, report, code = require("skillrt.run.look").books(args.dir)
  if not books then
    return nil, report, code
  end
  local status = require("skillrt.report.status").of(args.dir, books, report --[[@as table]])
  local event = webhook.event(status, links_of(key --[[@as string]], args.links, status))
  local body, at = assert(core.json.encode(event, { sorted = true })), core.wall_ms() // 1000
  local reply, why = require("skillrt.run.runner").perform("notify", function(ctx)
    return ctx.await({ kind = "http", method = "POST", url = args.url, body = body, idempotent = true, timeout = 30,
      headers = { ["content-type"] = "application/cloudevents+json", ["webhook-id"] = event.id,
        ["webhook-timestamp"] = tostring(at), ["webhook-signature"] = webhook.signature(key, event.id, at, body) } })
  end)
  if not reply then
    ending.complain(tostring(why))
  end
  local codes = require("skillrt.cli.exit_codes")
  return reply and codes.completed or codes.failed
end

return M
