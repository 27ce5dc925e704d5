-- cli/command/login.lua: `skillrt login SERVER`: logs a person in to an MCP server behind a URL, so that runs may use
-- it.
--
-- The requests to the server are a run in memory; tool/mcp/oauth/store.lua keeps the tokens; no command shows them.

local core = require("skillrt.core")

-- How long to wait for the person, the longest address, and a port at which nothing listens.
local WAIT_S <const>, LONGEST <const>, PORT <const> = 600, 16384, 33418

-- The server that is meant: a URL, with what a run found out about it, or a name from a .mcp.json.
local function server_of(args)
  local word = args.server
  local store = require("skillrt.tool.mcp.oauth.store")
  if word:find("^https?://") then
    local url, problem = require("skillrt.tool.mcp.server").filled(word)
    if not url then
      return nil, ("%s: %s"):format(word, problem)
    end
    local want = store.read(url).want or {}
    return { name = word, url = url, oauth = want.oauth, ca_file = want.ca_file, headers = {} }
  end
  local files = require("skillrt.base.files")
  local path = args.path or "."
  path = files.is_folder(path) and files.join(path, ".mcp.json") or path
  local mcp = require("skillrt.tool.mcp.server")
  local all, message = mcp.check_all(files.join(files.current(), path), "login " .. word, ".")
  local one = all and all[word]
  if all and not one then
    local names = require("skillrt.base.names")
    message = ("%s: there is no mcp server %s%s"):format(path, names.show(word), names.suggest(word, all))
  elseif one and not one.url then
    one, message = nil, ("%s: %s is a program, which needs no login"):format(path, word)
  elseif one then
    one.url, message = mcp.filled(one.url, nil, mcp.places(one, files.current()))
  end
  return one and one.url and one, message
end

-- The code from the address the browser was sent to, or that the person pasted; or nil and why there is none.
local function answer(plan, lines, listener)
  local login, output = require("skillrt.tool.mcp.oauth"), require("skillrt.report.output")
  local till = core.mono_ns() + WAIT_S * 1000000000
  while core.mono_ns() < till do
    local came = listener and listener:take()
    local text, why = came, nil
    if not came then
      text, why = lines:next()
    end
    if text and text:find("%S") then
      local code, message = login.code(plan, text)
      if code then
        return code
      elseif text:find(plan.state, 1, true) then
        return nil, message
      elseif not came then
        output.say("warning", message .. "; paste the whole address")
      end
    elseif why == "closed" and not listener then
      return nil, "standard input ended before the address was entered"
    elseif not text and not core.serve.wait(1000, lines, {}, listener) then
      return nil, "interrupted", "interrupted"
    end
  end
  return nil, ("the browser did not return within %d minutes"):format(WAIT_S // 60)
end

local function refused(server, message, code)
  return nil, ("%s: %s"):format(server.name, message), code or "invalid"
end

return {
  name = "login",
  summary = "Logs in to a remote MCP server that requires it (OAuth)",
  description = "Prints a URL to open in a browser. If the browser runs on another machine, paste the URL that it "
    .. "could not open. Tokens are stored in ~/.local/state/skillrt/oauth and refreshed by the runs that "
    .. "use them.",
  arguments = {
    { name = "SERVER", help = "the server's URL, or its name in a .mcp.json" },
    { name = "PATH", optional = true, help = "the .mcp.json or its folder; default: the current folder" },
  },
  options = {},
  ---@param args table
  ---@return integer|nil code
  run = function(args)
    local login, output = require("skillrt.tool.mcp.oauth"), require("skillrt.report.output")
    local server, problem = server_of(args)
    if not server then
      return nil, problem, "invalid"
    end
    local wanted = server.oauth and server.oauth.port
    local listener, port = core.serve.listen(wanted or 0)
    if not listener then
      output.say("warning", ("%s: the browser cannot return here automatically"):format(port))
      port = wanted or PORT
    end
    local redirect = ("http://%s:%d/callback"):format(wanted and "localhost" or "127.0.0.1", port)
    local perform = require("skillrt.run.runner").perform
    local plan, message = perform("login", function(ctx)
      return login.begin(ctx, server, { redirect = redirect, secrets = { core.uuid(), core.uuid() .. core.uuid() },
        version = core.version })
    end, { apart = true })
    if not plan then
      return refused(server, message)
    elseif plan.address then
      output.write(("Open this address in a browser. If it cannot return to this machine, paste the address that "
        .. "it was sent to.\n%s\n"):format(plan.address))
      local code, why, kind = answer(plan, core.serve.lines(LONGEST), listener)
      local ok
      if code then
        ok, why = perform("login", function(ctx)
          return login.finish(ctx, server, plan, code)
        end, { apart = true })
      end
      if not ok then
        return refused(server, why, kind)
      end
    end
    output.write(("logged in to %s\n"):format(server.url))
    return 0
  end,
}
