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
      "two": {"type": "http", "url": "https://user:secret@example.org/mcp?key=1"},
      "three": {"url": "https://x.example/${environ}", "headers": {"A": "Bearer ${env:TOKEN} ${A:-b}"},
        "oauth": {"clientSecret": "${HIDDEN}"}}}}]])
    local words = { "run", "s", "--agent", "cat", "--work-dir", "a", env = env, "--", "x" }
    local run = kit.run(folder, words)
    assert.equal(8, run.code, run.err)
    assert.truthy(run.err:find("mcp one: starts npx -y @some/server /data", 1, true), run.err)
    assert.truthy(run.err:find("mcp two: sends to https://example.org/mcp", 1, true), run.err)
    assert.is_nil(run.err:find("secret", 1, true))
    assert.truthy(run.err:find("mcp three: sends to https://x.example/${environ} (with A, HIDDEN, TOKEN, environ)", 1, true),
      run.err)
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
    assert.truthy(run.out:find('.mcp.json: error: mcp "one": unknown field "comand" (did you mean "command"?)', 1, true), run.out)
    for text, what in pairs { ['{"mcpServers": {"b": {"url": "x"}, "a": {"command": 5}}}'] =
        '.mcp.json: error: mcp "a": field "command"[1] must be a text, not 5 [skill.invalid]\n'
        .. '.mcp.json: error: mcp "b": url must begin with http:// or https://, not "x" [skill.invalid]\n',
      ['{"mcpServers": {"a": 1}}'] = '.mcp.json: error: mcp "a": must be an object [skill.invalid]\n',
      ['{"a":\n}'] = ".mcp.json:2: error: JSON: line 2, column 1 (byte 6): expected a value, found '}' [skill.invalid]\n",
      ["[1]"] = '.mcp.json: error: needs an object "mcpServers", or "servers" [skill.invalid]\n' } do
      put(folder, text)
      assert.has_match(what, kit.run(folder, { "check", "s", env = env }).out, 1, true)
    end
    put(folder, [[{"mcpServers": {"one": {"command": "x", "args": ["y"], "env": {"A": "${A:-b}"}, "alwaysAllow": []},
      "off": {"command": "z", "disabled": true}}}]])
    local servers = assert(server.check_all(".mcp.json", "s", folder.path .. "/s"))
    assert.same({ "x", "y" }, servers.one.argv)
    assert.is_nil(servers.off)
  end)

  it("says how tokens are got, in our words and in those of others", function()
    local folder <close> = kit.folder()
    put(folder, [[{"mcpServers": {"one": {"url": "https://x.example/mcp", "oauth": {"clientId": "we", "scopes": "a b",
      "callbackPort": 8080, "clientSecret": "${X}", "authServerMetadataUrl": "https://as.example"}}}}]])
    local servers = assert(server.check_all(".mcp.json", "s", folder.path .. "/s"))
    assert.same({ "we", "a b", 8080, "${X}" }, { servers.one.oauth.client_id, servers.one.oauth.scope,
      servers.one.oauth.port, servers.one.oauth.client_secret })
    assert.truthy(kit.run(folder, { "check", "s" }).out:find('field "authServerMetadataUrl" of oauth is unknown', 1, true))
  end)

  it("is read in the forms of other programs: their words, comments, commas behind the last, servers without a name for them",
    function()
      local folder <close> = kit.folder()
      for _, text in ipairs {
        '{"mcpServers": {"a b": {"command": "x", "args": [1, true, "z"], "env": {"PORT": 3000, "NONE": null}}}}',
        '\239\187\191{"servers": {"a b": {"type": "stdio", "command": "x", "args": ["1", "true", "z"], "env": {"PORT": "3000"}}}}',
        '{"mcp": {"servers": {"a b": {"transport": "stdio", "command": "x", "args": ["1", "true", "z"], "env": {"PORT": 3000}}}}}',
        '{"a b": {"command": "x", "args": ["1", "true", "z"], "env": {"PORT": "3000"}, "type": "local"}}',
        [[// how an editor writes it: "not a text
        {"servers": { /* a server, */ "a b": {"command": "x", "args": ["1", "true", "z", ], // },
          "env": {"PORT": "3000",},},} , "inputs": [],}]],
      } do
        put(folder, text)
        local servers = assert(server.check_all(".mcp.json", "s", folder.path .. "/s"))
        assert.same({ { "x", "1", "true", "z" }, { PORT = "3000" } }, { servers.a_b.argv, servers.a_b.env }, text)
      end
      put(folder, [[{"mcpServers": {
        "one": {"serverUrl": "https://example.org/a", "timeout": 60000, "transport": {"type": "http"}},
        "two": {"httpUrl": "https://example.org/,}//b", "timeout": 60, "type": "streamableHttp", "headers": {"N": 1}},
        "three": {"url": "${BASE:-https://example.org}/c", "enabled": true}, "four": {"command": "x", "enabled": false}}}]])
      local servers = assert(server.check_all(".mcp.json", "s", folder.path .. "/s"))
      assert.same({ "https://example.org/a", 60, "https://example.org/,}//b", 60, "1", "${BASE:-https://example.org}/c" },
        { servers.one.url, servers.one.timeout, servers.two.url, servers.two.timeout, servers.two.headers.N, servers.three.url })
      assert.is_nil(servers.four)
    end)

  it("has no key passed over in silence that means something: check tells it, and the rest of the folder runs", function()
    local folder <close> = kit.folder()
    local env = put(folder, [[{"$schema": "x", "mcpServers": {
      "old": {"type": "sse", "url": "https://example.org/sse"}, "off": {"command": "x", "disabled": true},
      "app": {"command": "x", "envFile": ".env", "autoApprove": ["read"], "notes": "a", "_c": 1, "startupDelay": 3,
        "env": {"KEY": "${input:app-key}"}},
      "My App": {"command": "y"}, "my.app": {"command": "y"}, "my app": {"command": "z"}, "_note": "text"}}]])
    local run = kit.run(folder, { "check", "s", env = env })
    assert.equal(1, run.code, run.out)
    for _, text in ipairs {
      'mcp "old": speaks "sse", which is not supported (there are stdio and http); many such servers have streamable HTTP at '
        .. "another URL; it is left out", 'mcp "off": is disabled there, and left out',
      'mcp "app": field "envFile" is not read: name what it needs in env, as ${NAME}', 'mcp "My App": is called My_App here',
      'note: mcp "app": field "autoApprove" has no meaning here', 'mcp "app": field "startupDelay" is unknown here',
      "${input:app-key} cannot be asked for here: write ${NAME}", 'mcp "my.app": is left out: another one is called my_app here',
    } do
      assert.truthy(run.out:find(text, 1, true), text .. run.out)
    end
    assert.is_nil(run.out:find('"notes"', 1, true))
    run = kit.run(folder, { "run", "s", "--agent", "cat", "--work-dir", "a", env = env, "--", "x" })
    assert.equal(8, run.code, run.err)
    assert.truthy(run.err:find("mcp app: starts x (with KEY)", 1, true), run.err)
    put(folder, '{"servers": {"one": {"command": "rm", "args": ["-rf"]}}, "inputs": []}')
    run = kit.run(folder, { "run", "s", "--agent", "cat", "--work-dir", "a", env = env, "--", "x" })
    assert.truthy(run.err:find("mcp one: starts rm -rf", 1, true), "what an editor's form starts is shown, too")
    put(folder, '{"servers": [], "x": {}}')
    assert.truthy(kit.run(folder, { "check", "s", env = env }).code == 0)
    put(folder, '{"x": {"y": 1}}')
    assert.truthy(kit.run(folder, { "check", "s", env = env }).out:find('needs an object "mcpServers", or "servers"', 1, true))
  end)

  it("has its own folders for those of other programs, and nothing for what an editor would ask", function()
    local one = assert(server.check_all({ a = { command = { "x", "${CLAUDE_PLUGIN_ROOT}/s.js", "${workspaceFolder}" } } }, "s", "/skill"))
    assert.same({ "x", "/skill/s.js", "/run" }, (server.filled_map(one.a.argv, nil, server.places(one.a, "/run"))))
    assert.equal(os.getenv "HOME", server.filled "${env:HOME}")
    assert.same({ nil, "${input:key} cannot be asked for here; write ${NAME}, of the environment" },
      { server.filled "Bearer ${input:key}" })
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
