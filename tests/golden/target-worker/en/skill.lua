-- target-worker: run with `skillrt run .` in this folder, or `skillrt skill.lua`.
-- Reads skill-config.json beside it; prompts are the files in phases/.
local skillrt = require "skillrt"
local folder = debug.getinfo(1, "S").source:match "^@(.*)/[^/]*$" or "."

return skillrt.from_config(folder .. "/skill-config.json", { folder = folder })
