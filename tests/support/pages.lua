-- pages.lua: the fenced blocks of a Markdown page, and whether a program printed what a page says.
--
-- In the wanted output a line "..." stands for any number of lines, and "..." inside a line for
-- any text. Called by the specs of README, docs and examples.

local M = {}

---@param path string
---@return string
function M.read(path)
  local file <close> = assert(io.open(path, "rb"))
  return file:read "a"
end

---The fenced blocks of a page, in order.
---@param page string
---@return table[] blocks  { info, text, line }
function M.blocks(page)
  local found, block, number = {}, nil, 0
  for line in (page .. "\n"):gmatch "(.-)\n" do
    number = number + 1
    local info = line:match "^```(.*)$"
    if info and block then
      found[#found + 1] = block
      block = nil
    elseif info then
      block = { info = info, text = "", line = number }
    elseif block then
      block.text = block.text .. line .. "\n"
    end
  end
  return found
end

local function line_matches(line, wanted)
  local pattern = wanted:gsub("[%^%$%(%)%%%.%[%]%*%+%-%?]", "%%%0"):gsub("%%%.%%%.%%%.", ".*")
  return line ~= nil and line:find("^" .. pattern .. "$") ~= nil
end

---Whether the output is the wanted one, line by line.
---@param output string
---@param wanted string
---@return boolean
function M.matches(output, wanted)
  local lines, want = {}, {}
  for line in output:gmatch "([^\n]*)\n?" do
    lines[#lines + 1] = line
  end
  for line in wanted:gmatch "[^\n]+" do
    want[#want + 1] = line
  end
  local function from(i, k)
    if k > #want then
      return i > #lines or table.concat(lines, "", i) == ""
    elseif want[k] == "..." then
      for next_line = i, #lines + 1 do
        if from(next_line, k + 1) then
          return true
        end
      end
      return false
    end
    return line_matches(lines[i], want[k]) and from(i + 1, k + 1)
  end
  return from(1, 1)
end

---A folder of one's own below the system's temporary one; a to-be-closed value.
---@return table folder  { path }
function M.folder()
  local path = os.tmpname()
  os.remove(path)
  assert(os.execute(("mkdir '%s'"):format(path)))
  return setmetatable({ path = path }, {
    __close = function()
      os.execute(("rm -rf '%s'"):format(path))
    end,
  })
end

---Runs a command line; its output with the errors in it, and its exit code.
---@param command string
---@return string output
---@return integer code
function M.run(command)
  local pipe = assert(io.popen("{ " .. command .. "\n} 2>&1; echo \"exit $?\""))
  local output = pipe:read "a"
  pipe:close()
  local text, code = output:match "^(.*)exit (%d+)\n$"
  return text, math.tointeger(tonumber(code))
end

return M
