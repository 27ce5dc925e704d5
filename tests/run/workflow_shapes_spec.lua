-- workflow_shapes_spec.lua: the shapes that scripts of `.claude/workflows` have, each as a script of its own: it runs as it
-- stands, and killed behind any record it comes to the same end, without asking an agent again that had answered.
local R = require "tests.support.runs"
local W = require "tests.support.workflows"
local json = require "skillrt.base.json"
local skillrt = require "skillrt"

local LIST <const> = "{ schema: { type: 'object', required: ['list'], properties: { list: { type: 'array', "
  .. "items: { type: 'string' } } } } }"
local VOTE <const> = "{ schema: { type: 'object', required: ['real'], properties: { real: { type: 'boolean' } } } }"

-- What a script does; its body; its result; how many agents it asks.
local SHAPES <const> = {
  { "a finder for each dimension, one judge behind them", [=[
    const DIMENSIONS = [{ key: 'bugs', prompt: 'say b' }, { key: 'speed', prompt: 'say s' }]
    const found = await parallel(DIMENSIONS.map(d => () => agent(d.prompt, { label: `find:${d.key}`, phase: 'Find' })))
    return await agent(`merge ${found.filter(Boolean).join('')}`)]=], "bs", 3 },
  { "each finding is voted on by skeptics of its own", [=[
    const { list } = await agent('find {"list":["a","b"]}', LIST)
    const kept = await pipeline(list,
      one => parallel([1, 2, 3].map(n => () => agent(`vote ${n} on ${one} {"real":${one === 'a' || n === 1}}`, VOTE))),
      (votes, one) => votes.filter(Boolean).filter(v => v.real).length >= 2 ? one : null)
    return kept.filter(Boolean)]=], { "a" }, 7 },
  { "rounds until nothing new is found", [=[
    const seen = new Set()
    for (let round = 0, dry = 0; round < 6 && dry < 2; round++) {
      const { list } = await agent(`round ${round} {"list":["${'ab'[round] ?? 'a'}"]}`, LIST)
      const fresh = list.filter(one => !seen.has(one))
      dry = fresh.length ? 0 : dry + 1
      for (const one of fresh) seen.add(one)
      log(`round ${round}: ${fresh.length} new`)
    }
    return [...seen].sort()]=], { "a", "b" }, 4 },
  { "a bound of its budget, which nobody gave", [=[
    const out = []
    while (out.length < 3 && (!budget.total || budget.remaining() > 50_000)) out.push(await agent(`say w${out.length}`))
    return [out.length, budget.total, budget.remaining() === Infinity]]=], { 3, json.null, true }, 3 },
  { "arguments that came as a text", [=[
    let given = args
    if (typeof given === 'string') { try { given = JSON.parse(given) } catch { given = { scope: given } } }
    if (!given?.scope) return { error: 'no scope' }
    return { said: await agent(`say ${given.scope}`) }]=], { said = "core" }, 1, args = { "core" } },
  { "an early end where its arguments are missing", "if (!args || !args.slug) return { verdict: 'SKIP', reason: 'no slug' }",
    { verdict = "SKIP", reason = "no slug" }, 0 },
  { "batches, one behind the other", [=[
    const items = Array.from({ length: 5 }, (_, i) => `i${i}`), out = []
    for (let i = 0; i < items.length; i += 2) {
      phase(`Batch ${i / 2 + 1}`)
      out.push(...await parallel(items.slice(i, i + 2).map(item => () => agent(`say ${item}`))))
    }
    return out.length]=], 5, 5 },
  { "a loop that mends until its check is green", [=[
    let state = 'red', round = 0
    const log_ = []
    do {
      round++
      await agent(`mend in round ${round}`, { label: `fix:${round}` })
      state = await agent(`check round ${round}: ${round < 3 ? 'red' : 'green'}`, { label: `check:${round}` })
      log_.push(state)
    } while (state !== 'green' && round < 5)
    return { round, log_ }]=], { round = 3, log_ = { "red", "red", "green" } }, 6 },
  { "an agent that fails is left out, and said", [=[
    const results = await parallel([() => agent('say a'), () => agent('fail'), () => agent('say c')])
    const lost = results.filter(r => r === null).length
    if (lost) log(`lost: ${lost}`)
    return results.map(r => r ?? 'none')]=], { "a", "none", "c" }, 3, failed = 1 },
  { "an error that is caught, and another way that is taken", [=[
    const ask = async (name) => { try { return await agent(`try ${name} {"list":1}`, LIST) } catch (e) { return { list: [name] } } }
    const { list } = await ask('x')
    return list]=], { "x" }, 6, failed = 1 },
  { "helpers, classes and tables of its own", [=[
    class Board { #rows = new Map(); put(key, value) { this.#rows.set(key, [...(this.#rows.get(key) ?? []), value]); return this }
      get text() { return [...this.#rows].map(([k, v]) => `${k}=${v.join('+')}`).sort().join(' ') } }
    const board = new Board()
    const visit = async (node, depth = 0) => {
      board.put(depth, await agent(`say ${node.name}`))
      for (const child of node.children ?? []) await visit(child, depth + 1)
    }
    await visit({ name: 'r', children: [{ name: 'x' }, { name: 'y', children: [{ name: 'z' }] }] })
    return board.text]=], "0=r 1=x+y 2=z", 4 },
  { "stages that each get the item and its index", [=[
    return await pipeline(['a', 'b'], (item, _, i) => agent(`say ${item}${i}`),
      (said, item, i) => ({ said, item, i }), async ({ said, item, i }) => [await agent(`say ${said}${item}`), i])]=],
    { { "a0a", 0 }, { "b1b", 1 } }, 4 },
  { "fan-out inside of fan-out", [=[
    const areas = await parallel(['p', 'q'].map(area => async () => {
      const parts = await parallel([1, 2].map(n => () => agent(`say ${area}${n}`)))
      return agent(`sum ${parts.join('')}`)
    }))
    return areas.join(' ')]=], "p1p2 q1q2", 6 },
  { "the first answer that is good, of several ways", [=[
    const ways = ['no', 'yes', 'maybe']
    for (const [i, way] of ways.entries()) {
      const said = await agent(`answer ${way}`, { label: `way ${i + 1}` })
      if (/^y/.test(said)) return { way: i, said }
    }]=], { way = 1, said = "yes" }, 2 },
  { "a report of tables and templates", [=[
    const rows = await Promise.all(['x', 'yy'].map(async name => ({ name, said: await agent(`say ${name}`) })))
    const width = Math.max(...rows.map(r => r.name.length))
    return ['# Report', ...rows.map(r => `| ${r.name.padEnd(width)} | ${r.said.toUpperCase()} |`)].join('\n')]=],
    "# Report\n| x  | X |\n| yy | YY |", 2 },
  { "a panel of which the median counts", [=[
    const marks = (await parallel([3, 1, 2].map(n => () => agent(`mark ${n}`)))).filter(Boolean).map(Number).sort((a, b) => a - b)
    return { median: marks[marks.length >> 1], spread: marks.at(-1) - marks[0] }]=], { median = 2, spread = 2 }, 3 },
  { "one task of many by their dependencies", [=[
    const tasks = { c: ['a', 'b'], a: [], b: ['a'] }, done = new Map()
    const run = (id) => { if (!done.has(id)) done.set(id, Promise.all(tasks[id].map(run)).then(said => agent(`do ${said.join('')}${id}`)))
      return done.get(id) }
    return await run('c')]=], "aabc", 3 },
  { "a producer and its reviewer, who sends it back", [=[
    let draft = await agent('draft v1')
    for (const [i, verdict] of ['revise', 'pass'].entries()) {
      const said = await agent(`review ${draft}: ${verdict}`)
      if (said === 'pass') break
      draft = await agent(`revise v${i + 2}`)
    }
    return draft]=], "v2", 4 },
}

describe("a workflow script with", function()
  after_each(R.clean)

  for _, shape in ipairs(SHAPES) do
    it(shape[1], function()
      local folder = R.folder()
      local body = shape[2]:gsub("LIST", (LIST:gsub("%%", "%%%%"))):gsub("VOTE", (VOTE:gsub("%%", "%%%%")))
      local function skill() return assert(W.load(folder, body)) end
      local dir = folder .. "/run"
      local result = assert(skill():run { work_dir = dir, args = shape.args })
      assert.equal(shape.failed and "failed" or "completed", result.status, result.message)
      assert.same(shape[3], json.decode(json.encode(result.state.result)))
      assert.equal(shape[4], W.asked(folder))
      local count = #R.records(dir)
      for keep = 2, count - 1, math.max(1, W.EACH == 1 and 1 or count // 3) do
        local cut, known = folder .. "/cut" .. keep, 0
        R.cut(dir, cut, keep)
        local commands = {}
        for _, record in ipairs(R.records(cut)) do
          commands[record.c or ""] = commands[record.c or ""] or record.t == "call" and record.kind == "command"
          known = known + (record.t == "result" and commands[record.c] and 1 or 0)
        end
        R.write(folder .. "/agent.asked", "")
        result = assert(skillrt.resume(cut, { skill = skill() }))
        assert.same(shape[3], json.decode(json.encode(result.state.result)), "cut behind " .. keep)
        assert.equal(shape[4] - known, W.asked(folder), ("cut behind record %d of %d"):format(keep, count))
      end
    end)
  end
end)
