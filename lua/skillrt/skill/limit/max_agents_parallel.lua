-- skill/limit/max_agents_parallel.lua: how many agents of a workflow are asked at once; others wait.

---@type skillrt.Limit
return { name = "max_agents_parallel", type = "positive", default = 16, unit = "agents",
  text = "agents of a workflow that run at once" }
