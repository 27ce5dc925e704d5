-- passing_time.lua: a world for runs whose transports are real and whose waits are not: time goes by at once when
-- nothing is under way. Required by specs of runs in their first line, as it takes the places of the core's clocks.
local clock = require "skillrt.base.fake_clock"
local core = require "skillrt.core"
local pause = require "skillrt.run.turn.pause"

local M = { clock = clock }

local World = {}
World.__index = World

function World.takes() return false end
function World.dress() end
function World.opened() end

function World.idle(_, policy)
  local at = pause.due_at(policy)
  if at then
    clock.pass(math.max(0, at - core.mono_ms()) / 1000)
  end
  return at ~= nil
end

function M.new()
  return setmetatable({}, World)
end

return M
