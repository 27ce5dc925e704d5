-- skill/limit/max_parallel.lua: how many steps may be open at once. Others wait until one is over: the scheduler
-- counts those that the books call open.

---@type skillrt.Limit
return { name = "max_parallel", type = "positive", default = 4, unit = "steps", text = "steps that run at once" }
