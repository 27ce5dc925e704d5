-- secrets_spec.lua: what looks like a key is found wherever it lies in a record, and nothing else is suspected.
local core = require "skillrt.core"
local secrets = require "skillrt.base.secrets"

describe("a finder of words", function()
  local find = core.finder { "ab", "abc-def", "PRIVATE", "\0\255x" }

  it("finds a word at the beginning, in the middle and at the end of a text", function()
    for _, text in ipairs { "ab", "xab", "abx", "xxPRIVATE", "\0\255x", "aab", "PPRIVATEx" } do
      assert.is_true(find(text), text)
    end
  end)
  it("finds nothing where a text ends within a word, or is shorter than two bytes", function()
    for _, text in ipairs { "", "a", "b", "ba", "a b", "PRIVAT", "\0\255", "\0" } do
      assert.is_false(find(text), text)
    end
  end)
  it("finds nothing where there are no words", function() assert.is_false(core.finder {} "ab") end)
  it("keeps its words when the list is changed", function()
    local words = { "one", "two" }
    local found = core.finder(words)
    words[1], words[2] = nil, nil
    collectgarbage()
    assert.is_true(found "a two" and found "one")
  end)
  it("refuses words of one byte and what is no word", function()
    for _, words in ipairs { { "a" }, { "" }, { "ab", 12 }, { false } } do
      assert.has_error(function() core.finder(words) end)
    end
  end)
end)

describe("the shapes of keys", function()
  it("are suspected wherever they lie", function()
    assert.is_true(secrets.suspects '{"reply":"use sk-abc"}')
    assert.is_true(secrets.suspects "-----BEGIN RSA PRIVATE KEY-----")
    assert.is_false(secrets.suspects '{"at":1795514332997,"t":"done"}')
  end)
  it("are taken out: of a private key all lines, to the end of the text where its last line is missing", function()
    local function key(kind) return ("-----BEGIN %sPRIVATE KEY-----\nMIIE\nabc=\n-----END %sPRIVATE KEY-----"):format(kind, kind) end
    assert.equal("a {key}\nand {key}, then z",
      secrets.clean("a " .. key "RSA " .. "\nand " .. key "" .. ", then z"))
    assert.equal("a {key}", secrets.clean "a -----BEGIN EC PRIVATE KEY-----\nMIIE\nabc")
  end)
  it("are taken out of the keys of a record's values, too", function()
    local entry = { t = "done", set = { ["sk-aaaaaaaaaaaaaaaaaaaa0001"] = "sk-aaaaaaaaaaaaaaaaaaaa0002" } }
    secrets.take_out(entry)
    assert.same({ t = "done", set = { ["{key}"] = "{key}" } }, entry)
  end)
end)
