-- skill/workflow/worktree.lua: a git worktree for one agent: created before the agent starts, removed if the agent
-- left it unchanged, else kept and reported (`isolation`).
--
-- Each of its steps is a call that may be repeated: after a crash it finds the existing worktree. It is based on the
-- commit at which the run started, in the repository in which the run started. Functions over ctx; knows git, no
-- agents.

local M = {}

local FIND <const> = [[
cd "$1" || exit 1
git rev-parse --show-toplevel HEAD
git status --porcelain | head -n 20]]

-- `git worktree add` writes its files into the repository one after the other, and any other git command that looks
-- meanwhile fails ("failed to read .../commondir"): so the files that gitrepository-layout(5) requires are written
-- elsewhere and renamed into place. `.git` comes last, so that a folder with it is complete; until then the lock
-- prevents pruning. Its name follows from its path, so what a crash left is found again.
local MAKE <const> = [[
[ -e "$1/.git" ] && exit 0
set -e
common=$(git -C "$2" rev-parse --path-format=absolute --git-common-dir)
own=$common/worktrees/skillrt-$(printf %s "$1" | cksum | tr ' ' -)
mkdir -p "$1" "$common/worktrees"
path=$(cd "$1" && pwd)
if [ ! -e "$own" ]; then
  aside=$(mktemp -d "$common/skillrt-XXXXXX")
  echo "$path/.git" > "$aside/gitdir"
  echo ../.. > "$aside/commondir"
  echo "$3" > "$aside/HEAD"
  echo "being made by skillrt" > "$aside/locked"
  chmod 755 "$aside"
  mv -T "$aside" "$own"
fi
GIT_DIR=$own GIT_WORK_TREE=$path git -C "$path" reset --hard --quiet "$3"
echo "gitdir: $own" > "$path/.git.new"
mv "$path/.git.new" "$path/.git"
rm -f "$own/locked"]]

-- Uncommitted changes and new commits are work. It is removed as it was created: by a rename.
local END <const> = [[
[ -e "$1/.git" ] || { echo removed; exit 0; }
own=$(git -C "$1" rev-parse --absolute-git-dir) || exit 1
head=$(git -C "$1" rev-parse HEAD)
if [ ! -e "$own/locked" ] && [ -z "$(git -C "$1" status --porcelain)" ] && [ "$head" = "$3" ]; then
  gone=$(mktemp -d "$(git -C "$2" rev-parse --path-format=absolute --git-common-dir)/skillrt-XXXXXX") || exit 1
  mv "$own" "$gone/" && rm -rf "$1" "$gone" && echo removed
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
    sandbox_default = "off", -- it is ours, and writes to .git
  }
  if not reply then
    return nil, "worktree: " .. message, class
  end
  return reply.stdout
end

---@class skillrt.workflow.Base
---@field repository string  its folder
---@field commit string
---@field open string[]      uncommitted files, as `git status` lists them

---The base of a run's worktrees.
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
  local made, problem, cause = git(ctx, MAKE, path, base.repository, base.commit)
  if not made then
    return nil, problem, cause
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
