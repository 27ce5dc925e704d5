-- document/write/manifest.lua: .skillrt-generated.json: the digest of every file as it was generated, which
-- tells later whether a person changed it; .skillrt-texts.json: the files themselves, to merge by.
--
-- Same files, same bytes: sorted, no time, no path of this machine. Called by cli/writing.lua,
-- document/check/report.lua and document/write/init.lua.

local files = require("skillrt.base.files")
local json = require("skillrt.base.json")
local place = require("skillrt.document.write.place")

local M = {}

M.NAME = place.OWN .. "generated.json"
M.TEXTS = place.OWN .. "texts.json"

local FORMAT = 1
local MAXIMUM = 64 << 20 -- bytes

---@class skillrt.writer.Manifest
---@field files table<string, string>  digest by path
---@field lang string?
---@field text string?                 as it lies there; nil: there is none
---@field texts table<string, string>  by path: what was generated, as far as it is known
---@field texts_text string?           as it lies there; nil: there is none

local function damaged(path, why)
  local message = "%s: %s; delete it to begin anew (all files then count as changed by a person)"
  return nil, message:format(path, why), "invalid"
end

-- The texts only help to merge: what cannot be read of them is as if it were not there.
local function read_texts(dir)
  local text = files.read(dir .. "/" .. M.TEXTS, MAXIMUM)
  local value, texts = text and json.decode(text), {}
  for path, one in pairs(type(value) == "table" and value or {}) do
    texts[path] = type(one) == "string" and one or nil
  end
  return texts, text
end

---What was generated into a folder; nothing where the folder has no manifest.
---@param dir string
---@return skillrt.writer.Manifest|nil manifest
---@return string? message
---@return string? code
function M.read(dir)
  local path = dir .. "/" .. M.NAME
  local kind, message, code = place.kind(path)
  if code then
    return nil, message, code
  elseif not kind then
    return { files = {}, texts = {} }
  elseif kind ~= "file" then
    return damaged(path, "is no file")
  end
  local text
  text, message, code = files.read(path, MAXIMUM)
  if not text then
    return nil, message, code
  end
  local value, why = json.decode(text)
  if type(value) ~= "table" or type(value.files) ~= "table" then
    return damaged(path, why or "holds no list of files")
  elseif value.format ~= FORMAT then
    return nil, path .. ": was written by another version of skillrt, which has to be used here", "newer"
  end
  for name, digest in pairs(value.files) do
    if not place.is_safe(name) or type(digest) ~= "string" then
      return damaged(path, "names a file that cannot be one of ours")
    end
  end
  local lang = type(value.lang) == "string" and value.lang or nil
  local texts, texts_text = read_texts(dir)
  return { files = value.files, lang = lang, text = text, texts = texts, texts_text = texts_text }
end

---@param texts table<string, string>
---@return string
function M.encode_texts(texts)
  return assert(json.encode(texts, { indent = 2, sorted = true })) .. "\n"
end

---@param digests table<string, string>
---@param lang string?
---@return string
function M.text(digests, lang)
  return assert(json.encode({ format = FORMAT, lang = lang, files = digests }, { indent = 2, sorted = true })) .. "\n"
end

return M
