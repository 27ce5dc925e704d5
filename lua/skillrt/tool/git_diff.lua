-- tool/git_diff.lua: the tool `git_diff`: what has changed in a git repository, as a patch. It changes
-- nothing, and runs no diff program, filter, hook, monitor or transport that a repository names.

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

-- A folder that merely looks like a bare repository is none; what a partial clone lacks is not fetched.
local SAFE <const> = { "git", "--no-pager", "--no-optional-locks", "--literal-pathspecs", "-c", "core.fsmonitor=false",
  "-c", "core.hooksPath=/dev/null", "-c", "safe.bareRepository=explicit", "-c", "protocol.allow=never",
  "-c", "protocol.ext.allow=never", "-c", "protocol.file.allow=never", "-c", "protocol.ssh.allow=never",
  "-c", "protocol.git.allow=never", "-c", "protocol.http.allow=never", "-c", "protocol.https.allow=never" }
local DIFF <const> = { "diff", "--no-ext-diff", "--no-textconv", "--no-color", "--ignore-submodules=all" }

-- Without this git would show two files of anywhere (its --no-index): where it is given two paths, and one of them, or
-- the folder, lies in no repository. So it is given three.
local function add_paths(argv, paths)
  argv[#argv + 1] = "--"
  tables.append(argv, paths)
  for _ = 1, #paths > 0 and 3 - #paths or 0 do
    argv[#argv + 1] = paths[1]
  end
end

-- What a repository may take other repositories' contents by.
local BORROWS <const> = { "commondir", "objects/info/alternates", "objects/info/http-alternates" }
local OWN <const> = { "HEAD", "index", "packed-refs", "objects", "objects/info", "objects/pack", "refs", "refs/heads",
  "refs/tags" }

-- Why a .git folder is not read: what it holds lies elsewhere.
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

-- The .git of a linked worktree: only where the repository knows it as one of its own.
local function linked(top)
  local text = files.kept(top, ".git", 4096)
  local own = text and text:match("^gitdir: ([^\n]+)\n?$")
  own = own and files.join(top, own)
  local common = own and own:match("^(.*)/worktrees/[^/]+$")
  local back = common and files.kept(own, "gitdir", 4096)
  local known = back and same(top .. "/.git", (back:gsub("\n$", ""))) and files.kept(own, "commondir", 64) == "../..\n"
  return known and own, known and common
end

-- The repository that a folder is in, by where it lies: neither core.worktree nor a .git file may name another folder.
local function repository(cwd)
  local info
  local top = cwd:gsub("(.)/+$", "%1")
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

-- Switches off the programs through which the repository's own configuration has its files read (filter.NAME.clean).
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
