-- skill/limit/max_retries.lua: how often a failed attempt of a step or call is repeated. skill/retry.lua says when
-- the next one begins, and that there is none.

---@type skillrt.Limit
return { name = "max_retries", type = "count", default = 3, unit = "attempts",
  text = "attempts of a step after the first" }
