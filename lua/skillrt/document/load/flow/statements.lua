-- document/load/flow/statements.lua: whether a line states how phases follow each other: a loop, a choice, a
-- condition, a group that runs at once.
--
-- Decides by words that stand near the phases a line names; judges one line, knows no documents.
-- Called by flow.lua.
local M = {}

---@alias skillrt.load.FlowKind "loop"|"choice"|"condition"|"parallel"

-- Each pattern is looked for in small letters, without marks. N stands for the phases of a line.
local LOOPS = {
  "repeat%a* [^.;,:]-phases? n", "phases? n repeat", "n repeat%f[%W]", "repeat n%f[%W]",
  "iterate%a* [%a ]-phases? n", "loop%a* [%a ]-phases? n", "phases? n loops? until", "loop %(n%)", "loop: n%f[%W]",
  "back to phases? n", "back to n%f[%W]", "returns? to phases? n",
  "restarts? f?r?o?m?a?t? ?phases? n", "re%-?run phases? n",
  "re%-?enter phases? n", "re%-?execute phases? n",
  "phases? n for each%f[%W]", "phases? n for every%f[%W]", "phases? n once per%f[%W]", "phases? n once for each%f[%W]",
  "for each .-, run phases? n", "for every .-, run phases? n",
  "\u{91CD}\u{590D}.-n%f[%W]", "\u{5FAA}\u{73AF}.-n%f[%W]", "\u{8FED}\u{4EE3}.-n%f[%W]", "\u{56DE}\u{5230}.-n%f[%W]",
  "\u{8FD4}\u{56DE}.-n%f[%W]", "\u{91CD}\u{65B0}\u{6267}\u{884C}.-n%f[%W]",
}

-- Of a heading or a line that begins with a phase: what the brackets behind it say.
local IN_ROUNDS = { "per %a+", "for each .*", "each %a+", "iterative", "loop.*", "repeat.*", "iterat.*",
  "\u{5FAA}\u{73AF}.*", "\u{8FED}\u{4EE3}.*" }
local AT_TIMES = { "optional.*", "conditional.*", "skippable.*", "skip .*", "if .*", "when .*", "unless .*", "only .*",
  "%a+ mode only", "%a+ only", "\u{53EF}\u{9009}.*", "\u{6761}\u{4EF6}.*", "\u{4EC5}.*" }

local CHOICES = {
  "only one phase", "only one of .-phase", "exactly one .-phase", "one of the following phases", "either phases? n",
  "choose .-phases? n or ", "phases? n or phases? n", "never both", "never run both", "mutually exclusive",
  "one phase .-per invocation", "\u{53EA}\u{6267}\u{884C}.-\u{4E00}\u{4E2A}.-\u{9636}\u{6BB5}",
}

local CONDITIONS = {
  "skip%a* to .-phases? n", "skip%a* phases? n", "skip%a* .-directly to phases? n", "phases? n [^.;]-skipped",
  "phases? n only%f[%W]", "phases? n is optional",
  "phases? n is conditional", "phases? n unless", "any of .-phases? n", "any one of .-phases? n",
  "^if [^.;]-[,:>] .-phases? n", "%f[%w]if [^.;]-: .-phases? n", "%f[%w]when [^.;]-: .-run phases? n",
  "%f[%w]if [^.;]-, %a+ phases? n", "%f[%w]if [^.;]- launch phases? n", "only if .- run phases? n",
  "proceed directly to phases? n", "jump%a* to phases? n", "phases? n %(added dynamically",
  "run phases? n [^.;]-if%f[%W]", "run phases? n [^.;]-when%f[%W]", "run phases? n [^.;]-unless%f[%W]",
  "\u{8DF3}\u{8FC7}[^.]-n%f[%W]", "\u{5982}\u{679C}.-\u{6267}\u{884C}%s*phases? n",
}

-- "Phase 2 runs only if": near each other, else it is something in the phase.
local ONLY = { "phases? n([^.;]-)only if%f[%W]", "phases? n([^.;]-)only when%f[%W]" }
local MAX_BETWEEN <const> = 30

local function runs_only(told)
  for _, pattern in ipairs(ONLY) do
    local between = told:match(pattern)
    if between and #between <= MAX_BETWEEN then
      return true
    end
  end
  return false
end

-- In a phase's own document: "this phase".
local OF_THIS = { "this phase only", "skip this phase", "this phase is optional", "this phase is conditional",
  "this phase is skipped", "this phase runs only", "this phase unless", "only run this phase", "run this phase if",
  "run this phase when",
  "\u{8DF3}\u{8FC7}\u{672C}\u{9636}\u{6BB5}", "\u{4EC5}.-\u{6267}\u{884C}\u{672C}\u{9636}\u{6BB5}" }

local AT_ONCE = { "in parallel", "concurrent", "simultaneous", "at the same time", "run parallel", "\u{5E76}\u{884C}",
  "\u{540C}\u{65F6}" }

-- What happens when something goes wrong: the runtime's own affair, unless it leads back.
local FAILS = { "fails?%f[%W]", "failed", "failure", "error", "\u{5931}\u{8D25}", "\u{9519}\u{8BEF}" }
local RESUMES = { "resum", "%f[%a]not [^.;:]-%f[%a]re%-%a", "without re%-%a",
  "^note", "anti%-pattern", "wrong:", "not .-in parallel", "never .-in parallel", "previous",
  "if .-exists", "re%-?read", "prohibited", "not allowed", "must not", "never skip" }

