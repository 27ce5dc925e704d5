-- tool_spec.lua: what a skill may say of its tools, and what is wrong with what it says.
require "tests.support.json_shim"
local skillrt = require "skillrt"
local roots = require "skillrt.tool.roots"
local tool = require "skillrt.tool"

local function problem(tools, more)
  local definition = { name = "s", tools = tools, actions = { { id = "a", run = function() end } } }
  for key, value in pairs(more or {}) do definition[key] = value end
  local ok, message = pcall(skillrt.skill, definition)
  return not ok and message or nil
end

describe("what a server's tool gives", function()
  local content = require "skillrt.tool.mcp.content"

  it("is its texts; what is no text is described, and its value is told where there is nothing else", function()
    assert.equal("one\n(an image, image/png, 4 bytes of base64: left out)\n(a sound, audio/wav, 2 bytes of base64: left out)\n"
      .. "(resource file:///a: the log)\nits text\n(resource file:///b, image/png, 3 bytes of base64: left out)",
      content.text({
        { type = "text", text = "one" }, { type = "image", mimeType = "image/png", data = "AAAA" },
        { type = "audio", mimeType = "audio/wav", data = "AA" },
        { type = "resource_link", uri = "file:///a", description = "the log" },
        { type = "resource", resource = { uri = "file:///a", text = "its text" } },
        { type = "resource", resource = { uri = "file:///b", mimeType = "image/png", blob = "AAA" } },
        { type = "hologram" }, 7, { type = "text" }, { type = "resource", resource = 7 },
      }, { a = 1 }))
    assert.equal('{"a":1,"b":[]}', content.text({}, { b = skillrt.json.array {}, a = 1 }))
    assert.equal("(nothing)", content.text(nil, skillrt.json.null))
  end)
end)

