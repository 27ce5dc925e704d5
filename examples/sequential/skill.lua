-- skill.lua: phases in their order: a parallel pair of programs, a phase with a condition, outputs
-- that later phases read.
--
--   skillrt examples/sequential/skill.lua [--set file=PATH]

local skillrt = require "skillrt"

return skillrt.skill {
  name = "about-a-text",
  mode = "sequential",
  agents = {
    words = skillrt.agent.command { "wc", "-w", "{state.path}" },
    digest = skillrt.agent.command { "sha256sum", "{state.path}", idempotent = true },
  },
  phases = {
    -- A phase returns its output, and after it the updates of the state.
    {
      id = "lines",
      run = function(_, ctx)
        local path = ctx.input.file or (ctx.dir .. "/text.txt")
        local text, message = ctx.read(path)
        if not text then
          return nil, message
        end
        local count, longest = 0, ""
        for line in text:gmatch "[^\n]+" do
          count = count + 1
          longest = #line > #longest and line or longest
        end
        return { count = count, longest = longest }, { path = path }
      end,
    },
    -- Neighbours marked parallel run at once; the next phase waits for both.
    { id = "words", parallel = true, agent = "words", output = "words.txt" },
    { id = "digest", parallel = true, agent = "digest", output = "digest.txt" },
    -- Left out, and recorded as left out, where the condition does not hold.
    {
      id = "warn", when = "outputs.lines.count > 1000", output = "warning.md",
      run = function(state)
        return ("A long text: %d lines.\n"):format(state.outputs.lines.count)
      end,
    },
    {
      id = "summary", input = { "lines.json", "words.txt", "digest.txt" }, output = "summary.md",
      run = function(state, ctx)
        local lines, words = state.outputs.lines, math.tointeger(tonumber(state.outputs.words:match "%d+"))
        ctx.log(("%d lines, %d words"):format(lines.count, words))
        return ("# %s\n\n- %d lines that hold something, %d words\n- the longest line: %s\n- SHA-256: `%s`\n"):format(
          state.path:match "[^/]+$", lines.count, words, lines.longest, state.outputs.digest:match "^%x+"
        )
      end,
    },
  },
}
