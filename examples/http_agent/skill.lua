-- skill.lua: an agent behind a URL writes and reviews a paragraph until it is content with it.
--
--   build/release/examples/http_agent/agent 8080 &
--   skillrt examples/http_agent/skill.lua --set agent=http://127.0.0.1:8080/task

local skillrt = require "skillrt"

return skillrt.skill {
  name = "write-a-paragraph",
  state = { subject = "journals", revision = 0, approved = false },
  agents = {
    writer = skillrt.agent.http { url = "{input.agent}", timeout = 30 },
  },
  actions = {
    { id = "draft", when = "!draft", agent = "writer", prompt = "prompts/draft.md", effects = { "draft" } },
    {
      id = "review", when = "draft && !approved", max_runs = 5,
      agent = "writer", prompt = "prompts/review.md",
    },
    {
      id = "publish", when = "approved", effects = { "published" },
      run = function(state, ctx)
        local ok, message = ctx.write("paragraph.md", state.draft .. "\n")
        if not ok then
          return nil, message
        end
        ctx.log(("paragraph.md, revision %d"):format(state.revision))
        return { published = true }
      end,
    },
  },
  retry = { base = 0.1 },
}
