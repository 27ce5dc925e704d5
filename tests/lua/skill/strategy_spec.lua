-- strategy_spec.lua: the contract of strategies, how one is found, and those that come along.
local strategy = require "skillrt.skill.strategy"

-- What the mode gives: rank order, #, [i] and has(); counts how often an item is looked at.
local function available_of(actions)
  local looked = 0
  local self = setmetatable({}, {
    __index = function(_, key)
      if math.type(key) == "integer" then
        looked = looked + 1
        return actions[key]
      elseif key == "has" then
        return function(_, id)
          for _, action in ipairs(actions) do
            if action.id == id then return true end
          end
          return false
        end
      end
    end,
    __len = function() return #actions end,
  })
  return self, function() return looked end
end

local function actions_of(...)
  local out = {}
  for i, id in ipairs({ ... }) do
    out[i] = { id = id, index = i, priority = 0, name = id:upper(), description = "does " .. id }
  end
  return out
end

-- Strategies as the caller's loader finds them: built in by name, else by path.
local function loader(name)
  local path = name:find("[/.]") and name or ("strategies/%s.lua"):format(name)
  local file <close> = io.open(path, "r")
  if not file then return nil, "not found", "not_found" end
  return file:read("a"), path
end

local function built_in(name)
  return assert(strategy.resolve(name, loader))
end

