-- document/write/init.lua: writes generated files into a folder: first what would change, then the change; and the
-- manifest, which holds the digest of every file as it was generated.
--
-- These digests show what a person changed; skillrt keeps that, and merges it with what is generated now. If both
-- changed the same lines, the file is overwritten only with --force. A change writes the manifest first, with the
-- earlier digests: such a manifest shows that the change was interrupted, and the next generation finishes it.
-- Nothing is written outside the folder or through a link. Knows no config, no terminal. Called by cli/writing.lua,
-- document/check/report.lua and document/load/init.lua.

local compare = require("skillrt.document.write.compare")
local files = require("skillrt.base.files")
local json = require("skillrt.base.json")
local names = require("skillrt.base.names")
local tables = require("skillrt.base.tables")

local M = {}

local OWN <const> = ".skillrt-" -- the prefix of our own files in a generated folder

---The manifest's name in a generated folder.
M.MANIFEST = OWN .. "generated.json"

local TEXTS <const> = OWN .. "texts.json" -- the files as they were generated, for merging
local FORMAT <const> = 1
local MAXIMUM <const> = 64 << 20 -- bytes

---@class skillrt.writer.Manifest
---@field files table<string, string>  digest by path
---@field before table<string, string[]>|nil  a change was interrupted: the earlier digests, by path
---@field lang string?
---@field text string?                 as it is there; nil: there is none

---@class skillrt.writer.Item
---@field path string
---@field what "new"|"changed"|"same"|"kept"|"own"|"merged"|"edited"|"gone"|"left"  kept: an outline, or the
---   config the folder is generated from; own: a person's, and the same is generated as before; merged: with what
---   a person changed; edited: a person changed the same lines; gone: no longer generated; left: no longer
---   generated, but a person changed it
---@field text string?    what is written; nil for gone and left
---@field generated string?  what is generated, if something else is written
---@field conflict string?   edited: both versions, between marks
---@field there string?   the present content, if it differs
---@field before string?  the digest of the present content

---@class skillrt.writer.Plan
---@field dir string
---@field is_new boolean
---@field items skillrt.writer.Item[]  by path
---@field counts table<string, integer>  by what
---@field unfinished boolean  a generation here was interrupted: it is finished now
---@field lang string?
---@field manifest skillrt.writer.Manifest
---@field texts table<string, any>  by path: what was generated, as far as it can be read
---@field texts_text string?

---@class skillrt.writer.Options
---@field lang string?    for the manifest
---@field source string?  the text from which the files were generated: a file with this text is kept
---@field force boolean?   overwrites what a person changed

