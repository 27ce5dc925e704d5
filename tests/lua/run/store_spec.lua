-- store_spec.lua: the contract of a run's store: what run/store.lua promises, asked of each kind of store that there is.
-- Another kind is one more line of STORES: how a place of its own is named, and a folder of runs.
local R = require "tests.support.runs"
local core = require "skillrt.core"
local store_of = require "skillrt.run.store"

local STORES <const> = {
  directory = function()
    local folder = R.folder()
    return function(name) return store_of.at(folder .. "/" .. name) end, folder
  end,
}

-- Makes records durable and stops; `asked` is called while it is loaded, with the policy.
local function policy_of(records, asked, ending)
  local self = { out = {}, blobs = {}, seen = {} }
  function self.record(_, payload) table.insert(self.seen, payload) end
  function self.load()
    if asked then
      asked(self)
    end
    table.move(records, 1, #records, 1, self.out)
  end
  function self.choose()
    self.in_choice = { self.read_record(1) }
    table.insert(self.out, ending and '{"t":"stop"}') -- what is listed comes with a record
    return "stop", table.unpack(ending or { "completed", "task_completed" })
  end
  function self.save() return {} end
  function self.durable() end
  function self.stop() end
  return self
end

local function append(store, mode, records, asked, ending)
  local policy = policy_of(records, asked, ending)
  local run <close> = assert(store:open(policy, { mode = mode, run_id = "r1" }))
  run:wait()
  assert.equal(ending and ending[1] or "completed", (run:status()))
  return policy
end

local function payloads(store, wishes)
  local list = {}
  local report, message, code = store:read(function(payload, seq)
    list[#list + 1] = { seq, payload }
    return true
  end, wishes)
  return report and list, message, code, report
end

local function names_of(arrivals)
  local names = {}
  for i, arrival in ipairs(arrivals) do
    names[i] = arrival.name
  end
  return names
end

for kind, new in pairs(STORES) do
  describe("a store (" .. kind .. ")", function()
    local at, folder
    before_each(function() at, folder = new() end)
    after_each(R.clean)

    it("is nothing before a run was begun in it", function()
      local store = at "a"
      assert.is_false(store:exists())
      assert.is_nil(store:holder())
      assert.same({ 0, {}, {} }, { store:waiting(), store:take(), store:cuts() })
      assert.same({ "missing", "missing" }, { select(3, payloads(store)),
        (select(3, store:open(policy_of {}, { mode = "resume" }))) })
    end)

    it("reads what was appended, in order, whole or from a record on, and one by its number", function()
      local store, found = at "a", {}
      append(store, "create", { '{"a":1}', '{"b":2}' })
      local policy = append(at "a", "resume", { '{"c":3}' }, function(policy)
        for seq = 1, 2 do
          found[seq] = policy.read_record(seq)
        end
        found.none = select(3, policy.read_record(99))
      end)
      assert.same({ '{"a":1}', '{"b":2}', none = "missing" }, found)
      assert.same({ '{"a":1}', '{"b":2}' }, policy.seen)
      local list, _, _, report = payloads(store)
      assert.same({ '{"a":1}', '{"b":2}', '{"c":3}' }, { list[1][2], list[2][2], list[3][2] })
      assert.same({ 3, "r1" }, { report.records, report.run_id })
      assert.same({ list[3] }, payloads(store, { from = list[2][1] + 1 }))
      assert.same({ "invalid", "invalid" }, { policy.in_choice[3], (select(3, policy.read_record(1))) })
    end)

    it("takes a value apart before the record that names it", function()
      local store, digest, text = at "a", core.sha256 "large", nil
      local policy = policy_of { '{"a":1}' }
      policy.blobs[1] = { digest, "large" }
      do
        local run <close> = assert(store:open(policy, { mode = "create", run_id = "r1" }))
        run:wait()
      end
      local wishes = {}
      store:read(function()
        text = wishes.blob(digest)
        assert.same({ nil, "corrupt" }, { wishes.blob(("0"):rep(64)), select(3, wishes.blob(("0"):rep(64))) })
        return true
      end, wishes)
      assert.equal("large", text)
    end)

    it("is advanced by one process, which it names, and begun once", function()
      local store = at "a"
      do
        local run <close> = assert(store:open(policy_of { "{}" }, { mode = "create", run_id = "r1" }))
        local holder = assert(at("a"):holder())
        assert.equal("integer", math.type(holder.pid))
        assert.equal("busy", select(3, at("a"):open(policy_of {}, { mode = "resume" })))
        run:wait()
      end
      assert.is_nil(store:holder())
      assert.equal("exists", select(3, store:open(policy_of {}, { mode = "create", run_id = "r2" })))
    end)

    it("lists the runs of a folder, and no more: first those that were not stopped in order, then the newest", function()
      local about = '{"at":%d,"steps":1}'
      append(at "b", "create", { "{}" }, nil, { "paused", "waiting_for_time", 5000, about:format(8) })
      append(at "a", "create", { "{}" }, nil, { "completed", "task_completed", 0, about:format(9) })
      append(at "c", "create", { "{}" })
      append(at "c", "resume", { "{}" }, nil, { "paused", "user_exit" })
      os.execute(("mkdir '%s/other'"):format(folder))
      local function listed(most)
        local list = {}
        assert(store_of.list(folder, function(place, status, is_held, problem, time, rest)
          assert.is_nil(problem)
          list[#list + 1] = table.concat({ place:match "[^/]+$", status, tostring(is_held), time or "-", rest or "-" }, " ")
          return #list ~= most
        end))
        return list
      end
      local c, a = "c paused false - -", 'a completed false 9 {"steps":1}'
      assert.same({ c, a, 'b paused false 8 {"steps":1}' }, listed())
      assert.same({ c, a }, listed(2))
      do
        local run <close> = assert(at("b"):open(policy_of { "{}" }, { mode = "resume" }))
        local list = listed()
        table.sort(list)
        assert.same({ a, "b executing true - -", c }, list)
        run:step()
      end
      append(at "b", "resume", { "{}" }, nil, { "paused", "user_exit", 0, about:format(10) })
      assert.same({ c, 'b paused false 10 {"steps":1}', a }, listed())
      assert.equal("raised", select(2, pcall(store_of.list, folder, function() error("raised", 0) end)))
      assert.equal("missing", select(3, store_of.list(folder .. "/none", print)))
    end)

    it("puts a run aside, so that another one may begin", function()
      append(at "a", "create", { '{"a":1}' })
      assert.equal(at("a.r1").place, at("a"):put_aside "r1")
      append(at "a", "create", { '{"b":2}' })
      assert.equal("exists", select(3, at("a"):put_aside "r1"))
      assert.equal('{"a":1}', payloads(at "a.r1")[1][2])
    end)

    it("gives each arrival once, oldest first, and again to another process until it is acknowledged", function()
      local store = at "a"
      assert.is_nil((store:put { event = "none", id = "n" }))
      assert(store:make())
      local first = assert(store:put { event = "one", id = "x/y" })
      core.terminal.pause(5)
      local second = assert(store:put({ event = "two" }, true))
      assert.equal(2, store:waiting())
      local list, whole = store:take()
      assert.same({ first, second }, names_of(list))
      assert.is_true(whole)
      assert.same({ event = "one", id = "x/y" }, core.json.decode(list[1].text))
      assert.same({}, store:take())
      assert.same({ first, second }, names_of(at("a"):take()))
      store:acknowledge(first)
      assert.same({ "taken", "waits", 1 }, { store:fate(first), store:fate(second), store:waiting() })
      store:refuse(second)
      assert.same({ "refused", 0 }, { store:fate(second), store:waiting() })
      assert.same({}, at("a"):take())
    end)

    it("gives an arrival that is too long as a problem", function()
      local store = at "a"
      assert(store:make())
      assert(store:put { event = "one", value = ("x"):rep(2 << 20) })
      local list, whole = store:take()
      assert.same({ 1, nil, true }, { #list, list[1].text, whole })
      assert.is_string(list[1].problem)
    end)

    it("tells of what is appended, from before the run begins on", function()
      local store = at "a"
      assert(store:make())
      local watch = store:changes()
      assert.same({ true, false }, { watch:changed(), watch:changed() })
      append(at "a", "create", { "{}" })
      assert.is_true(watch:wait(5000))
      while watch:wait(300) do end
      append(at "a", "resume", { "{}" })
      assert.is_true(watch:wait(5000))
    end)

    it("keeps files by their names, and those of a run within it apart", function()
      local store = at "a"
      assert(store:make() and store:below("2/1"):make())
      assert(store:keep("deep/a.txt", "one", true))
      assert(store:below("2/1"):keep("deep/a.txt", "two"))
      assert.same({ "one", "two" }, { store:kept "deep/a.txt", (store:below("2/1"):kept "deep/a.txt") })
      assert.equal("limit", select(3, store:kept("deep/a.txt", 2)))
      assert.same({ "file", 3 }, { store:stat("deep/a.txt").kind, store:stat("deep/a.txt").size })
      assert(store:move("deep/a.txt", "deep/b.txt", true))
      assert(store:settle "deep/b.txt")
      assert.same({ "missing", "one" }, { select(3, store:kept "deep/a.txt"), (store:kept "deep/b.txt") })
      assert(store:remove "deep/b.txt")
      assert.equal("missing", select(3, store:stat "deep/b.txt"))
      assert.same({ "missing", "invalid" }, { select(3, store:remove "deep/b.txt"), (select(3, store:remove "deep")) })
      assert.equal("directory", store:stat("deep").kind)
      assert.equal("invalid", select(3, store:keep("../out.txt", "x")))
    end)
  end)
end

describe("a run's inbox that cannot be looked at", function()
  after_each(R.clean)

  it("is no reason to say that an arrival was taken or refused", function()
    local folder = R.folder()
    assert(os.execute(("ln -s inbox '%s/inbox'"):format(folder)))
    assert.equal("waits", store_of.at(folder):fate "1.json")
  end)
end)

describe("a store in memory", function()
  after_each(R.clean)

  it("keeps no record and no arrival", function()
    local store, answer = store_of.at(R.folder() .. "/run", true), nil
    append(store, "create", { "{}" }, function(policy)
      answer = { policy.read_record(1) }
      assert.error_matches(function() policy.read_record(-1) end, "a record's number")
    end)
    assert.equal("missing", answer[3])
    assert.is_false(store:exists())
  end)
end)
