-- skill/limit/max_prompt_state.lua: how much of a state field an agent is shown; run/task.lua truncates the rest.

---@type skillrt.Limit
return { name = "max_prompt_state", type = "positive", default = 65536, unit = "bytes",
  text = "bytes of one state field in a prompt" }
