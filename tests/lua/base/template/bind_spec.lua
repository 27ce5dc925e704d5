-- template_bind_spec.lua: a template bound to shared data shows what the unbound one shows.
local action = require "skillrt.document.generate.action"
local config_of = require "skillrt.document.generate.config"
local json = require "skillrt.base.json"
local template = require "skillrt.base.template"
local view = require "skillrt.document.generate.view"

local SHARED = {
  name = "shared",
  number = 3.0,
  yes = true,
  no = false,
  null = json.null,
  none = {},
  list = { { x = 1 }, { x = 2, own = "mine" } },
  object = { x = 5 },
}
local OWN = { own = "a {{name}}", off = false, items = { "p", "q" }, inner = { name = "inside" } }

local TEXTS = {
  "{{name}} {{{number}}} {{&yes}} {{own}} {{no}}|{{null}}|",
  "{{#yes}}A{{name}}{{own}}{{#yes}}B{{/yes}}{{/yes}}{{^yes}}C{{/yes}}",
  "{{#no}}A{{/no}}{{^no}}B{{own}}{{/no}}{{#null}}C{{/null}}{{^none}}D{{/none}}{{#missing}}E{{/missing}}{{^missing}}F{{/missing}}",
  "{{#list}}{{x}}{{own}}{{name}};{{/list}}{{^list}}none{{/list}}",
  "{{#object}}{{x}}{{name}}{{#own}}!{{/own}}{{/object}}{{object.x}}{{#object.x}}{{.}}{{/object.x}}",
  "{{#items}}{{.}}{{name}},{{/items}}{{#off}}on{{/off}}{{^off}}off{{/off}}",
  "{{#inner}}{{name}} {{#yes}}{{name}}{{/yes}}{{/inner}}{{name}}",
  "{{#name}}{{.}}{{/name}} {{#own}}{{.}}{{/own}}",
  "x\n  {{>part}}\n{{=<% %>=}}<%name%> {{name}}",
  "\n{{#yes}}\n- {{name}}\n{{/yes}}\n{{^yes}}\n- nobody\n{{/yes}}\nend",
}
local PARTIALS = { part = "{{name}}\n{{own}}\n" }

describe("a template bound to the data that documents share", function()
  it("shows the same as before, whatever the rest of the data holds", function()
    local data = setmetatable(OWN, { __index = SHARED })
    for _, text in ipairs(TEXTS) do
      local compiled = assert(template.compile(text))
      local want = assert(compiled:render(data, PARTIALS))
      assert.equal(want, compiled:bind(SHARED, OWN):render(data, PARTIALS), text)
    end
  end)

  it("still reports a missing name at its line and column", function()
    local compiled = assert(template.compile("{{name}}\n{{#yes}}\n  {{nobody}}{{/yes}}\n", { name = "t" }))
    local _, before = compiled:render(SHARED, nil, { strict = true })
    local _, after = compiled:bind(SHARED, {}):render(SHARED, nil, { strict = true })
    assert.truthy(before:find("t:3:3", 1, true), before)
    assert.equal(before, after)
  end)

  it("may be bound to any action's names: all have the same", function()
    local config = assert(config_of.normalise {
      skill_name = "two-actions",
      description = "Two actions as different as can be",
      autonomous_config = {
        actions = {
          { id = "bare" },
          {
            id = "full",
            name = "Full",
            description = "All of it",
            purpose = "To differ",
            preconditions = { "a" },
            effects = { "b = 1" },
            priority = 2,
            timeout_s = 5,
          },
        },
      },
    })
    local shared, names = view.of(config, "en"), {}
    for i, one in ipairs(shared.actions) do
      names[i] = {}
      for name in pairs(action.data(config, shared, one)) do
        names[i][name] = true
      end
    end
    assert.same(names[1], names[2])
  end)
end)
