-- cli/command/serve.lua: `skillrt serve [SKILL ...]`: the runs of a folder over HTTP, for people and for programs.

local core = require("skillrt.core")
local files = require("skillrt.base.files")
local output = require("skillrt.report.output")
local serving = require("skillrt.cli.serving.options")

local M = {
  name = "serve",
  summary = "Serves the runs of a folder over HTTP: an API, live events, and a page to look at and act on them",
  description = "Runs continue when the server ends. A socket can be opened by its owner only; a port asks for the "
    .. "token in a file that its owner alone can read.",
  arguments = { { name = "PATH", is_skill = "each", many = true, optional = true,
    help = "a skill that can be started, or a folder with skills; none: runs can be looked at and resumed, not "
      .. "started" } },
  options = serving.options({
    { name = "socket", value = "PATH", help = "the Unix socket; default: serve.socket in the folder for runs" },
    { name = "listen", value = "ADDRESS", help = "a port in place of the socket: 127.0.0.1:8700" },
    { name = "token-file", value = "FILE", help = "the file with the token of --listen, which is written where it is "
      .. "missing; default: serve.token in the folder for runs" },
    { name = "webhook", value = "URL", many = true,
      help = "gets a message about each run that ends, pauses or is interrupted: a "
      .. "signed CloudEvent (Standard Webhooks)" },
    { name = "secret-file", value = "FILE", help = "the file with the secret of webhooks, both ways, which is written "
      .. "where it is missing; default: serve.secret in the folder for runs" },
    { name = "public", value = "URL", help = "the address at which a proxy shows this server: of links in webhooks" },
  }),
}

-- Where it listens, in the form of skillrt.server; or nil and what is wrong with it.
local function address_of(args, folder)
  if args.socket and args.listen then
    return nil, "--socket and --listen exclude each other"
  elseif not args.listen then
    return { socket = args.socket or files.join(folder, "serve.socket") }
  end
  local host, port = args.listen:match("^%[?([%x.:]*%x)%]?:(%d+)$")
  local number = math.tointeger(tonumber(port))
  if not number or number > 65535 then
    return nil, ("--listen %s: write an address of this machine and a port: 127.0.0.1:8700"):format(args.listen)
  end
  return { host = host, port = number }
end

-- Prints where it listens, and the address that a person opens in a browser.
local function tell(server, place, token_file)
  if not server.token then
    return output.write(("listening at %s\n"):format(place))
  end
  local url = ("http://%s/"):format(place)
  output.write(("listening at %s, token in %s\n"):format(url, token_file))
  if output.is_terminal(1) then
    output.write(("open %s#token=%s\n"):format(url, server.token))
  end
end

-- Starts to listen: returns the server, its address, and the file of its token.
local function open(args, served)
  local found, http = pcall(require, "skillrt.server")
  if not found then
    return nil, "skillrt/server.so: cannot be loaded: install skillrt-serve (Debian), or libmicrohttpd and build "
      .. "skillrt again\n" .. tostring(http):gsub("^module 'skillrt.server' not found:.*", "")
  end
  local folder, token_file = served.runs.folder, nil
  local address, message = address_of(args, folder)
  local ok = address
  if address then
    ok, message = files.make_folders(folder)
  end
  local webhook, secret_file = require("skillrt.cli.webhook"), args.secret_file or files.join(folder, "serve.secret")
  if ok and args.listen then
    token_file = args.token_file or files.join(folder, "serve.token")
    served.token, message = webhook.secret(token_file, "")
    ok = served.token
  end
  if ok then
    served.key, message = webhook.key(secret_file)
    ok = served.key
  end
  if ok then
    served.http, message = http.open(address)
  end
  if not ok or not served.http then
    return nil, message
  end
  local server, place = require("skillrt.cli.serve.server").new(served), address.socket
  if served.token then
    local port = served.http:port()
    place = (address.host:find(":", 1, true) and "[%s]:%d" or "%s:%d"):format(address.host, port)
    server.hosts[place], server.hosts["localhost:" .. port] = true, true
    server.hosts[(args.public or ""):match("^https?://([^/]+)") or place] = true
  end
  server.deliveries = args.webhook and require("skillrt.cli.serve.deliveries").new({ runs = served.runs,
    urls = args.webhook, secret_file = secret_file, links = args.public or served.token and "http://" .. place or nil })
  return server, place, token_file
end

---@param args table
---@return integer|nil code
function M.run(args)
  local served, message = serving.read(args)
  if not served then
    return nil, message, "invalid"
  end
  local server, place, token_file = open(args, served)
  if not server then
    return nil, place, "invalid"
  end
  tell(server, place, token_file)
  repeat
    server:advance()
  until not core.serve.wait(server:patience(), nil, server.runs:watched(), server.http:fd())
  server.http:close()
  return require("skillrt.cli.exit_codes").interrupted
end

return M