local function any(text, patterns)
  for _, pattern in ipairs(patterns) do
    if text:find(pattern) then
      return true
    end
  end
  return false
end

-- Whether a sentence says of the phases that it names that they run at once.
local function at_once(told)
  for sentence in (told:gsub("%.%s", "\n") .. "\n"):gmatch "[^\n]+" do
    if sentence:find "%f[%w]n%f[%W]" and any(sentence, AT_ONCE) then
      return true
    end
  end
  return false
end

-- Small letters, no marks of emphasis, each phase's number an "n".
local function plain(text)
  text = text:gsub("`[^`]*phases/[^`]*`", " phase 0 "):gsub("%[[^%]]*%]%([^)]*%)", function(link)
    return (link:find "phases/" or link:find "%(phase 0%)") and " phase 0 " or link:match "%[(.-)%]"
  end)
  text = text:lower():gsub("[*_`\"]", ""):gsub("^>%s*", ""):gsub("\u{9636}\u{6BB5}%s*%d", "phase %0")
  text = text:gsub("phases?/[%w_.-]+%.md", "phase 0")
  -- a list of numbers is one n, so that "2-4", "2, 3 and 5" and "2" read alike
  text = text:gsub("%f[%w]p?%d[%d.]*%f[^%w.]", "n"):gsub("n%.", "n.")
  for _ = 1, 6 do
    local before = text
    text = text:gsub("n%s*[-,&/~]%s*n%f[%W]", "n"):gsub("n\u{2013}n", "n"):gsub("n\u{2192}n", "n")
    text = text:gsub("n and n%f[%W]", "n"):gsub("n to n%f[%W]", "n"):gsub("n, and n%f[%W]", "n")
    if text == before then
      break
    end
  end
  text = text:gsub("\u{2192}", "->")
  return text
end

-- What brackets or a dash behind a phase at the beginning of a line say: "Phase 2: Check (optional)".
local function remark_of(text)
  local rest = text:match "^[%s%-#|`+>]*phases? n(.*)$" or text:match "^[^:]-phase n(.*)$"
  if not rest then
    return {}
  end
  local out = {}
  for inside in rest:gmatch "[%(%[]([^%(%)%[%]]+)[%)%]]" do
    out[#out + 1] = inside:match "^%s*(.-)%s*$"
  end
  return out
end

local function whole(remarks, patterns)
  for _, remark in ipairs(remarks) do
    for _, pattern in ipairs(patterns) do
      if remark:find("^" .. pattern .. "$") then
        return true
      end
    end
  end
  return false
end

---What a line says of the phases it names.
---@param text string
---@param named integer   how many phases it names
---@param own boolean     it stands in a phase's document
---@param bound boolean   it is a heading, or the beginning of a line names the phase
---@return skillrt.load.FlowKind?
function M.kind(text, named, own, bound)
  local told = plain(text)
  if own and any(told, OF_THIS) then
    return "condition"
  elseif any(told, CHOICES) and not any(told, RESUMES) and (told:find "phase" or told:find "\u{9636}\u{6BB5}") then
    return "choice"
  elseif named == 0 then
    return nil
  elseif any(told, RESUMES) then
    return nil
  elseif any(told, LOOPS) then
    return "loop"
  end
  local remarks = bound and remark_of(told) or {}
  if whole(remarks, IN_ROUNDS) then
    return "loop"
  elseif whole(remarks, AT_TIMES) then
    return "condition"
  elseif named >= 2 and at_once(told) then
    return "parallel"
  elseif (any(told, CONDITIONS) or runs_only(told)) and not any(told, FAILS) then
    return "condition"
  end
  return nil
end

-- In a phase's own document: what is done next is another's.
local FOLLOWS = { "read fully and follow", "read and follow", "read and execute", "load and follow", "load and execute",
  "read fully, and follow", "early exit", "proceed to phase", "continue with phase", "continue to phase", "go to phase",
  "return to phase", "goto phase" }

---Whether a line of a phase's own document says which phase comes behind it.
---@param text string
---@return boolean
function M.is_lead(text)
  local told = plain(text)
  return any(told, FOLLOWS) and not any(told, RESUMES)
end

-- A round among what stands around it: "loop back to (a)", "(loop if new issues are found)".
local ROUNDS = { "%f[%a]loop back", "%f[%a]loop if", "%f[%a]loop until", "%f[%a]loop while", "repeats? until",
  "iterates? until", "repeats? from", "%f[%a]repeats? steps?", "back to %(?%a%)?%f[%W]", "back to step",
  "\u{5FAA}\u{73AF}\u{76F4}\u{5230}", "\u{91CD}\u{590D}\u{76F4}\u{5230}" }

---Whether a line that names no phase states a round among those that stand around it.
---@param text string
---@return boolean
function M.is_round(text)
  local told = text:lower():gsub("[*_`\"]", "")
  return any(told, ROUNDS) and not any(told, RESUMES)
end

---Whether a line says that neighbouring phases run at once, in so many words.
---@param text string
---@return boolean
function M.is_plain_group(text)
  local told = plain(text):gsub("^[%s%-+#]*", ""):gsub("[.!]$", "")
  return told:find "^phases? n run in parallel$" ~= nil or told:find "^phases? n run concurrently$" ~= nil
    or told:find "^run phases? n in parallel$" ~= nil
end

return M
