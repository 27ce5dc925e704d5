-- run/calls/shown.lua: what people who watch see of what arrives for a call: as it is, or as its request makes it.
--
-- Only shown, never kept. Called by policy.lua.

local M = {}

---@param watcher table|nil
---@param call skillrt.Call|nil
---@param text string
function M.tell(watcher, call, text)
  if not (watcher and watcher.progress and call) then
    return
  end
  local show = call.request and call.request.show
  text = not show and text or show and show(text)
  if text then
    watcher.progress(call.step.id, text)
  end
end

return M