-- Whether a generated path may be written at all; else why not, as the end of a sentence that begins with the path.
local function is_safe(path)
  local ok, why = files.is_confined(path)
  if not ok then
    return false, why
  elseif path:find("%c") then
    return false, "holds a control character"
  end
  for part in (path .. "/"):gmatch("([^/]*)/") do
    if part == "" or part == "." then
      return false, 'holds an empty part or "."; write it as folder/file'
    elseif part:sub(1, #OWN) == OWN then
      return false, ("holds a name that begins with %s; these are skillrt's own"):format(OWN)
    end
  end
  return true
end

local function damaged(path, why)
  local message = "%s: %s; delete it to begin anew (all files then count as changed by a person)"
  return nil, message:format(path, why), "invalid"
end

---What was generated into a folder; no files where the folder has no manifest.
---@param dir string
---@return skillrt.writer.Manifest|nil manifest
---@return string? message
---@return string? code
function M.manifest(dir)
  local path = dir .. "/" .. M.MANIFEST
  local text, message, code = files.kept(dir, M.MANIFEST, MAXIMUM)
  if not text and code == "missing" then
    return { files = {} }
  elseif not text then
    return nil, message, code
  end
  local value, why = json.decode(text)
  if type(value) ~= "table" or type(value.files) ~= "table" then
    return damaged(path, why or "holds no list of files")
  elseif value.format ~= FORMAT then
    return nil, path .. ": was written by another version of skillrt, which has to be used here", "newer"
  end
  for name, digest in pairs(value.files) do
    if not is_safe(name) or type(digest) ~= "string" then
      return damaged(path, "names a file that cannot be one of ours")
    end
  end
  return { files = value.files, before = type(value.before) == "table" and value.before or nil, text = text,
    lang = type(value.lang) == "string" and value.lang or nil }
end

---Whether a generation in a folder was interrupted during its changes.
---@param dir string
---@return boolean
function M.is_unfinished(dir)
  local manifest = M.manifest(dir)
  return manifest ~= nil and manifest.before ~= nil
end

local function check_paths(list)
  local seen = {}
  for _, file in ipairs(list) do
    local ok, why = is_safe(file.path)
    if not ok then
      return nil, ("%s: %s"):format(names.show(file.path), why), "invalid"
    elseif seen[file.path] then
      return nil, ("%s: is generated twice; rename one of the two it stands for"):format(file.path), "invalid"
    end
    seen[file.path] = true
  end
  return seen
end

-- Whether a text was generated, also by an interrupted generation.
local function was_generated(plan, path, digest)
  local manifest = plan.manifest
  for _, one in ipairs(manifest.before and manifest.before[path] or {}) do
    if one == digest then
      return true
    end
  end
  return manifest.files[path] == digest
end

-- What a person changed: kept if the same is generated as before, else merged.
local function take_over(plan, item, file, there)
  local base = plan.texts[file.path]
  if type(base) ~= "string" or not was_generated(plan, file.path, files.digest(base)) then
    return
  elseif base == file.text then
    item.what = "own"
    return
  end
  local merged, conflict = compare.merge(there, base, file.text)
  if merged and not conflict then
    item.what, item.text, item.generated = "merged", merged, file.text
  else
    item.conflict = merged
  end
end

local function classify(plan, file, there, digest, source)
  if not there then
    return "new"
  elseif there == file.text then
    return "same"
  elseif file.once or (source and there == source) then
    return "kept"
  end
  return was_generated(plan, file.path, digest) and "changed" or "edited"
end

local function plan_file(plan, file, options)
  local there, message, code
  if not plan.is_new then
    there, message, code = files.kept(plan.dir, file.path, MAXIMUM)
    if not there and code ~= "missing" then
      if not file.once then
        return nil, message, code
      end
      there = "" -- whatever it is, it stays
    end
  end
  local digest = there and files.digest(there) or nil
  local what = classify(plan, file, there, digest, options.source)
  local differs = what == "changed" or what == "edited"
  local item = { path = file.path, what = what, text = file.text, once = file.once, there = differs and there or nil,
    before = differs and digest or nil }
  if what == "edited" and not options.force then
    take_over(plan, item, file, there)
  end
  return item
end

-- What was generated once and no longer is; false: it does not exist.
local function plan_stale(plan, path)
  local there, message, code = files.kept(plan.dir, path, MAXIMUM)
  if not there then
    if code == "missing" or code == "invalid" then
      return false
    end
    return nil, message, code
  end
  local digest = files.digest(there)
  return { path = path, what = was_generated(plan, path, digest) and "gone" or "left", there = there, before = digest }
end

local function plan_all(plan, list, paths, options)
  local function add(item, message, code)
    if item then
      plan.items[#plan.items + 1] = item
      plan.counts[item.what] = (plan.counts[item.what] or 0) + 1
    end
    return item, message, code
  end
  for _, file in ipairs(list) do
    local item, message, code = add(plan_file(plan, file, options))
    if not item then
      return nil, message, code
    end
  end
  local once = {}
  for _, before in ipairs({ plan.manifest.files, plan.manifest.before }) do
    for path in pairs(before) do
      once[path] = not paths[path] or nil
    end
  end
  for _, path in ipairs(names.sorted(once)) do
    local item, message, code = add(plan_stale(plan, path))
    if item == nil then
      return nil, message, code
    end
  end
  table.sort(plan.items, function(a, b)
    return a.path < b.path
  end)
  return plan
end

---What generating these files into a folder would do. Changes nothing.
---@param dir string  a link that a person names is followed
---@param list skillrt.generate.File[]
---@param options skillrt.writer.Options?
---@return skillrt.writer.Plan|nil plan
---@return string? message
---@return string? code
function M.plan(dir, list, options)
  options = options or {}
  local paths, message, code = check_paths(list)
  if not paths then
    return nil, message, code
  end
  local plan = { dir = dir:gsub("/+", "/"):gsub("(.)/$", "%1"), items = {}, counts = {}, lang = options.lang,
    manifest = { files = {} }, texts = {} }
  local info
  info, message, code = files.stat(plan.dir)
  plan.is_new = not info
  if not info and code ~= "missing" then
    return nil, message, code
  elseif info and not files.is_folder(plan.dir) then
    return nil, plan.dir .. ": is not a folder, or is a broken link; remove it or name another one", "invalid"
  elseif info then
    plan.manifest, message, code = M.manifest(plan.dir)
    if not plan.manifest then
      return nil, message, code
    end
    plan.unfinished = plan.manifest.before ~= nil
    plan.texts_text = files.kept(plan.dir, TEXTS, MAXIMUM)
    local texts = plan.texts_text and json.decode(plan.texts_text) -- they are only used for merging
    plan.texts = type(texts) == "table" and texts or {}
  end
  return plan_all(plan, list, paths, options)
end

local WRITES <const> = tables.words "new changed edited merged"

local function pretty(value)
  return assert(json.encode(value, { indent = 2, sorted = true })) .. "\n"
end

-- The digests after the changes, the texts for merging, and the earlier digests.
local function books_of(plan)
  local digests, texts, before = {}, {}, plan.manifest.before or {}
  for path, digest in pairs(plan.manifest.files) do
    before[path] = before[path] or {}
    table.insert(before[path], digest)
  end
  for _, item in ipairs(plan.items) do
    local path = item.path
    if WRITES[item.what] or item.what == "same" then
      local generated = item.generated or item.text
      digests[path], texts[path] = files.digest(generated), not item.once and generated or nil
    elseif item.what ~= "gone" then
      digests[path], texts[path] = plan.manifest.files[path], plan.texts[path]
    end
  end
  return digests, texts, before
end

-- Folders that became empty by removing a file are removed, too.
local function remove(dir, path)
  local ok, message, code = files.remove(dir .. "/" .. path)
  local folder = path:match("^(.*)/[^/]*$")
  while ok and folder and files.remove(dir .. "/" .. folder) do
    folder = folder:match("^(.*)/[^/]*$")
  end
  return ok, message, code
end

-- One change; "left" if the file is no longer as it was planned for.
local function change(dir, item)
  local now, message, code = files.kept(dir, item.path, MAXIMUM)
  if not now and code ~= "missing" then
    return nil, message, code
  elseif (now and files.digest(now) or nil) ~= item.before then
    return "left"
  elseif item.what == "gone" then
    return remove(dir, item.path)
  end
  return files.put(dir, item.path, item.text)
end

local function change_all(plan, changes, progress)
  local left = {}
  for i, item in ipairs(changes) do
    local done, message, code = change(plan.dir, item)
    if not done then
      return nil, message, code
    elseif done == "left" then
      left[#left + 1] = item.path
    end
    if progress then
      progress(i, #changes)
    end
  end
  return left
end

-- Writes one of our own files if it differs.
local function put(dir, name, text, before)
  if text == before then
    return true
  end
  return files.put(dir, name, text)
end

-- Removes what a killed generation left: files.put writes next to the folder's own files, under the last part of a
-- path.
local function clear(dir, digests, before)
  local ours = { [M.MANIFEST] = true, [TEXTS] = true }
  for _, list in ipairs({ digests, before }) do
    for path in pairs(list) do
      ours[path:match("[^/]*$")] = true
    end
  end
  for _, name in ipairs(files.glob(dir, "*.new-*") or {}) do
    if ours[name:match("^(.*)%.new%-%x%x%x%x%x%x%x%x$") or ""] then
      files.remove(dir .. "/" .. name)
    end
  end
end

local function write_all(plan, changes, progress)
  local dir, digests, texts, before = plan.dir, books_of(plan)
  local whole = { format = FORMAT, lang = plan.lang, files = digests }
  local last, left = plan.manifest.text, nil
  local ok, message, code = files.make_folders(dir)
  clear(dir, digests, before)
  if ok and #changes > 0 then
    last = pretty({ format = FORMAT, lang = plan.lang, files = digests, before = before })
    ok, message, code = files.put(dir, M.MANIFEST, last)
  end
  if ok then
    left, message, code = change_all(plan, changes, progress)
    ok = left
  end
  if ok then
    ok, message, code = put(dir, TEXTS, pretty(texts), plan.texts_text)
  end
  if ok then
    ok, message, code = put(dir, M.MANIFEST, pretty(whole), last)
  end
  return ok and left, message, code
end

---Applies the plan. If it fails or is killed during its changes, the next generation finishes it.
---@param plan skillrt.writer.Plan
---@param options { force: boolean?, progress: fun(done: number, total: integer)? }|nil
---@return boolean|nil ok
---@return string? message
---@return string? code  "edited": a person changed files, and nothing was written
function M.write(plan, options)
  options = options or {}
  local edited, changes = {}, {}
  for _, item in ipairs(plan.items) do
    edited[#edited + 1] = item.what == "edited" and item.path or nil
    changes[#changes + 1] = (WRITES[item.what] or item.what == "gone") and item or nil
  end
  if #edited > 0 and not options.force then
    local message = "%s: changed by a person since it was generated (or never generated): %s; nothing was written"
    return nil, message:format(plan.dir, table.concat(edited, ", ")), "edited"
  end
  local left, message, code = write_all(plan, changes, options.progress)
  if not left then
    return nil, message .. "; generate again to finish", code
  elseif #left > 0 then
    message = ("%s: changed while it was generated: %s; left as they are"):format(plan.dir, table.concat(left, ", "))
    return nil, message, "edited"
  end
  return true
end

return M
