-- document/check/sarif.lua: findings in SARIF 2.1.0, which editors and CI services show at their lines.
--
-- Knows findings and paths; looks at nothing else. Called by cli/command/check.
local codes = require "skillrt.document.check.codes"
local files = require "skillrt.base.files"
local json = require "skillrt.base.json"

local M = {}

M.SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"

-- A path as a relative reference: what a URI may not hold is escaped.
local function uri_of(path)
  local plain = path:gsub("^%./", "")
  return (plain:gsub("[^%w/._~-]", function(c)
    return ("%%%02X"):format(c:byte())
  end))
end

-- Findings in a folder name files of the folder, others the path that was given.
local function path_of(result, finding)
  local folder = result.subject and result.subject.tree and result.path
  local file = finding.file or "."
  if not folder then
    return finding.file or result.path
  end
  return file == "." and folder or files.is_absolute(file) and file or folder:gsub("/+$", "") .. "/" .. file
end

local function rule_of(finding)
  local known = codes.CODES[finding.code]
  return {
    id = finding.code,
    shortDescription = { text = known and known.why or finding.why or finding.code },
    help = { text = known and known.fix or finding.fix or finding.code },
    defaultConfiguration = { level = known and known.level or finding.level },
  }
end

local function text_of(finding)
  local parts = { finding.what }
  parts[#parts + 1] = finding.why
  parts[#parts + 1] = finding.fix
  return table.concat(parts, "; ")
end

local function entry_of(result, finding, index)
  local region = finding.line and { startLine = finding.line } or nil
  local place = { artifactLocation = { uri = uri_of(path_of(result, finding)) }, region = region }
  return {
    ruleId = finding.code,
    ruleIndex = index - 1,
    level = finding.level,
    message = { text = text_of(finding) },
    locations = json.array { { physicalLocation = place } },
  }
end

---The log of several checks.
---@param results skillrt.check.Result[]
---@param version string  of skillrt
---@return table
function M.of(results, version)
  local rules, index, entries = json.array {}, {}, json.array {}
  for _, result in ipairs(results) do
    for _, finding in ipairs(result.findings) do
      if not index[finding.code] then
        rules[#rules + 1] = rule_of(finding)
        index[finding.code] = #rules
      end
      entries[#entries + 1] = entry_of(result, finding, index[finding.code])
    end
  end
  return {
    ["$schema"] = M.SCHEMA,
    version = "2.1.0",
    runs = json.array {
      { tool = { driver = { name = "skillrt", version = version, rules = rules } }, results = entries },
    },
  }
end

return M
