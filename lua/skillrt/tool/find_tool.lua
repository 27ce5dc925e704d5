-- tool/find_tool.lua: the tool by which a model searches a large catalogue: tools that it finds are present from the
-- next request on, and nothing else of the catalogue is sent.
--
-- The result of a search depends only on its words and the existing tools, so a resume finds the same. Used by
-- agent/tools.lua; loop.lua asks `adds` after a search.

local tool_of = require("skillrt.tool")

local M = {}

---Its name.
M.TOOL = "find_tool"

local MOST <const> = 5 -- found by a search

-- The words of a text in lower case, without those of one or two letters: readFile and read_file are two words each.
local function words_of(text)
  local out = {}
  for word in text:gsub("(%l)(%u)", "%1 %2"):lower():gmatch("[%w\x80-\xFF]+") do
    out[word] = #word > 2 or nil
  end
  return out
end

-- How well words match: an equal word counts, one with the same beginning counts a little.
local function fit(asked, words)
  local score = 0
  for word in pairs(asked) do
    if words[word] then
      score = score + 4
    else
      for other in pairs(words) do
        local shorter = math.min(#word, #other)
        if shorter >= 3 and word:sub(1, shorter) == other:sub(1, shorter) then
          score = score + 1
          break
        end
      end
    end
  end
  return score
end

---The tools that match the words best, the best first; a name counts more than a description.
---@param registry skillrt.Registry
---@param query string
---@param known string[]?  the names that may be found; nil: all
---@return skillrt.Tool[]
function M.search(registry, query, known)
  local asked, found = words_of(query), {}
  for i, name in ipairs(known or registry:names()) do
    local tool = registry:find(name)
    local score = 3 * fit(asked, words_of(name)) + fit(asked, words_of(tool.description))
    if score > 0 and name ~= M.TOOL then
      found[#found + 1] = { tool = tool, score = score, at = i }
    end
  end
  table.sort(found, function(a, b)
    if a.score ~= b.score then
      return a.score > b.score
    end
    return a.at < b.at
  end)
  local out = {}
  for i = 1, math.min(MOST, #found) do
    out[i] = found[i].tool
  end
  return out
end

---The tool, for the tools of the registry that it is then added to.
---@param registry skillrt.Registry
---@param known string[]  the names that may be found
---@return skillrt.Tool
function M.make(registry, known)
  local tool = assert(tool_of.new({
    name = M.TOOL, source = "skillrt",
    description = ("Searches %d more tools by words of what you want to do. The best %d that fit can be called from "
      .. "your next turn on."):format(#known, MOST),
    input = { type = "object", properties = { words = { type = "string", minLength = 1, maxLength = 400 } },
      required = { "words" }, additionalProperties = false },
    perform = function(_, _, given)
      local lines = {}
      for i, one in ipairs(M.search(registry, given.words, known)) do
        lines[i] = ("%s: %s"):format(one.name, one.description)
      end
      return lines[1] and table.concat(lines, "\n") or "no tool fits these words; try others"
    end,
  }, "skillrt"))
  function tool.adds(given)
    local names = {}
    for i, one in ipairs(M.search(registry, given.words, known)) do
      names[i] = one.name
    end
    return names
  end
  return tool
end

return M
