-- skill/limit/max_parallel.lua: how many steps may be open at once. Others wait until one has finished: the scheduler
-- counts the open steps of the books.

---@type skillrt.Limit
return { name = "max_parallel", type = "positive", default = 4, unit = "steps", text = "steps that run at once" }
