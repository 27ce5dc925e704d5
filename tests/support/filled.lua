-- filled.lua: the specs of a generated folder, filled in as a person would: no run starts with outlines.
--
-- Used by specs that run what skillrt generates.
local files = require "skillrt.base.files"
local json = require "skillrt.base.json"

---@param dir string  of the skill
return function(dir)
  local config = assert(json.decode(assert(files.read(dir .. "/skill-config.json"))))
  for _, spec in ipairs(config.specs or {}) do
    local path = dir .. "/" .. spec.path
    local file <close> = assert(io.open(path, "a"))
    assert(file:write("\nWrite short sentences.\n"))
  end
end
