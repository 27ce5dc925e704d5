-- skill/limit/max_agents.lua: how many agents a workflow may ask for. skill/workflow/script.lua counts what the
-- script asks for, and answers it with an error beyond that.

---@type skillrt.Limit
return { name = "max_agents", type = "positive", default = 1000, unit = "agents",
  text = "agent calls of a workflow in total" }
