-- generate_hostile_spec.lua: configs that are out to break documents; templates of one's own; limits.
local generate = require "skillrt.document.generate"
local json = require "skillrt.base.json"

local NASTY = "a $& {{x}} {{{y}}} {{#z}} | ] `b` ``` %1 \\ \"q\" 'r'\nnext ${w} <b>"

local function nasty_config()
  local needs = { "title === 'a | b `c`'", "completed_actions.includes('x-1')" }
  return {
    skill_name = "nasty-skill",
    display_name = NASTY,
    description = NASTY,
    triggers = { NASTY },
    execution_mode = "hybrid",
    sequential_config = { phases = { { id = "01-a", name = NASTY, description = NASTY, condition = "a || b" } } },
    autonomous_config = {
      state_schema = { fields = { { name = "title", type = "'a' | 'b'", description = NASTY } } },
      actions = {
        { id = "x-1", name = NASTY, description = NASTY, effects = { "title='{{x}}'" } },
        { id = "x.2", name = NASTY, purpose = NASTY, preconditions = needs },
      },
      termination_conditions = {},
    },
    specs = { { path = "specs/a (b).md", purpose = NASTY } },
  }
end

local function folder(config, options)
  options = options or {}
  options.templates = options.templates or "templates"
  local files, message = generate.generate(config, options)
  assert.is_nil(message)
  local by_path = {}
  for _, file in ipairs(files) do
    by_path[file.path] = file
  end
  return by_path, files
end

-- Seconds that a config takes whose only action has this text everywhere.
local function seconds_for(text)
  local condition = "completed_actions.includes('" .. text .. "')"
  local started = os.clock()
  assert(generate.generate({
    skill_name = "slow-skill",
    description = "d",
    execution_mode = "autonomous",
    autonomous_config = {
      actions = {
        { id = "a", name = text, description = text, preconditions = { text, condition, text .. condition }, effects = { text } },
      },
    },
  }, { templates = "templates" }))
  return os.clock() - started
end

describe("texts that patterns are slow with", function()
  for name, text in pairs {
    ["backslashes before no bar"] = ("\\"):rep(60000) .. "x|",
    ["white space inside of a line"] = "a" .. (" "):rep(60000) .. "b\nc",
    ["white space before a line break"] = "a" .. (" "):rep(60000) .. "\r\n" .. (" "):rep(60000) .. "b",
    ["backticks"] = ("` "):rep(60000),
    ["calls that are never closed"] = ("completed_actions.includes('"):rep(3000),
    ["negations"] = "completed_actions.includes('a') " .. ("! "):rep(60000),
  } do
    it("take no longer than others of their length: " .. name, function()
      assert.is_true(seconds_for(text .. ".") < 2)
    end)
  end

  it("and so do thousands of phases: four times as many are four times the work", function()
    local function thousands(count) -- of Lua's instructions
      local phases, steps = {}, 0
      for i = 1, count do
        phases[i] = { id = "p" .. i }
      end
      debug.sethook(function() steps = steps + 1 end, "", 1000)
      assert(generate.generate({
        skill_name = "long-skill",
        description = "d",
        sequential_config = { phases = phases },
      }, { templates = "templates" }))
      debug.sethook()
      return steps
    end
    local little, much = thousands(400), thousands(1600)
    assert.is_true(much < 5 * little, ("%d and %d thousand instructions"):format(little, much))
  end)
end)

-- Every table row has as many cells as its head; bars behind a backslash divide nothing.
local function check_tables(path, text)
  local width, fence
  for line in (text .. "\n"):gmatch "(.-)\n" do
    local ticks = line:match "^(```+)"
    if fence then
      fence = ticks ~= fence and fence or nil
    elseif ticks then
      fence = ticks
    elseif line:sub(1, 2) == "| " then
      local bars = select(2, line:gsub("\\|", ""):gsub("|", ""))
      width = width or bars
      assert.equal(width, bars, path .. ": " .. line)
    else
      width = nil
    end
  end
  assert.is_nil(fence, path .. ": a fence is not closed")
end

describe("a config full of $&, {{x}}, |, ], backticks and line breaks", function()
  for _, lang in ipairs { "en", "zh" } do
    local files = folder(nasty_config(), { lang = lang })

    it(("keeps every table and fence whole in %s (F9, F10)"):format(lang), function()
      for path, file in pairs(files) do
        if path:find "%.md$" then
          check_tables(path, file.text)
        end
      end
    end)

    it(("comes out as it went in, in %s (F10)"):format(lang), function()
      assert.truthy(files["SKILL.md"].text:find(NASTY, 1, true))
      assert.truthy(files["phases/01-a.md"].text:find(NASTY, 1, true))
      assert.truthy(files["phases/actions/x-1.md"].text:find(NASTY, 1, true))
      assert.equal(NASTY, json.decode(files["skill-config.json"].text).description)
    end)
  end

  local files = folder(nasty_config())

  it("is one line in headings, front matter and labels (F9)", function()
    local line = NASTY:gsub("\n", " ")
    assert.truthy(files["phases/actions/x-1.md"].text:find("# Action: " .. line .. "\n", 1, true) == 1)
    local front = files["SKILL.md"].text:match '\ndescription: ("[^\n]*")\nallowed%-tools: "'
    assert.truthy(json.decode(front):find(line, 1, true))
    local catalog = files["specs/action-catalog.md"].text
    assert.truthy(catalog:match '\n    n%d+%["[^"\n]*"%]\n')
    assert.truthy(catalog:match '\n    n%d+ %-[%-.]+>|"[^"\n]*"| n%d+\n')
  end)

  it("fences JSON with more backticks than it holds", function()
    assert.truthy(files["specs/action-catalog.md"].text:find("\n````json\n", 1, true))
  end)
end)

