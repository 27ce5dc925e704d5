-- run/call/kind/run.lua: another skill's run, as a scope of this one. Found by its name.
--
-- run/subs.lua opens the scope before anything else is chosen, and ends the call. Knows no skill.

local result = require("skillrt.run.call.result")

local function begin(calls, call)
  call:become("asked")
  calls.opening[#calls.opening + 1] = call
end

---@type skillrt.CallKind
return {
  begin = begin,
  take_up = begin,
  value = function(call, entry)
    return result.copy(call, entry.reply)
  end,
  give_up = function(calls, _, open)
    local scope = open and calls.scopes[open.sub]
    if scope then
      scope:cancel()
    end
    return not open -- else its scope ends first; one that is not taken up yet is taken up before
  end,
}
