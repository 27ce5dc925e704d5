-- tool/git_diff.lua: the tool `git_diff`: the changes in a git repository, as a patch. It changes nothing, and runs
-- no diff program, filter, hook, monitor or transport that a repository configures.

local command = require("skillrt.tool.command")
local files = require("skillrt.base.files")
local names = require("skillrt.base.names")
local roots_of = require("skillrt.tool.roots")
local tables = require("skillrt.base.tables")

local M = {}

M.FIELDS = { cwd = { type = "text" }, timeout = { type = "seconds", default = 60 } }

local INPUT <const> = {
  type = "object",
  properties = {
    ref = { type = "string", pattern = "^[A-Za-z0-9_][A-Za-z0-9_./~^@-]*$",
      description = "a commit or a range; else what is not committed" },
    staged = { type = "boolean" },
    paths = { type = "array", items = { type = "string", minLength = 1 } },
    stat = { type = "boolean", description = "only which files, and how much" },
  },
  additionalProperties = false,
}

-- A folder that only resembles a bare repository is not read; missing objects of a partial clone are not fetched.
local SAFE <const> = { "git", "--no-pager", "--no-optional-locks", "--literal-pathspecs", "-c", "core.fsmonitor=false",
  "-c", "core.hooksPath=/dev/null", "-c", "safe.bareRepository=explicit", "-c", "protocol.allow=never",
  "-c", "protocol.ext.allow=never", "-c", "protocol.file.allow=never", "-c", "protocol.ssh.allow=never",
  "-c", "protocol.git.allow=never", "-c", "protocol.http.allow=never", "-c", "protocol.https.allow=never" }
local DIFF <const> = { "diff", "--no-ext-diff", "--no-textconv", "--no-color", "--ignore-submodules=all" }

-- Otherwise git would show two arbitrary files (--no-index), if it is given two paths and one of them, or the folder,
-- is in no repository. So it is given three.
local function add_paths(argv, paths)
  argv[#argv + 1] = "--"
  tables.append(argv, paths)
  for _ = 1, #paths > 0 and 3 - #paths or 0 do
    argv[#argv + 1] = paths[1]
  end
end

-- How a repository may include the contents of other repositories.
local BORROWS <const> = { "commondir", "objects/info/alternates", "objects/info/http-alternates" }
local OWN <const> = { "HEAD", "index", "packed-refs", "objects", "objects/info", "objects/pack", "refs", "refs/heads",
  "refs/tags" }

-- Why a .git folder is not read: its content is elsewhere.
local function borrowed(own)
  for _, name in ipairs(BORROWS) do
    if files.stat(own .. "/" .. name) then
      return name
    end
  end
  for _, name in ipairs(OWN) do
    local info = files.stat(own .. "/" .. name)
    if info and info.kind == "link" then
      return name
    end
  end
end

local function same(one, other)
  local a, b = files.stat(one), files.stat(other)
  return a and b and a.id == b.id
end

-- The .git of a linked worktree: only if the repository lists it as its own.
local function linked(top)
  local text = files.kept(top, ".git", 4096)
  local own = text and text:match("^gitdir: ([^\n]+)\n?$")
  own = own and files.join(top, own)
  local common = own and own:match("^(.*)/worktrees/[^/]+$")
  local back = common and files.kept(own, "gitdir", 4096)
  local known = back and same(top .. "/.git", (back:gsub("\n$", ""))) and files.kept(own, "commondir", 64) == "../..\n"
  return known and own, known and common
end

-- The repository that contains a folder, by location: neither core.worktree nor a .git file may name another folder.
local function repository(cwd)
  local info
  local top = files.bare(cwd)
  repeat
    info = files.stat(top .. "/.git")
    top = info and top or top ~= "/" and (top:match("^(.+)/[^/]*$") or "/") or nil
  until info or not top
  if not top then
    return nil, "Not a git repository: " .. names.show(cwd)
  end
  local own, common = top .. "/.git", top .. "/.git"
  if info.kind ~= "directory" then
    own, common = linked(top)
  end
  local problem = own and borrowed(common)
  if not own or problem then
    problem = problem or "a link or a .git file"
    return nil, ("%s/.git: leads to another folder (%s), which is not read"):format(top, problem)
  end
  return { "--git-dir=" .. own, "--work-tree=" .. top }
end

-- Disables the programs through which the repository's own configuration would have its files read
-- (filter.NAME.clean).
local function add_filters(tool, ctx, argv, cwd)
  local asked = tables.append({}, argv)
  table.move({ "config", "-z", "--name-only", "--show-scope", "--get-regexp", "^filter[.]" }, 1, 6, #asked + 1, asked)
  local reply, message, _, bad = ctx.await({ kind = "command", argv = asked, cwd = cwd, timeout = tool.timeout,
    acts = false, idempotent = true })
  reply = reply or bad
  if not reply or reply.status ~= "ok" then
    return message
  end
  for scope, key in (reply.stdout or ""):gmatch("([^\0]*)\0([^\0]*)\0") do
    if scope == "local" or scope == "worktree" then
      if key:find("=", 1, true) then
        return ("the repository names a filter %s, which cannot be switched off"):format(names.show(key))
      end
      argv[#argv + 1], argv[#argv + 2] = "-c", key .. "="
    end
  end
end

local function perform(tool, ctx, arguments, task)
  local cwd, message = roots_of.folder(tool.cwd or ".", task)
  if not cwd then
    return nil, message
  end
  local where
  where, message = repository(cwd)
  if not where then
    return nil, message
  end
  local argv = tables.append({}, SAFE)
  tables.append(argv, where)
  message = add_filters(tool, ctx, argv, cwd)
  if message then
    return nil, message
  end
  tables.append(argv, DIFF)
  argv[#argv + 1] = arguments.stat and "--stat" or nil
  argv[#argv + 1] = arguments.staged and "--cached" or nil
  argv[#argv + 1] = arguments.ref
  add_paths(argv, arguments.paths or {})
  local text
  text, message = command.run(ctx, tool, argv, { cwd = cwd, timeout = tool.timeout })
  return text == "(no output)" and "(no change)" or text, message
end

---@param given table
---@return table parts
function M.make(given)
  given.description = given.description or "Shows what has changed in the git repository, as a patch."
  given.input, given.perform, given.source, given.acts = INPUT, perform, "built in", false
  return given
end

return M
