-- skill/limit/max_retries.lua: how often a failed attempt of a step or call is retried. skill/retry.lua decides when
-- the next one starts, or that there is none.

---@type skillrt.Limit
return { name = "max_retries", type = "count", default = 3, unit = "attempts",
  text = "attempts of a step after the first" }
