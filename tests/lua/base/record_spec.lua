-- record_spec.lua: records as journal payloads: what is large lies apart, and comes back.
local json = require "skillrt.base.json"
local record = require "skillrt.base.record"

local BIG = ("x"):rep(70000)

local function through(entry)
  local payload, blobs = record.encode(entry)
  assert(payload, blobs)
  local kept = {}
  for _, blob in ipairs(blobs or {}) do
    kept[blob[1]] = blob[2]
  end
  local back = record.decode(payload, function(digest)
    return kept[digest] or nil, "no blob", "missing"
  end)
  return back, payload, blobs or {}
end

describe("a record", function()
  it("is one line of compact JSON", function()
    local payload = record.encode { t = "note", text = "a\nb", step = 1 }
    assert.equal([[{"step":1,"t":"note","text":"a\nb"}]], payload)
  end)

  it("names what cannot be kept as its author wrote it", function()
    for place, entry in pairs {
      ["f"] = { t = "done", set = { f = print } },
      ["a.b[2]"] = { t = "done", set = { a = { b = { 1, print } } } },
      ['["odd key"].x'] = { t = "done", set = { ["odd key"] = { x = print } } },
      ["the update"] = { t = "done", set = print },
      ["context.k.x"] = { t = "done", context = { k = { x = print } } },
      ["output[1]"] = { t = "done", out = { print } },
      ["input.dir"] = { t = "run", input = { dir = print } },
    } do
      assert.same({ nil, place .. ": cannot encode a function", "invalid" }, { record.encode(entry) }, place)
    end
  end)

  it("keeps large values apart: of updates, context, replies, the state and outputs", function()
    for _, entry in ipairs {
      { t = "done", set = { a = BIG, b = 1 } }, { t = "done", context = { k = { BIG } } },
      { t = "reply", reply = { body = BIG, code = 200 } }, { t = "run", state = { list = { BIG } } }, { t = "done", out = { BIG } },
    } do
      local back, payload, blobs = through(entry)
      assert.equal(1, #blobs)
      assert.is_true(#payload < 400)
      assert.equal(json.encode(entry), json.encode(back))
    end
  end)

  it("names what it keeps apart in the order of the names, whatever the order of the keys is", function()
    local set, wanted = {}, {}
    for i = 25, 1, -1 do
      local key = ("k%02d"):format(i)
      set[key], wanted[i] = BIG .. key, { "set", key }
    end
    local blobs = json.decode((record.encode { t = "done", set = set })).blobs
    assert.same(wanted, blobs)
  end)

  it("leaves the entry it was given as it is", function()
    local entry = { t = "done", set = { a = BIG } }
    record.encode(entry)
    assert.same({ t = "done", set = { a = BIG } }, entry)
  end)

  it("that begins a step is the text the codec gives", function()
    for _, kind in ipairs { "action", "phase" } do
      local start = { t = "start", [kind] = "a.b_c-9", step = 7, n = 12, at = 1795307759160 }
      assert.equal(json.encode(start), record.encode(start))
    end
  end)

  it("never takes a value of the user's for a reference", function()
    local back = through { t = "done", set = { a = { sha256 = "00", bytes = 5 }, b = BIG } }
    assert.same({ sha256 = "00", bytes = 5 }, back.set.a)
    assert.equal(BIG, back.set.b)
  end)

  it("that names a blob which is not there is an error, not a value", function()
    local payload = record.encode { t = "done", set = { a = BIG } }
    local back, message, code = record.decode(payload, function() return nil, "blobs/x: No such file", "missing" end)
    assert.is_nil(back)
    assert.same({ "blobs/x: No such file", "missing" }, { message, code })
    assert.is_nil((record.decode("[", print)))
    assert.is_nil((record.decode("5", print)))
  end)

  it("has its texts made printable where they are no UTF-8", function()
    assert.equal("ä", record.printable "ä")
    assert.equal("a\u{FFFD}b\u{FFFD}(", record.printable "a\255b\xC3(")
    assert.equal("\u{FFFD}\u{FFFD}", record.printable "\xE2\x82")
    assert.is_truthy(utf8.len(record.printable(("\xF0\x9F"):rep(100))))
  end)
end)
