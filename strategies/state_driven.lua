-- state_driven: what the state requires next (R93): a pending run is set up, pending items are processed, what needs
-- a review is reviewed, then it is completed.
--
-- The ids are conventional; options = { init = "collect", ... } names others. Only available actions are chosen: if
-- one is not, the next rule decides.

local DEFAULTS = {
  init = "action-init",
  process = "action-process",
  review = "action-review",
  complete = "action-complete",
}

-- What counts as true in the conditions of a skill: not false, null, 0, NaN or "".
local function truthy(value)
  local kind = type(value)
  if kind == "number" then
    return value == value and value ~= 0
  elseif kind == "string" then
    return value ~= ""
  end
  return kind == "table" or value == true
end

local function has_items(value)
  return type(value) == "table" and #value > 0
end

return {
  name = "state_driven",
  description = "pending: action-init; pending_items: action-process; needs_review: action-review; "
    .. "else action-complete",
  decides_end = true, -- the rest is action-complete
  select = function(state, available, ctx)
    local options = ctx and ctx.options or {}
    local wanted = {}
    local reasons = {}
    local function rule(holds, role, why)
      if holds then
        wanted[#wanted + 1], reasons[#wanted + 1] = options[role] or DEFAULTS[role], why
      end
    end
    rule(state.status == "pending", "init", "status is pending")
    rule(has_items(state.pending_items), "process", "pending_items holds something")
    rule(truthy(state.needs_review), "review", "needs_review is set")
    rule(true, "complete", "nothing else is asked for")
    for i, id in ipairs(wanted) do
      if available:has(id) then
        return id, reasons[i]
      end
    end
    return nil, "state_driven: the state asks for " .. table.concat(wanted, " or ") .. ", which cannot run now"
  end,
}
