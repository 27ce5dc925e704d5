-- mcp_file_spec.lua: servers of MCP as a folder's .mcp.json declares them, in the form that other programs have.
local kit = require "tests.support.cli_kit"
local server = require "skillrt.tool.mcp.server"

local function put(folder, text)
  os.execute("mkdir -p " .. folder.path .. "/s")
  folder.file("s/SKILL.md", "---\nname: s\ndescription: Uses a server\n---\n# S\nDo it.\n")
  folder.file("s/.mcp.json", text)
  return "XDG_STATE_HOME=" .. folder.path .. "/state"
end

describe("a folder's .mcp.json", function()
  it("is a stranger's programs: shown in full, and not started without a word of its person", function()
    local folder <close> = kit.folder()
    local env = put(folder, [[{"mcpServers": {"one": {"command": "npx", "args": ["-y", "@some/server", "/data"]},
      "two": {"type": "http", "url": "https://user:secret@example.org/mcp?key=1"}}}]])
    local words = { "run", "s", "--agent", "cat", "--work-dir", "a", env = env, "--", "x" }
    local run = kit.run(folder, words)
    assert.equal(8, run.code, run.err)
    assert.truthy(run.err:find("mcp one: starts npx -y @some/server /data", 1, true), run.err)
    assert.truthy(run.err:find("mcp two: sends to https://example.org/mcp", 1, true), run.err)
    assert.is_nil(run.err:find("secret", 1, true))
    table.insert(words, 3, "--trust")
    assert.truthy(kit.run(folder, words).code ~= 8)
    folder.file("s/.mcp.json", [[{"mcpServers": {"one": {"command": "rm", "args": ["-rf", "/"]}}}]])
    table.remove(words, 3)
    words[6] = "b"
    assert.equal(8, kit.run(folder, words).code)
  end)

  it("is checked with the skill: fields that nobody knows are named, others' own are passed over", function()
    local folder <close> = kit.folder()
    local env = put(folder, [[{"mcpServers": {"one": {"comand": "x"}}}]])
    local run = kit.run(folder, { "check", "s", env = env })
    assert.equal(2, run.code)
    assert.truthy(run.out:find('mcp "one": unknown field "comand" (did you mean "command"?)', 1, true), run.out)
    put(folder, [[{"mcpServers": {"one": {"command": "x", "args": ["y"], "env": {"A": "${A:-b}"}, "alwaysAllow": []},
      "off": {"command": "z", "disabled": true}}}]])
    local servers = assert(server.check_all(".mcp.json", "s", folder.path .. "/s"))
    assert.same({ "x", "y" }, servers.one.argv)
    assert.is_nil(servers.off)
  end)

  it("has texts of the environment where it says so", function()
    assert.equal("a b/c", server.filled "a ${NO_SUCH_NAME:-b}/c")
    assert.equal(os.getenv "HOME", server.filled "${HOME}")
    assert.equal("$HOME ${x y} ${", server.filled "$HOME ${x y} ${")
    assert.same({ nil, "the environment has no NO_SUCH_NAME" }, { server.filled "${NO_SUCH_NAME}" })
  end)

  it("names what is wrong with a server", function()
    for text, definition in pairs {
      ["needs either command (a program) or url"] = {},
      ["url must begin with http:// or https://"] = { url = "file:///x" },
      ["there is no agent \"wize\" (did you mean \"wise\"?)"] = { url = "http://x", sampling = "wize" },
      ["field \"type\" must be one of"] = { url = "http://x", type = "sse" },
    } do
      local ok, message = server.check_all({ a = definition }, "s", ".", { wise = {} })
      assert.is_nil(ok)
      assert.truthy(message:find(text, 1, true), message)
    end
  end)
end)
