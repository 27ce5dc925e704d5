-- run_meeting_spec.lua: updates of steps that run side by side, as the schema says and as it does not.
local R = require "tests.support.runs"

local function run(definition)
  local dir = R.folder() .. "/run"
  return assert(R.run(definition, { work_dir = dir })), dir
end

describe("updates of parallel steps", function()
  after_each(R.clean)

  it("meet as the schema says; of other fields the last one counts, and is said", function()
    local both = function(_, available)
      local ids = {}
      for i = 1, #available do
        ids[i] = available[i].id
      end
      return ids
    end
    local function add(name)
      return function(state)
        local list = { table.unpack(state.found) }
        list[#list + 1] = name
        return { found = list, sum = state.sum + 1, word = name }
      end
    end
    local result, dir = run({ strategy = both, state = { found = { "old" }, sum = 0, word = "" },
      schema = { found = { type = "string[]", merge = "append" }, sum = { type = "integer", merge = "sum" } },
      actions = { { id = "a", run = add "a" }, { id = "b", run = add "b" } } })
    assert.same({ { "old", "a", "b" }, 2, "b" }, { result.state.found, result.state.sum, result.state.word })
    assert.same({ "word" }, R.records(dir, "done")[2].replaced)
  end)

  it("of the items of one action meet in the same way, in their order", function()
    local function found(_, _, item)
      return { found = { item }, sum = 1, word = item }
    end
    local schema = { found = { type = "string[]", merge = "append" }, sum = { type = "integer", merge = "sum" } }
    local result = run({ state = { items = { "a", "b", "c" }, sum = 0 }, schema = schema,
      actions = { { id = "each", each = "items", run = found } } })
    assert.same({ { "a", "b", "c" }, 3, "c" }, { result.state.found, result.state.sum, result.state.word })
    schema.word = { type = "string", merge = "fail" }
    result = run({ state = { items = { "a", "b" }, sum = 0 }, schema = schema, limits = { max_errors = 1 },
      actions = { { id = "each", each = "items", run = found } } })
    assert.equal("failed", result.status)
    assert.matches('update "word" of several items: another step changed it', result.state.errors[1].message)
  end)

  it("come to the same whoever is first; keys of one object that lie apart replace nothing", function()
    local function sets(id, updates)
      return { id = id, run = function(_, ctx)
        ctx.sleep(0)
        return updates
      end }
    end
    for _, order in ipairs { "abc", "acb", "bac", "bca", "cab", "cba" } do
      local result, dir = run({ state = { list = { 1 }, set = { "x" }, object = { kept = { n = 1 } } },
        schema = { list = { merge = "append" }, set = { merge = "union" } },
        strategy = function()
          return { order:sub(1, 1), order:sub(2, 2), order:sub(3, 3) }
        end,
        terminate = { { when = "other === 1 && list.length === 2", reason = "both" } },
        actions = { sets("a", { list = { 2 }, set = { "y" }, object = { a = { 1 } } }),
          sets("b", { list = { 3 }, set = { "z" }, object = { kept = { b = 1 } } }), sets("c", { other = 1 }) } })
      for _, name in ipairs { "list", "set" } do
        table.sort(result.state[name])
      end
      assert.same({ { 2, 3 }, { "y", "z" }, { a = { 1 }, kept = { n = 1, b = 1 } } },
        { result.state.list, result.state.set, result.state.object }, order)
      for _, record in ipairs(R.records(dir, "done")) do
        assert.is_nil(record.replaced)
      end
    end
  end)
end)
