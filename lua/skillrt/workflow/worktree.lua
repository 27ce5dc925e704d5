-- workflow/worktree.lua: a git worktree for one agent: made before it begins, removed when the agent left it as
-- it was, else kept and named (`isolation`).
--
-- Each step of it is a call that may be made again: after a crash the worktree that was there is found again.
-- It is cut from the commit that the run was begun on, in the repository that the run was begun in. Functions
-- over ctx; knows git, no agents.

local M = {}

local FIND <const> = [[
cd "$1" || exit 1
git rev-parse --show-toplevel HEAD
git status --porcelain | head -n 20]]

-- By force: a crash may have left its name in the repository. Nothing is pruned, others may be about to begin.
local MAKE <const> = [[
[ -e "$1/.git" ] && exit 0
mkdir -p "$(dirname "$1")"
git -C "$2" worktree add --force --quiet --detach "$1" "$3"]]

-- What is not committed, and what was committed there, is work.
local END <const> = [[
[ -e "$1/.git" ] || { echo removed; exit 0; }
if [ -z "$(git -C "$1" status --porcelain)" ] && [ "$(git -C "$1" rev-parse HEAD)" = "$3" ]; then
  git -C "$2" worktree remove "$1" && echo removed
else
  echo kept
fi]]

local function git(ctx, script, ...)
  local reply, message, class = ctx.await {
    kind = "command",
    argv = { "sh", "-c", script, "sh", ... },
    idempotent = true,
    retry = { max = 2 },
    timeout = 300,
    shown = "git worktree",
  }
  if not reply then
    return nil, "worktree: " .. message, class
  end
  return reply.stdout
end

---@class skillrt.workflow.Base
---@field repository string  its folder
---@field commit string
---@field open string[]      what is not committed there, as `git status` says it

---Where worktrees of a run are cut from.
---@param ctx table
---@param folder string
---@return skillrt.workflow.Base|nil base
---@return string? message
---@return string? class
function M.base(ctx, folder)
  local told, message, class = git(ctx, FIND, folder)
  if not told then
    return nil, message, class
  end
  local lines = {}
  for line in told:gmatch("[^\n]+") do
    lines[#lines + 1] = line
  end
  if #lines < 2 then
    return nil, ("worktree: %s has no commit to begin from"):format(folder), "permanent"
  end
  return { repository = lines[1], commit = lines[2], open = table.move(lines, 3, #lines, 1, {}) }
end

---Performs something in a worktree of its own.
---@param ctx table
---@param base skillrt.workflow.Base
---@param path string
---@param perform fun(path: string): any, string?, string?
---@return any value
---@return string? message
---@return string? class
---@return boolean? kept
function M.within(ctx, base, path, perform)
  local made, problem, kind = git(ctx, MAKE, path, base.repository, base.commit)
  if not made then
    return nil, problem, kind
  end
  local value, message, class = perform(path)
  local ended, why = git(ctx, END, path, base.repository, base.commit)
  local kept = not ended or ended:find("kept", 1, true) ~= nil
  if kept then
    ctx.log(("worktree kept: %s%s"):format(path, why and (" (%s)"):format(why) or ""))
  end
  return value, message, class, kept
end

return M
