-- skill/limit/max_prompt_specs.lua: how much of `specs` a prompt contains; run/task.lua names the files of the rest.

---@type skillrt.Limit
return { name = "max_prompt_specs", type = "count", default = 65536, unit = "bytes",
  text = "bytes of `specs` in a prompt; documents beyond that are named, not quoted" }
