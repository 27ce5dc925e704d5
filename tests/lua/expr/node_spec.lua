-- expr_node_spec.lua: conditions against JavaScript itself: thousands of generated texts and states,
-- one node process for all. Where there is no node the test says so and is pending.
local cjson = require "cjson"
local expr = require "skillrt.expr"
local generator = require "tests.support.expr_generator"

local SEED = tonumber(os.getenv "SKILLRT_SEED") or 20240611
local COUNT = tonumber(os.getenv "SKILLRT_COUNT") or 3200

local function has_node()
  return os.execute "node --version >/dev/null 2>&1" == true
end

local function hex(s)
  return (s:gsub(".", function(c) return ("%02x"):format(c:byte()) end))
end

local function show(v)
  local t = type(v)
  if t == "nil" then return "u" end
  if t == "boolean" then return v and "b1" or "b0" end
  if t == "string" then return "s" .. hex(v) end
  if t == "number" then return v ~= v and "nan" or "n" .. hex(string.pack(">d", v)) end
  return v == cjson.null and "z" or "o"
end

---What node answers to each case, one line a case.
local function ask_node(cases)
  local path <const> = os.tmpname()
  local file = assert(io.open(path, "w"))
  for _, case in ipairs(cases) do
    file:write('{"text":', generator.json_string(case.text), ',"state":', case.state.json, "}\n")
  end
  file:close()
  local answers = {}
  local node = assert(io.popen("node tests/support/expr_oracle.js < " .. path))
  for line in node:lines() do answers[#answers + 1] = line end
  node:close()
  os.remove(path)
  assert.equal(#cases, #answers)
  return answers
end

---What we answer, in the same words.
local function answer(condition, state)
  local truth, reason = condition(state)
  if reason then return "throws" end
  local value = condition:evaluate(state)
  return ("%s %s"):format(truth, show(value))
end

local function complain(case, node, ours)
  return ("seed %d\ntext  %s\nstate %s\nnode  %s\nours  %s"):format(SEED, case.text, case.state.json, node, ours)
end

describe("against node, a condition", function()
  local function make_cases(count, make_text)
    math.randomseed(SEED)
    local cases, states = {}, {}
    for i = 1, 60 do states[i] = generator.state(cjson.null) end
    for i = 1, count do cases[i] = { text = make_text(), state = states[math.random(#states)] } end
    return cases
  end

  it(("has the same truth and the same value for %d texts and states (F31, R62)"):format(COUNT), function()
    if not has_node() then return pending "node is not installed: the comparison with JavaScript is skipped" end
    local cases = make_cases(COUNT, generator.text)
    local answers, valued = ask_node(cases), 0
    for i, case in ipairs(cases) do
      local condition, message = expr.compile(case.text)
      local ours = condition and answer(condition, case.state.lua) or "syntax"
      if ours ~= answers[i] then error(complain(case, answers[i], message or ours)) end
      valued = valued + ((ours == "throws" or ours == "syntax") and 0 or 1)
    end
    assert.is_true(valued > COUNT / 2, "most texts must have a value")
  end)

  it("takes no text that JavaScript refuses, and means the same by those it takes (F31)", function()
    if not has_node() then return pending "node is not installed: the comparison with JavaScript is skipped" end
    local cases = make_cases(COUNT, generator.soup)
    local answers, taken = ask_node(cases), 0
    for i, case in ipairs(cases) do
      local condition = expr.compile(case.text)
      if condition then
        taken = taken + 1
        local ours = answer(condition, case.state.lua)
        if ours ~= answers[i] then error(complain(case, answers[i], ours)) end
      end
    end
    assert.is_true(taken > COUNT / 100, "some texts must be taken")
  end)
end)