describe("generate", function()
  it("never names a file outside its folder (F13)", function()
    for path in pairs(folder(nasty_config())) do
      assert.falsy(path:find("^/") or path:find("..", 1, true), path)
    end
  end)

  it("writes an outline for a document the config names, once", function()
    local file = folder(nasty_config())["specs/a (b).md"]
    assert.is_true(file.once)
    assert.truthy(file.text:find("# A (b)\n", 1, true))
    assert.is_nil(folder(nasty_config())["SKILL.md"].once)
  end)

  it("draws an action that may run as often as no integer says", function()
    local config = nasty_config()
    for _, one in ipairs(config.autonomous_config.actions) do
      config.x_skillrt = config.x_skillrt or {}
      config.x_skillrt.actions = config.x_skillrt.actions or {}
      config.x_skillrt.actions[one.id] = { max_runs = 1e308 }
    end
    assert.truthy(folder(config)["SKILL.md"])
  end)

  it("gives files sorted by path, each once", function()
    local config = nasty_config()
    config.templates = config.templates or {}
    table.insert(config.templates, { path = config.specs[1].path, title = "Again" }) -- named by two lists
    local _, files = folder(config)
    for i = 2, #files do
      assert.is_true(files[i - 1].path < files[i].path)
    end
  end)

  it("puts as many triggers into the description as fit (1,024 bytes)", function()
    local config = nasty_config()
    config.description, config.triggers = ("d"):rep(900), {}
    for i = 1, 30 do
      config.triggers[i] = ("word %02d"):format(i)
    end
    local front = folder(config)["SKILL.md"].text:match "\ndescription: ([^\n]*)"
    local text = json.decode(front)
    assert.is_true(#text <= 1024 and #text > 1000, #text)
    assert.truthy(text:find('d. Triggers on "word 01", "word 02"', 1, true))
    assert.equal(".", text:sub(-1))
  end)

  it("names task_completed where a config names no termination (R40)", function()
    local config = nasty_config()
    local text = folder(config)["phases/orchestrator.md"].text
    assert.truthy(text:find("- **Termination conditions**: task_completed\n", 1, true))
    assert.truthy(text:find("## Termination Conditions\n\n- task_completed\n", 1, true))
  end)

  it("generates what its own skill-config.json says again (F3)", function()
    local first = folder(nasty_config())
    local again = folder(json.decode(first["skill-config.json"].text))
    assert.same(first, again)
  end)

  it("passes the errors of a config on", function()
    local files, message, code, findings = generate.generate({ skill_name = "x" }, {})
    assert.is_nil(files)
    assert.equal("invalid", code)
    assert.truthy(message:find("skill_name: must have 3 to 30 characters", 1, true))
    assert.equal("error", findings[1].level)
  end)

  it("raises for an unknown language", function()
    assert.has_error(function()
      generate.generate(nasty_config(), { lang = "de" })
    end, 'generate: options.lang is "en" or "zh", not de')
  end)
end)

describe("templates of one's own", function()
  it("come before ours, one by one", function()
    local files = folder(nasty_config(), {
      templates = function(name, lang)
        return name == "action" and ("{{id}} in %s"):format(lang) or nil
      end,
      lang = "zh",
    })
    assert.equal("x.2 in zh", files["phases/actions/x.2.md"].text)
    assert.truthy(files["phases/orchestrator.md"].text:find("# Orchestrator", 1, true))
  end)

  it("fill an orchestrator of exactly four placeholders (R88)", function()
    local text = "{{termination_checks}}\n{{action_selection_logic}}\n{{action_catalog_table}}\n{{termination_conditions_list}}\n"
    local config = nasty_config()
    config.autonomous_config.termination_conditions = { "user_exit", "done" }
    local files = folder(config, {
      templates = function(name)
        return name == "orchestrator" and text or nil
      end,
    })
    local got = files["phases/orchestrator.md"].text
    assert.truthy(got:find('^if %(state.status === "user_exit"%) return null;\n  if %(state.done%) return null;\n'))
    assert.truthy(got:find("\n- user_exit\n- done\n", 1, true))
    assert.falsy(got:find("{{termination", 1, true))
  end)

  it("begin no heading, however many lines the skill's name has", function()
    local config = nasty_config()
    config.display_name = "one\n# two"
    for path, file in pairs(folder(config)) do
      assert.falsy(file.text:find("\n# two", 1, true), path)
    end
  end)

  it("are told where a placeholder is that nothing fills (F10)", function()
    local files, message, code = generate.generate(nasty_config(), {
      templates = function(name)
        return name == "skill" and "# {{skill_name}}\n\n{{nobody}}" or nil
      end,
    })
    assert.is_nil(files)
    assert.equal("invalid", code)
    assert.equal("skill.mustache:3:1: nothing in the data is called 'nobody'", message)
  end)
end)
