-- ordered_spec.lua: JSON of generated documents, with keys in the order of docs/schema.
local generate = require "skillrt.document.generate"
local json = require "skillrt.base.json"
local ordered = require "skillrt.document.generate.ordered"

local function read(path)
  local file <close> = assert(io.open(path, "rb"))
  return file:read "a"
end

-- Every "properties" of a schema: by its path, its keys in the order they are written in.
local function orders_of(text)
  local orders, path = {}, {}
  for line in text:gmatch "[^\n]+" do
    local indent, key = line:match '^( *)"([^"]+)":'
    if key then
      local depth = #indent // 2
      path[depth] = key
      if path[depth - 1] == "properties" then
        local where = table.concat(path, ".", 1, depth - 1)
        orders[where] = orders[where] or {}
        table.insert(orders[where], key)
      end
    end
  end
  return orders
end

-- The keys of an object as they stand in its text.
local function keys_in(text)
  local list = {}
  for key in text:gmatch '\n  "([^"]+)":' do
    list[#list + 1] = key
  end
  return list
end

describe("ordered JSON", function()
  for _, name in ipairs { "skill-config", "workflow" } do
    it(("has keys in the order of %s.schema.json"):format(name), function()
      local orders = orders_of(read(("docs/schema/%s.schema.json"):format(name)))
      local count = 0
      for path, order in pairs(orders) do
        local kind = path == "properties" and (name == "workflow" and name or "config")
          or path:match "^%$defs%.([%w_]+)%.properties$"
        local object = {}
        for _, key in ipairs(order) do
          object[key] = 1
        end
        assert.same(kind and order or {}, kind and keys_in(ordered.encode(object, kind)) or {})
        count = count + (kind and #order or 0)
      end
      assert.truthy(count > 30)
    end)
  end

  it("has unknown keys behind, by the alphabet", function()
    assert.same({ "skill_name", "version", "aa", "zz" },
      keys_in(ordered.encode({ zz = 1, aa = 2, version = "1", skill_name = "x" }, "config")))
  end)

  it("says what the plain codec says", function()
    local value = { id = "x", list = json.array {}, none = json.null, deep = { { a = 1.5, b = { c = true } }, "é\n" } }
    assert.same(value, json.decode(ordered.encode(value)))
    assert.equal('{\n  "id": "x",\n  "list": []\n}', ordered.encode({ list = json.array {}, id = "x" }))
  end)

  it("is that of every JSON file of a folder", function()
    local config = assert(json.decode(read "tests/golden/configs/release-notes.json"))
    for _, file in ipairs(assert(generate.generate(config, { templates = "templates" }))) do
      local kind = ({ ["skill-config.json"] = "config", ["workflow.json"] = "workflow" })[file.path]
      if file.path:find "%.json$" then
        assert.equal(file.text, ordered.encode(json.decode(file.text), kind) .. "\n")
        assert.truthy(file.text:find '^{\n  "$schema": "urn:skillrt:schema:[%w-]+",\n  "skill_name"')
        assert.truthy(file.text:find '"id": "01%-range",\n +"name": "Range",')
      end
    end
  end)
end)