describe("what a server asks a person", function()
  local answers = require "skillrt.tool.mcp.answers"

  -- Its answer, and all questions that were asked; `given`: what the person says, in turn.
  local function asked(params, given)
    local questions = {}
    local client = { server = { name = "s" }, ctx = { ask = function(question)
      questions[#questions + 1] = { question = question.question, options = question.options }
      return given[#questions]
    end } }
    local answer, why = answers["elicitation/create"](client, params)
    return answer, questions, why
  end
  local FORM <const> = { type = "object", required = { "ok", "size" }, properties = {
    ok = { type = "boolean", title = "Is it?" }, size = { type = "integer", minimum = 1 },
    tags = { type = "array", items = { type = "string", enum = { "a", "b" } }, default = { "a" } },
    why = { type = "string", oneOf = { { const = "x", title = "the x" } } },
  } }

  it("is a form, field by field: each answer is read as its field, the default or nothing is spared", function()
    local answer, questions = asked({ message = "Fill", requestedSchema = FORM }, { "accept", "true", "3", "b, a", "-" })
    assert.same({ action = "accept", content = { ok = true, size = 3, tags = { "b", "a" } } }, answer)
    assert.equal("The server s asks you: Fill", questions[1].question)
    assert.same({ question = "Is it?", options = { { id = "true" }, { id = "false" } } }, questions[2])
    assert.equal('tags (with commas between: a, b) ("-": ["a"])', questions[4].question)
    assert.same({ { id = "x", description = "the x" }, { id = "-", description = "leave it out" } }, questions[5].options)
    assert.same({ "a" }, asked({ message = "", requestedSchema = FORM }, { "accept", "true", "3", "-", "x" }).content.tags)
  end)

  it("is asked again where the answer does not fit, five times at most, with the reason", function()
    local words = { "accept", "true", "zero", "0", "-", "-1" }
    local answer, questions = asked({ message = "", requestedSchema = FORM }, { words[1], words[2], words[3], words[4], words[5],
      words[6], "7", "-", "-" })
    assert.equal(7, answer.content.size)
    assert.matches("size %(.*size", questions[4].question)
    words[7] = "still none"
    answer, questions = asked({ message = "", requestedSchema = FORM }, words)
    assert.same({ { action = "cancel" }, 7 }, { answer, #questions })
  end)

  it("is passed on as it was refused, and refused where it cannot be shown", function()
    local form = { message = "", requestedSchema = FORM }
    assert.same({ { action = "decline" }, { action = "cancel" }, { action = "cancel" } },
      { (asked(form, { "decline" })), (asked(form, {})), (asked(form, { "accept" })) })
    local page = { mode = "url", message = "Pay", url = "https://x.example/pay" }
    local answer, questions = asked(page, { "accept" })
    assert.same({ { action = "accept" }, { action = "cancel" } }, { answer, (asked(page, {})) })
    assert.matches("asks you to open a page of its choice: Pay%. Open it only if you trust it", questions[1].question)
    for _, url in ipairs { "javascript:x", "https://a b", "https://x/" .. ("y"):rep(4000) } do
      page.url = url
      assert.same({ code = -32602, message = "the url cannot be shown" }, select(3, asked(page, { "accept" })))
    end
    assert.equal("requestedSchema is no form", select(3, asked({ message = "" }, {})).message)
  end)
end)

describe("tools of a skill", function()
  it("are functions, programs and those that are built in", function()
    assert.is_nil(problem {
      f = { description = "d", run = function() end }, p = { description = "d", command = { "true" } }, read_file = true, list_dir = true,
      glob = true, grep = true, write_file = true, edit = {}, git_diff = true, run = { allow = { { "true" } } }, http_get = true,
      ask_user = true, read = true, find = { builtin = "grep", max_result = 100 },
    })
    for name in pairs(tool.BUILT_IN) do
      local one = assert(tool.check(name, name == "run" and { allow = { { "x" } } } or true, "s"))
      assert.equal("object", one.input.type, name)
      assert.is_true(#one.description > 10, name)
      assert.equal("built in", one.source)
    end
  end)

  it("may do in a path what the innermost of several folders allows", function()
    local outer, inner = { path = "/a", write = true }, { path = "/a/in" }
    for _, list in ipairs { { outer, inner }, { inner, outer } } do
      assert.equal(inner, roots.place(list, "/a/in/x").root)
      assert.is_nil(roots.place(list, "/a/in/x", true))
      assert.equal("out/x", roots.place(list, "/a/out/x", true).name)
    end
  end)

  it("are refused by name, with what was probably meant", function()
    for text, tools in pairs {
      ['tool "read_fiel": is not built in.*did you mean "read_file"'] = { read_fiel = true },
      ['tool "a b".*the name of a tool must be letters'] = { ["a b"] = { description = "d", run = print } },
      ['tool "t": field "description" is missing'] = { t = { run = print } },
      ['tool "t": unknown field "aproval".*did you mean "approval"'] = { t = { description = "d", run = print, aproval = "ask" } },
      ['tool "t": approval must be always, ask, never or a condition, not "asks"'] = { t = { description = "d", run = print,
        approval = "asks" } },
      ['tool "t": approval: '] = { t = { description = "d", run = print, approval = "input. ==" } },
      ['tool "t": input must be a JSON Schema with type = "object"'] = {
        t = { description = "d", run = print, input = { type = "string" } } },
      ['tool "t": input.*tpye'] = { t = { description = "d", run = print, input = { tpye = "object" } } },
      ['tool "run": field "allow" is missing'] = { run = true },
      ['tool "run": allow%[1%] must be a program and words, not "%*"'] = { run = { allow = { { "*" } } } },
      ['tool "run": allow%[2%] must be a list of words that begins with a program'] = { run = { allow = { { "x" }, {} } } },
      ['tool "http_get": addresses are networks'] = { http_get = { addresses = { "example.org" } } },
      ['http_get": the header "Authorization" would go to any host'] = { http_get = {
        headers = { Authorization = "Bearer x", Accept = "text/plain" } } },
      ['tool "t": must be true or a table'] = { t = "read_file" },
    } do
      assert.matches(text, problem(tools) or "nothing is wrong")
    end
  end)

  it("of servers say what is wrong with what is declared of a server", function()
    local url = "https://x.example/mcp"
    for text, server in pairs {
      ['needs either command (a program) or url'] = {},
      ['url must begin with http:// or https://, not "ftp://x"'] = { url = "ftp://x" },
      ['mcp "x": command names no program'] = { command = { "" } },
      ['field "tools" must hold names of its tools, not 7'] = { url = url, tools = { 7 } },
      ['tool "t": unknown field "aproval"'] = { url = url, tools = { t = { aproval = "ask" } } },
      ['tool "t": approval must be always, ask, never or a condition'] = { url = url, tools = { t = { approval = "asks" } } },
      ['oauth is for a server behind a url'] = { command = { "x" }, oauth = {} },
      ['client_credentials need client_id and client_secret'] = { url = url, oauth = { grant = "client_credentials", client_id = "a" } },
      ['addresses are networks such as "10.1.0.0/16", not "home"'] = { url = url, oauth = { addresses = { "10.0.0.0/8", "home" } } },
      ['sampling: there is no agent "m"'] = { url = url, sampling = "m" },
    } do
      local said = problem({}, { mcp = { x = server } }) or "nothing is wrong"
      assert.truthy(said:find(text, 1, true), said)
    end
    assert.is_nil(problem({}, { mcp = { x = { url = url, oauth = { addresses = { "10.0.0.0/8" } }, tools = { "t" } } } }))
    for _, name in ipairs { "a b", "a__b", ("x"):rep(33) } do
      assert.matches("a name is letters, digits, %- and single _, at most 32", problem({}, { mcp = { [name] = { url = url } } }))
    end
    assert.matches("mcp must be a table of servers by name, or the path of a file, not 7", problem({}, { mcp = 7 }))
  end)

  it("of the web send headers that may hold a key to hosts that are named alone", function()
    assert.is_nil(problem { http_get = { headers = { Authorization = "Bearer x" }, hosts = { "api.example.org" } } })
    assert.is_nil(problem { http_get = { headers = { ["User-Agent"] = "us", accept = "text/plain" } } })
  end)

  it("have folders, and the agents that are given them name those that are there", function()
    assert.matches('roots: unknown field "reed"', problem({ read_file = true }, { roots = { reed = { "." } } }))
    local agents = { m = skillrt.agent.anthropic { tools = { "read_fil" } } }
    assert.matches('agent "m": tool "read_fil" is not in tools.*did you mean "read_file"', problem({ read_file = true },
      { agents = agents }))
    agents = { m = skillrt.agent.anthropic { tools = { "read_file", "ask_user" } } }
    assert.is_nil(problem({ read_file = true }, { agents = agents }))
    assert.has_error(function() skillrt.agent.anthropic { compact = { over = 10, how = "forget" } } end)
  end)
end)
