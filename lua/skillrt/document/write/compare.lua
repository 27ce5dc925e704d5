-- document/write/compare.lua: the difference of two texts, and the merge of two people's changes: by the installed
-- programs (diff, diff3, git), started by the core, without a shell.
--
-- If none is installed, it says so; nothing depends on them. Called by write/init, graph/init and report/tree.
local files = require("skillrt.base.files")

local M = {}

local MAX_OUTPUT = 64 << 20
local SECONDS = 60

---A program's output and exit code; or nil if it is not installed or fails, and why.
---@param argv string[]
---@param ok_codes integer[]?
---@param input string?  what it reads
---@return string? text
---@return integer|string code  or what went wrong
function M.program(argv, ok_codes, input)
  local code
  local body, message = require("skillrt.run.runner").perform("compare", function(ctx)
    local reply, why = ctx.await({ kind = "command", argv = argv, stdin = input, timeout = SECONDS,
      max_output = MAX_OUTPUT, ok_codes = ok_codes })
    code = reply and reply.code
    return reply and reply.body, why
  end)
  return body, body and code or message
end

-- A folder of temporary files that goes away with its scope.
local function scratch(texts)
  local dir = ("%s/skillrt-%s"):format(os.getenv("TMPDIR") or "/tmp", files.random_name())
  local self = setmetatable({ ok = files.make_folders(dir), paths = {} }, {
    __close = function()
      files.remove_tree(dir)
    end,
  })
  for i, text in ipairs(texts) do
    self.paths[i] = ("%s/%d"):format(dir, i)
    self.ok = self.ok and files.create(self.paths[i], text)
  end
  return self
end

---The lines of a unified diff, none if the texts are equal; nil: no program can make one.
---@param old string
---@param new string
---@param name string
---@return string[]?
function M.unified(old, new, name)
  if old == new then
    return {}
  end
  local temporary <close> = scratch({ old, new })
  local a, b = table.unpack(temporary.paths)
  local text = temporary.ok and M.program({ "diff", "-u", a, b }, { 1 })
  if not text and temporary.ok then
    text = M.program({ "git", "diff", "--no-index", "--no-ext-diff", "--no-color", a, b }, { 1 })
  end
  local at = text and text:find("\n@@", 1, true)
  if not at then
    return nil
  end
  local lines = { ("--- %s (as it is)"):format(name), ("+++ %s (as generated)"):format(name) }
  for line in text:sub(at + 1):gmatch("([^\n]*)\n") do
    lines[#lines + 1] = line
  end
  return lines
end

local MINE, BASE, THEIRS = "as it is", "as it was generated", "as generated now"
local NUMBERS = {}
for i = 0, 127 do
  NUMBERS[i + 1] = i
end

---Merges a person's version of a generated text with the newly generated one.
---@param mine string
---@param base string    as it was generated
---@param theirs string  as it is generated now
---@return string? merged  nil: no program can do it
---@return boolean? conflict  both changed the same lines: they are between marks
function M.merge(mine, base, theirs)
  local temporary <close> = scratch({ mine, base, theirs })
  if not temporary.ok then
    return nil
  end
  local a, b, c = table.unpack(temporary.paths)
  local merged, code = M.program({ "git", "merge-file", "-p", "-L", MINE, "-L", BASE, "-L", THEIRS, a, b, c }, NUMBERS)
  if not merged then
    merged, code = M.program({ "diff3", "-m", "-L", MINE, "-L", BASE, "-L", THEIRS, a, b, c }, { 0, 1 })
  end
  return merged, merged and code ~= 0
end

return M
