-- skill/limit/ask_above_usd.lua: how much the agents that a workflow script asks for at once may cost, estimated from
-- earlier ones, without asking a person first. skill/workflow/script.lua asks.

---@type skillrt.Limit
return { name = "ask_above_usd", type = "amount", unit = "dollars",
  text = "a workflow script asks a person before agents that may cost more together, by what those before them cost" }
