-- skill/limit/max_agents.lua: how many agents a workflow may ask for. skill/workflow/script.lua counts them, and
-- answers further requests with an error.

---@type skillrt.Limit
return { name = "max_agents", type = "positive", default = 1000, unit = "agents",
  text = "agent calls of a workflow in total" }
