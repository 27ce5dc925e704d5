local message = require("skillrt.run.message")

describe("a message of a session", function()
  it("is told by its id and its method", function()
    assert.same({ "answer", "7" }, { message.read(nil, '{"id":7,"result":{}}', false) })
    assert.same({ "answer", '"a\\n"' }, { message.read(nil, '{"result":1,"id":"a\\u000a"}', false) })
    assert.same({ "question", "0" }, { message.read(nil, '{"method":"x","id":0}', false) })
    for _, text in ipairs({ '{"method":"x"}', "{}", '{"id":1.5}', '{"id":null}', '{"id":{}}', '{"inner":{"id":1}}',
      ('{"id":"%s"}'):format(("x"):rep(300)) }) do
      assert.equal("notice", (message.read(nil, text, false)), text)
    end
  end)

  it("has one key however its id was written, and a text is no number", function()
    assert.equal(message.key("ba"), select(2, message.read(nil, '{"id":"b\\u0061"}', false)))
    assert.not_equal(message.key(7), message.key("7"))
    assert.is_nil(message.key(1.5))
  end)

  it("may be several, or none at all", function()
    assert.same({ "list", nil, nil, { '{"id":1}', '{"id":2}' } }, { message.read(nil, '[{"id":1}, 3, {"id":2}]', false) })
    for _, text in ipairs({ "", "word", '"text"', "7", "[]", '{"id":1', '{"id":1}{"id":2}' }) do
      assert.same({ "list", nil, nil, {} }, { message.read(nil, text, false) }, text)
    end
  end)

  it("that asks what is known is answered at once", function()
    local user = { replies = { ping = "{}" } }
    assert.same({ "question", '"p"', '{"jsonrpc":"2.0","id":"p","result":{}}' },
      { message.read(user, '{"id":"p","method":"ping"}', false) })
    assert.same({ "question", '"p"' }, { message.read(user, '{"id":"p","method":"pong"}', false) })
  end)

  it("that answers the opening says which headers follow, or that there is no session", function()
    local user = { opened = function(answer)
      if answer.result then
        return { ["X-Version"] = answer.result }
      end
      return nil, "refuses"
    end }
    assert.same({ "answer", "1", nil, { "X-Version: 7" } }, { message.read(user, '{"id":1,"result":"7"}', true) })
    assert.same({ "answer", "1", nil, {}, "refuses" }, { message.read(user, '{"id":1,"error":{}}', true) })
    assert.same({ "answer", "1" }, { message.read(user, '{"id":1,"error":{}}', false) })
  end)

  it("of an opening is answered where it asks something", function()
    assert.same({ '"open"', "", "" }, message.keys({ '{"id":"open","method":"x"}', '{"method":"y"}', "word" }))
    assert.is_true(message.answers('{"id":1,"result":{}}'))
    assert.is_false(message.answers('{"id":1,"method":"x"}'))
    assert.is_false(message.answers("word"))
  end)
end)
