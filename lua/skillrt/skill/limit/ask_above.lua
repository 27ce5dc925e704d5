-- skill/limit/ask_above.lua: how many agents a workflow script may ask at once without asking a person first.
-- skill/workflow/script.lua asks, before any of them is sent.

---@type skillrt.Limit
return { name = "ask_above", type = "count", default = 25, unit = "agents",
  text = "a workflow script that asks for more agents at once asks a person first; 0: it does not" }
