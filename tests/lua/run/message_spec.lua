local message = require("skillrt.run.message")

describe("a message of a session", function()
  it("is told by its id and its method", function()
    local function read(text)
      local form, key = message.read(text)
      return form .. " " .. tostring(key)
    end
    assert.equal("answer 7", read('{"id":7,"result":{}}'))
    assert.equal('answer "a\\n"', read('{"result":1,"id":"a\\u000a"}'))
    assert.equal("question 0", read('{"method":"x","id":0}'))
    for _, text in ipairs({ '{"method":"x"}', "{}", '{"id":1.5}', '{"id":null}', '{"id":{}}', '{"inner":{"id":1}}' }) do
      assert.equal("notice nil", read(text), text)
    end
  end)

  it("has one key however its id was written, and a text is no number", function()
    assert.equal(message.key("ba"), select(2, message.read('{"id":"b\\u0061"}')))
    assert.not_equal(message.key(7), message.key("7"))
    assert.is_nil(message.key(1.5))
  end)

  it("may be several, or none at all", function()
    local form, key, list = message.read('[{"id":1}, 3, {"id":2}]')
    assert.same({ "list", nil, { '{"id":1}', '{"id":2}' } }, { form, key, message.parts(list) })
    for _, text in ipairs({ "", "word", '"text"', "7", "[]", '{"id":1', '{"id":1}{"id":2}' }) do
      form, key, list = message.read(text)
      assert.same({ "list", nil, {} }, { form, key, message.parts(list) }, text)
    end
  end)
end)
