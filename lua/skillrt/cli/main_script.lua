-- cli/main_script.lua: `lua5.4 skill.lua ARGUMENTS` does what `skillrt skill.lua ARGUMENTS` does.
--
-- The program `lua` drops what its script returns. But `return skillrt.skill { ... }` is a tail call: the constructor
-- is then called by the program itself, with no script function above it. Called by init.lua.

local M = {}

---Runs the script and ends the process, if the constructor's call was the script's last action.
---@param arguments string[]  the arguments of the program; 0: the script
function M.run(arguments)
  if debug.getinfo(2, "t").istailcall and not debug.getinfo(4, "S") then
    os.exit(require("skillrt.cli").main("run", table.unpack(arguments, 0)), true)
  end
end

return M
