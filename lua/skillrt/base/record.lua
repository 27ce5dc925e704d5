-- base/record.lua: encodes records as journal payloads: compact JSON, with large values stored separately as blobs.
--
-- A value over 64 KiB is written once under its SHA-256; the record lists the places in `blobs`, so a user's value
-- that looks like a reference is never taken for one. Knows nothing of what records mean (run/books.lua does).

local core = require("skillrt.core")
local json = require("skillrt.base.json")
local names = require("skillrt.base.names")
local tables = require("skillrt.base.tables")

local M = {}

---Values whose JSON is longer than this, in bytes, become blobs.
M.BLOB_BYTES = 64 * 1024

local encode, BLOB_BYTES <const> = json.encode, M.BLOB_BYTES
local SMALL <const> = { size = BLOB_BYTES } -- most records are; of a larger one no more is encoded in vain

-- The places where large values occur: a record's field, or a key of one.
local HOLDERS = { "set", "context", "reply", "state", "value", "texts", "choices" }

-- Whether a value's JSON could be that long; a cheap test, as most values are small and a reply may have many.
local function may_be_large(value)
  if type(value) == "string" then
    return 6 * #value + 2 > BLOB_BYTES -- an escape takes six bytes at most
  end
  return type(value) == "table"
end

-- The reference that replaces a value with long JSON; else nil, or nil and an error.
local function moved_out(value, path, record, blobs)
  local text = json.encode(value)
  if not text then -- once more, to say where
    return nil, select(2, json.encode(value, { name = "value." .. table.concat(path, ".") }))
  elseif #text <= BLOB_BYTES then
    return nil
  end
  local digest = core.sha256(text)
  blobs[#blobs + 1] = { digest, text }
  record.blobs = record.blobs or json.array({})
  record.blobs[#record.blobs + 1] = path
  return { sha256 = digest, bytes = #text }
end

local function shallow(table_of)
  local copy = tables.fill({}, table_of)
  return copy
end

-- A copy of the record with its large values replaced by references.
local function split(record)
  local copy, blobs = shallow(record), {}
  for _, name in ipairs(HOLDERS) do
    local given = record[name]
    for _, key in ipairs(names.sorted(tables.object(given))) do
      local reference, message
      if may_be_large(given[key]) then
        reference, message = moved_out(given[key], { name, key }, copy, blobs)
      end
      if message then
        return nil, message
      elseif reference then
        copy[name] = copy[name] == given and shallow(given) or copy[name]
        copy[name][key] = reference
      end
    end
  end
  local reference, message
  if may_be_large(copy.out) then
    reference, message = moved_out(copy.out, { "out" }, copy, blobs)
  end
  if message then
    return nil, message
  end
  copy.out = reference or copy.out
  return copy, blobs
end

local WRITTEN <const> = { set = "", out = "output" }

-- The place of what cannot be encoded as the author wrote it: "value.set.a.b" is the update a.b.
local function as_written(message)
  local field, rest = message:match("^value%.([%a_]+)(.*)$")
  local path = field and (WRITTEN[field] or field) .. rest
  return path and (path:gsub("^%.", ""):gsub("^:", "the update:")) or message
end

---@param record table
---@return string|nil payload  one line
---@return table[]|string blobs  { digest, text } each; or what cannot be encoded
---@return string? code
function M.encode(record)
  local text, message, code = encode(record, SMALL)
  if text then
    return text, nil
  elseif code ~= "limit" then
    return nil, as_written(message --[[@as string]]), code
  end
  local small, blobs = split(record)
  if not small then
    return nil, as_written(blobs --[[@as string]]), code
  end
  text, message, code = encode(small)
  if not text then
    return nil, as_written(message --[[@as string]]), code
  end
  return text, blobs[1] and blobs or nil
end

---Bytes as valid UTF-8; invalid ones are replaced by U+FFFD.
---@param text any  what is no text is shown as what it is
---@return string
function M.printable(text)
  text = names.said(text)
  local out, at = {}, 1
  while at <= #text do
    local bad = select(2, utf8.len(text, at))
    if not bad then
      break
    end
    out[#out + 1] = text:sub(at, bad - 1)
    out[#out + 1] = "\u{FFFD}"
    at = bad + 1
  end
  out[#out + 1] = text:sub(at)
  return table.concat(out)
end

---@param payload string
---@param read_blob fun(digest: string): string|nil, string?, string?
---@return table|nil record
---@return string? message
---@return string? code
function M.decode(payload, read_blob)
  local record, message, code = json.decode(payload)
  if type(record) ~= "table" then
    return nil, message or "not an object", code or "corrupt"
  end
  for _, path in ipairs(record.blobs or {}) do
    local holder, key = record, path[1]
    if path[2] then
      holder, key = record[path[1]], path[2]
    end
    local text, why, cause = read_blob(holder[key].sha256)
    if text then
      text, why, cause = json.decode(text)
    end
    if text == nil then
      return nil, why, cause
    end
    holder[key] = text
  end
  record.blobs = nil
  return record
end

return M