describe("what a strategy chose", function()
  local available = available_of(actions_of("a", "b", "c"))

  it("may be one id or a list of ids (F45)", function()
    assert.same({ "b" }, strategy.check("b", available))
    assert.same({ "c", "a" }, strategy.check({ "c", "a" }, available))
  end)

  for name, case in pairs({
    ["an id that is not available"] = { "x", 'chose "x", which cannot run now (available: a, b, c)' },
    ["an id twice"] = { { "a", "a" }, 'chose "a" twice' },
    ["an action in place of its id"] = { { { id = "a" } }, "returned a table instead of an action's id" },
    ["a number"] = { 1, "returned 1 instead of an action's id" },
    ["true"] = { true, "returned true instead" },
    ["an empty list"] = { {}, "returned an empty list" },
    ["a list with names"] = { { "a", reason = "x" }, 'a table with the field "reason"' },
    ["nothing"] = { nil, "chose nothing" },
  }) do
    it("is refused when it is " .. name .. " (F45)", function()
      local ids, reason = strategy.check(case[1], available)
      assert.is_nil(ids)
      assert.has_match(case[2], reason, 1, true)
    end)
  end

  it("is compared with a short list, however many are available", function()
    local many = {}
    for i = 1, 1000 do many[i] = { id = "a" .. i } end
    local _, reason = strategy.check("x", (available_of(many)))
    assert.has_match("a20, and 980 more", reason, 1, true)
    assert.is_true(#reason < 300)
  end)
end)

describe("a strategy is found", function()
  it("as a function", function()
    local choose = function() return "a" end
    assert.equal(choose, strategy.resolve(choose, loader).select)
  end)

  it("as a table with select, name and options", function()
    local one = strategy.resolve({ name = "mine", select = print, order = "declaration", options = { 1 } }, loader)
    assert.same({ "mine", print, "declaration", { 1 } }, { one.name, one.select, one.order, one.options })
  end)

  for _, name in ipairs(strategy.BUILTIN) do
    it("by the built-in name " .. name .. " (R91, R92, R93)", function()
      local one = built_in(name)
      assert.equal(name, one.name)
      assert.is_function(one.select)
      assert.is_string(one.description)
      assert.equal("strategies/" .. name .. ".lua", one.path)
      assert.has_match("select", one.text, 1, true)
    end)
  end

  it("by a name with options", function()
    local one = strategy.resolve({ name = "state_driven", options = { init = "start" } }, loader)
    assert.same({ init = "start" }, one.options)
  end)

  it("in a Lua file of one's own", function()
    local one = strategy.resolve("./own/longest.lua", function(path)
      return "return { select = function() return 'x' end }", path
    end)
    assert.equal("longest", one.name)
    assert.equal("x", one.select())
    assert.equal("./own/longest.lua", one.path)
  end)

  it("with the order it asks for", function()
    for _, order in ipairs({ "priority", "declaration" }) do
      assert.equal(order, strategy.resolve({ select = print, order = order }, loader).order)
    end
    assert.equal("priority", strategy.resolve({ select = print }, loader).order)
  end)

  it("in a file that returns the function alone", function()
    assert.equal("x", strategy.resolve("f.lua", function(p) return "return function() return 'x' end", p end).select())
  end)

  for name, case in pairs({
    ["an unknown name, with the nearest"] = { "priorty", loader, 'strategy "priorty": not found (did you mean "priority"?)' },
    ["a missing file"] = { "none/such.lua", loader, 'strategy "none/such.lua": not found' },
    ["a syntax error, with its line"] = { "f.lua", function(p) return "return {\n!", p end, "f.lua:2:" },
    ["an error while loading"] = { "f.lua", function(p) return "error('oh no')", p end, "oh no" },
    ["a file that returns nothing"] = { "f.lua", function(p) return "local x = 1", p end, "must return a table with a function" },
    ["a table without select"] = { "f.lua", function(p) return "return { selct = print }", p end,
      'has no function `select` (did you mean "select" by "selct"?)' },
    ["compiled code"] = { "f.lua", function(p) return string.dump(function() end), p end, "attempt to load a binary chunk" },
    ["an unknown order"] = { { select = print, order = "size" }, loader, 'order must be "priority" or "declaration", not "size"' },
    ["a number"] = { 7, loader, "must be a function, a name or a table" },
    ["a name with a line break"] = { "a\nb", loader, "must be a name or a path" },
  }) do
    it("is refused for " .. name, function()
      local one, message, code = strategy.resolve(case[1], case[2])
      assert.is_nil(one)
      assert.has_match(case[3], message, 1, true)
      assert.is_string(code)
    end)
  end
end)

describe("priority", function()
  it("takes the first of 100,000 without looking at another (R60)", function()
    local many = {}
    for i = 1, 100000 do many[i] = { id = "a" .. i } end
    local available, looked = available_of(many)
    assert.equal("a1", built_in("priority").select({}, available, {}))
    assert.equal(1, looked())
  end)

  it("says why where nothing is runnable", function()
    local id, reason = built_in("priority").select({}, (available_of({})), {})
    assert.is_nil(id)
    assert.is_string(reason)
  end)
end)

describe("sequential", function()
  it("asks for the order of declaration and then looks at one only, however many there are", function()
    local one = built_in("sequential")
    local many = actions_of("a", "b", "c")
    for i = 4, 10000 do many[i] = { id = "a" .. i, index = i } end
    local available, looked = available_of(many)
    assert.equal("declaration", one.order)
    assert.equal("a", one.select({}, available, {}))
    assert.equal(1, looked())
  end)
end)

describe("state_driven", function()
  local all = actions_of("action-init", "action-process", "action-review", "action-complete")
  local select = built_in("state_driven").select
  for _, case in ipairs({
    { { status = "pending" }, "action-init" },
    { { status = "pending", pending_items = { 1 } }, "action-init" },
    { { status = "executing", pending_items = { 1 } }, "action-process" },
    { { status = "executing", pending_items = {}, needs_review = true }, "action-review" },
    { { status = "executing", pending_items = {}, needs_review = 0 }, "action-complete" },
    { { status = "executing", needs_review = "" }, "action-complete" },
    { { status = "executing", needs_review = 1 }, "action-review" },
    { { status = "executing", needs_review = "yes" }, "action-review" },
    { { status = "executing", needs_review = 0 / 0 }, "action-complete" },
    { { status = "executing" }, "action-complete" },
  }) do
    it(("chooses %s for %s, %s items, needs_review %s (R93, R94)"):format(case[2], case[1].status,
      case[1].pending_items and #case[1].pending_items or "no", tostring(case[1].needs_review)), function()
      assert.equal(case[2], (select(case[1], (available_of(all)), {})))
    end)
  end

  it("never chooses what is not available (F45)", function()
    local available = available_of(actions_of("action-process"))
    assert.equal("action-process", (select({ status = "pending", pending_items = { 1 } }, available, {})))
    local id, reason = select({ status = "pending" }, available, {})
    assert.is_nil(id)
    assert.has_match("action-init or action-complete", reason, 1, true)
  end)

  it("takes other ids from its options", function()
    local available = available_of(actions_of("collect", "finish"))
    local ctx = { options = { init = "collect", complete = "finish" } }
    assert.equal("collect", (select({ status = "pending" }, available, ctx)))
    assert.equal("finish", (select({ status = "executing" }, available, ctx)))
  end)
end)

describe("user_driven", function()
  local select = built_in("user_driven").select
  local available = available_of(actions_of("a", "b"))

  it("asks one single-choice question with the names and descriptions (R92)", function()
    local id, question = select({}, available, {})
    assert.is_nil(id)
    assert.same({
      header = "Action",
      question = "Choose the next action:",
      options = { { id = "a", label = "A", description = "does a" }, { id = "b", label = "B", description = "does b" } },
      more = 0,
    }, question.ask)
  end)

  it("asks in Chinese with the seed's own header (R92)", function()
    local _, question = select({}, available, { options = { language = "zh" } })
    assert.equal("操作", question.ask.header)
  end)

  it("returns the chosen id, not the label: two may be called the same (R92, F45)", function()
    assert.equal("b", (select({}, available, { answer = "b" })))
  end)

  it("tells giving up from being done (F45)", function()
    local id, reason = select({}, available, { answer = false })
    assert.is_nil(id)
    assert.equal("user_exit", reason)
  end)

  it("shows at most 200 options and says how many there are beyond", function()
    local many = {}
    for i = 1, 1000 do many[i] = { id = "a" .. i } end
    local _, question = select({}, (available_of(many)), {})
    assert.equal(200, #question.ask.options)
    assert.equal(800, question.ask.more)
  end)
end)
