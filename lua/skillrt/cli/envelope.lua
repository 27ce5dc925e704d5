-- cli/envelope.lua: writes and reads statements in signed envelopes (DSSE), and the key that signs.
--
-- A receipt has one line for each envelope and only one valid spelling: a text that differs in a byte is refused.
-- Called by the commands receipt, verify and serve.

local core = require("skillrt.core")
local base64 = require("skillrt.base.base64")
local files = require("skillrt.base.files")
local json = require("skillrt.base.json")

local M = {}

local TYPE <const> = "application/vnd.in-toto+json"
local MAX_KEY <const>, MAX_RECEIPT <const> = 1 << 16, 256 << 20

local function signing()
  local found, sign = pcall(require, "skillrt.sign")
  if not found then
    return nil, "skillrt/sign.so: cannot be loaded: install libcrypto (OpenSSL 3), or build skillrt again\n" .. sign
  end
  return sign
end

---The option by which a command names a key.
---@param help string
---@return skillrt.Option
function M.option(help)
  return { name = "key", value = "FILE", help = help .. "; default: receipt.key in ~/.local/state/skillrt" }
end

-- A key of this person's own, made if it is missing.
local function own_key(sign, makes)
  local folder = files.state_home()
  local path = folder and folder .. "/receipt.key"
  if not path then
    return nil, "there is no folder for a key: set HOME or XDG_STATE_HOME, or name one: --key FILE"
  end
  local there, message, code = files.stat(path)
  if there or code ~= "missing" then
    return there and path, message
  elseif not makes then
    return nil, path .. ": you have no key here; name the signer's: --key FILE"
  end
  local pem, why = sign.generate()
  local ok = pem
  if ok then
    ok, why = files.make_folders(folder)
  end
  if ok then
    ok, why = files.create(path, pem)
  end
  if ok then
    ok, why = files.write(path .. ".pub", sign.public(pem))
  end
  if not ok then
    return nil, why
  end
  require("skillrt.report.output").say("info", ("made the key %s; others verify with %s.pub"):format(path, path))
  return path
end

---The key in a file, and skillrt.sign.
---@param path string|nil
---@param makes boolean|nil  the person's own key, if it is missing
---@return { sign: table, pem: string, id: string }|nil key
---@return string? message
function M.key(path, makes)
  local sign, message = signing()
  if sign and not path then
    path, message = own_key(sign, makes)
  end
  local pem, public
  if path and sign then
    pem, message = files.read(path, MAX_KEY, true)
  end
  if pem then
    public, message = sign.public(pem)
    message = message and ("%s: %s"):format(path, message)
  end
  return public and { sign = sign, pem = pem, id = core.sha256(public) }, message
end

-- The bytes that are signed: DSSE's pre-authentication encoding.
local function signed(body)
  return ("DSSEv1 %d %s %d %s"):format(#TYPE, TYPE, #body, body)
end

local function envelope(body, id, signature)
  return assert(json.encode({ payload = base64.encode(body), payloadType = TYPE,
    signatures = json.array({ { keyid = id, sig = base64.encode(signature) } }) }, { sorted = true }))
end

---The receipt of a run: a line for each statement.
---@param dir string
---@param path string|nil  of the key; nil: the person's own, made if it is missing
---@return string|nil text
---@return string? message
---@return string? code
function M.receipt(dir, path)
  local lines, message, code = require("skillrt.report.receipt").statements(dir)
  if not lines then
    return nil, message, code
  end
  local key, problem = M.key(path, true)
  for i, body in ipairs(key and lines or {}) do
    local signature, why = key.sign.sign(key.pem, signed(body))
    if not signature then
      return nil, why, "invalid"
    end
    lines[i] = envelope(body, key.id, signature) .. "\n"
  end
  return key and table.concat(lines), problem, "invalid"
end

-- The statement of one line; or nil and what is wrong.
local function opened(key, line)
  local one = json.decode(line)
  local first = type(one) == "table" and type(one.signatures) == "table" and one.signatures[1]
  local body = type(first) == "table" and type(one.payload) == "string" and base64.decode(one.payload)
  local signature = body and type(first.sig) == "string" and base64.decode(first.sig)
  if not signature then
    return nil, "is not a line of a receipt"
  elseif first.keyid ~= key.id then
    return nil, "is signed by another key"
  elseif envelope(body, key.id, signature) ~= line then
    return nil, "is not written in the form of a receipt"
  elseif not key.sign.verify(key.pem, signed(body), signature) then
    return nil, "its signature is invalid"
  end
  return body
end

---The statements of a receipt whose signatures are valid, the run's first, with all that it names.
---@param path string
---@param key_path string|nil  as for key
---@return string[]|nil statements
---@return string|table message_or_run  the predicate of the first
---@return string? code
function M.open(path, key_path)
  local text, why = files.read(path, MAX_RECEIPT, true)
  if not text then
    return nil, why --[[@as string]], "system"
  elseif text:find('^{"payload":"') == nil then -- no line of one begins otherwise
    return nil, path .. ": is no receipt", "corrupt"
  end
  local key, wrong = M.key(key_path)
  if not key then
    return nil, wrong --[[@as string]], "invalid"
  end
  local list, digests, size = {}, json.array({}), 0
  for line in text:gmatch("([^\n]*)\n") do
    local body, problem = opened(key, line)
    if not body then
      return nil, ("%s: line %d: %s"):format(path, #list + 1, problem), "corrupt"
    end
    list[#list + 1], size = body, size + #line + 1
    digests[#digests + 1] = #list > 1 and core.sha256(body) or nil
  end
  local run = list[1] and json.decode(list[1])
  if not run or size ~= #text or json.encode(run.predicate.acts) ~= json.encode(digests) then
    return nil, path .. ": a part of the receipt is missing, or was added", "corrupt"
  end
  return list, run.predicate
end

return M
