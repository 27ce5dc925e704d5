-- document/submission.lua: what is stored with a submitted run: the files of its skill, by digest, and the code that
-- its submitter approved; and unpacking them where the run is performed.
--
-- Runs nothing. Called by cli/command/submit.lua, document/child.lua and document/reopen.lua.

local files = require("skillrt.base.files")
local kind_of = require("skillrt.document.kind").of
local seal = require("skillrt.base.seal")
local store_of = require("skillrt.run.store")
local trust = require("skillrt.document.trust")

local M = {}

local MOST_FILES <const>, MOST_BYTES <const> = 2000, 64 << 20

-- The path of a skill's file among the run's.
local function path_of(name)
  return name == "" and "skill" or "skill/" .. name
end

-- The names of the files that a run needs: all of a folder; of a script, those that were read for it.
local function names_of(root, script, pins)
  if not script then
    return files.glob(root, "**")
  end
  local names = { script }
  for pin in pairs(pins) do
    local name = pin:gsub("^helper ", "")
    names[#names + 1] = name ~= script and files.is_confined(name) and files.stat(root, name) and name or nil
  end
  return names
end

local function is_program(root, name)
  local info = files.stat(root, name)
  return info ~= nil and info.mode & 0x40 ~= 0 -- 0100
end

local function code_of(path, agent)
  local code = kind_of(path) ~= "script" and trust.code(path, nil, nil, nil, agent)
  return code and code.digest or nil
end

-- The skill of a new run, in the form of its first record: { script, folder, files = digests by name, runs = which of
-- them are programs, approved = the digest of its code }; and its files.
local function of(first)
  local named = first.folder or first.script
  if not (named and first.script) then
    return nil, "the skill is in no file: submit a script or a folder"
  end
  local is_folder = files.is_folder(named)
  local root = is_folder and named or files.dirname(named)
  local script = first.script == root and "" or first.script:sub(1, #root + 1) == root .. "/"
    and first.script:sub(#root + 2)
  local names, message = names_of(root, not is_folder and script, first.pins)
  if not (names and script) then
    return nil, message or ("%s: is outside of %s"):format(first.script, root)
  end
  local submitted = { script = script, folder = is_folder or nil, files = {}, runs = {},
    approved = code_of(named, first.agent) }
  local blobs, size = {}, 0
  for i, name in ipairs(names) do
    local text, why = files.kept(root, name, MOST_BYTES)
    size = size + #(text or "")
    if not text or i > MOST_FILES or size > MOST_BYTES then
      return nil, why or ("%s: is larger than the %d files and %d bytes that can be submitted"):format(root, MOST_FILES,
        MOST_BYTES)
    end
    submitted.files[name], submitted.runs[name] = files.digest(text), is_program(root, name) or nil
    blobs[i] = { submitted.files[name], text }
  end
  return submitted, blobs
end

---Adds the skill to the first record of a new run, which has no folder that other machines would need.
---@param first table
---@return table[]|nil blobs  its files: { digest, text } each
---@return string? message
---@return string? code
function M.add(first)
  local submitted, blobs = of(first)
  if not submitted then
    return nil, blobs --[[@as string]], "invalid"
  end
  first.submitted, first.cwd = submitted, nil
  first.seal = seal.of(first)
  return blobs --[[@as table]]
end

---Unpacks the files of a run's skill on this machine, as they were submitted.
---@param place string
---@param first table
---@param blob fun(digest: string): string?, string?, string?
---@return { script: string, folder: string? }|nil
---@return string? message
---@return string? code
function M.unpack(place, first, blob)
  local store, submitted, missing = store_of.at(place), first.submitted, {}
  for name, digest in pairs(submitted.files) do
    local text, runs = store:kept(path_of(name), MOST_BYTES), submitted.runs[name]
    local is_there = text and files.digest(text) == digest and (not runs or is_program(store.folder, path_of(name)))
    missing[name] = not is_there and digest or nil
  end
  local unpacked = { script = store:path(path_of(submitted.script)),
    folder = submitted.folder and store:path("skill") or nil }
  if not next(missing) then
    return unpacked
  end
  local ok, message, code = store:make()
  if not ok then
    return nil, message, code
  end
  for name, digest in pairs(missing) do
    local text
    text, message, code = blob(digest)
    if text then
      ok, message, code = store:keep(path_of(name), text, false, submitted.runs[name])
    end
    if not (text and ok) then
      return nil, message, code
    end
  end
  return unpacked
end

---Whether the code that would run is what the submitter approved.
---@param place string
---@param first table
---@param path string  its present path
---@return boolean|nil ok
---@return string? message
---@return string? code
function M.approved(place, first, path)
  if code_of(path, first.agent) == first.submitted.approved then
    return true
  end
  return nil, ("%s: the code that would run here is not what was submitted: it depends on files outside of the "
    .. "skill's folder, or %s was changed"):format(place, path), "changed"
end

return M
