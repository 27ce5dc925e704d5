-- cli/command/logout.lua: `skillrt logout URL`: deletes the stored login to a server.

return {
  name = "logout",
  summary = "Removes the tokens of an MCP server from this machine",
  arguments = { { name = "URL", help = "the server's URL, as given to skillrt login" } },
  options = {},
  ---@param args table
  ---@return integer|nil code
  run = function(args)
    local removed, message = require("skillrt.tool.mcp.oauth.store").remove(args.url)
    if not removed then
      return nil, message or ("%s: no login is stored"):format(args.url), "invalid"
    end
    require("skillrt.report.output").write(("logged out of %s\n"):format(args.url))
    return 0
  end,
}
