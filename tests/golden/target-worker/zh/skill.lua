-- target-worker: 在本目录执行 `skillrt run .` 或 `skillrt skill.lua`。
-- 读取同目录的 skill-config.json；提示词是 phases/ 中的文件。
local skillrt = require "skillrt"
local folder = debug.getinfo(1, "S").source:match "^@(.*)/[^/]*$" or "."

return skillrt.from_config(folder .. "/skill-config.json", { folder = folder })
