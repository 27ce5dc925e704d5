-- document/check/references.lua: names without a target: actions, phases, prompts, templates, tools, tool sets,
-- strategies, nodes of graphs; and documents that nothing names.
--
-- Looks at names only. Called by document/check/init.lua.
local files = require "skillrt.base.files"
local names = require "skillrt.base.names"
local passages = require "skillrt.document.load.passages"
local tree = require "skillrt.expr.tree"
local strategy = require "skillrt.skill.strategy"
local tables = require "skillrt.base.tables"

local M = {}

local HOOKS <const> = require("skillrt.skill.ends").TERMINAL

-- The suggestion for an unknown id; cached, as documents repeat names and finding the nearest compares all of them.
local function unknown(model, id)
  local hints = model.hints or {}
  model.hints = hints
  if not hints[id] then
    hints[id] = names.meant(id, model.by_id)
  end
  return hints[id]
end

-- Every node of a condition's tree.
local function walk(node, visit)
  visit(node)
  tree.each_below(node, walk, visit)
end

local function is_name(node, name)
  while type(node) == "table" and node.type == "chain" do
    node = node.expression
  end
  return type(node) == "table" and node.type == "name" and node.name == name
end

-- The actions and phases a condition names.
local function named_in(condition)
  local out = {}
  walk(condition.ast, function(node)
    local argument = node.argument
    if node.type == "call" and node.method == "includes" and is_name(node.object, "completed_actions") then
      if type(argument) == "table" and argument.type == "literal" and type(argument.value) == "string" then
        out[#out + 1] = { kind = "action", id = argument.value }
      end
    elseif node.type == "member" and is_name(node.object, "outputs") and type(node.key) == "string" then
      out[#out + 1] = { kind = "phase", id = node.key }
    end
  end)
  return out
end

local function check_conditions(model, found)
  local seen = {}
  for _, one in ipairs(model.steps) do
    for _, condition in ipairs(one.when) do
      local named = type(condition) == "table" and (seen[condition] or named_in(condition)) or {}
      seen[condition] = named
      for _, name in ipairs(named) do
        if not model.by_id[name.id] then
          found:add("reference." .. name.kind, model.place(condition.text, one.id, one.kind),
            ('%s "%s": `%s` names the %s "%s", which does not exist%s'):format(
              one.kind, one.id, condition.text, name.kind, name.id, unknown(model, name.id)))
        end
      end
    end
  end
end

-- What documents name as the next action.
local function check_links(subject, model, found)
  for _, link in ipairs(#model.actions > 0 and subject.prose and subject.prose.links or {}) do
    local hook = HOOKS[link.to] -- a skill.lua is certainly run by the runtime
    if not model.by_id[link.to] and not (hook and subject.tree and subject.tree:has "skill.lua") then
      local why = hook and "the runtime ends the run there itself; what the author meant to do is not done" or nil
      found:add("reference.action", link, ('action "%s" routes to "%s", and there is no such action%s'):format(
        link.from, link.to, unknown(model, link.to)), { level = hook and "note" or "warning", why = why })
    end
  end
end

local function check_prompts(subject, model, found)
  for _, one in ipairs(model.steps) do
    local prompt = one.prompt
    local is_path = type(prompt) == "string" and not prompt:find "[ \n]"
    if is_path and not files.stat(files.join(subject.dir or ".", prompt)) then
      found:add("reference.file", model.place(prompt, one.id, one.kind),
        ('%s "%s": its prompt %s does not exist'):format(one.kind, one.id, prompt))
    end
  end
end

local function check_orphans(subject, model, found)
  if not (subject.tree and subject.config and #model.actions > 0) then
    return
  end
  for _, path in ipairs(subject.tree:within("phases/actions", "%.md$")) do
    local id = path:match "([^/]+)%.md$"
    if not model.by_id[id] then
      found:add("reference.orphan", { file = path },
        ('no action "%s" is declared; the document is not used'):format(id))
    end
  end
end

local object = tables.object

---What a config names, whether the rest of it can run or not.
---@param subject skillrt.check.Subject
---@param found skillrt.Findings
function M.config(subject, found)
  local config, ids = object(subject.config), {}
  for _, list in ipairs { "actions", "phases" } do
    for _, one in ipairs(object(subject.definition[list])) do
      ids[object(one).id or ""] = true
    end
  end
  for i, entry in ipairs(object(config.templates)) do
    local path = type(entry) == "table" and entry.path or entry
    if subject.tree and type(path) == "string" and not subject.tree:has(path) then
      found:add("reference.template", subject.place(("templates[%d]"):format(i)),
        ("template %s does not exist"):format(names.show(path)))
    end
  end
  local own, sets = object(config.x_skillrt), {}
  for _, set in ipairs(object(own.skills)) do
    sets[object(set).name or ""] = true
  end
  for _, kind in ipairs { "actions", "phases" } do
    for _, id in ipairs(names.sorted(object(own[kind]))) do
      local wanted = object(object(own[kind])[id]).tool_set
      local key = ("x_skillrt.%s.%s"):format(kind, id)
      if wanted and not sets[wanted] then
        found:add("reference.tool-set", subject.place(key),
          ('%s: there is no tool set "%s"'):format(key, tostring(wanted)))
      elseif not ids[id] then
        found:add("reference.action", subject.place(key), ('%s refines "%s", which is not declared%s'):format(
          key, id, names.meant(id, ids)))
      end
    end
  end
end

local HOST_TOOLS = tables.words [[Agent AskUserQuestion Bash Edit Glob Grep MultiEdit NotebookEdit Read Skill
  SlashCommand Task TodoWrite WebFetch WebSearch Write]]
local SAME_TOOL = { Agent = "Task", Task = "Agent" } -- renamed upstream (F16)

-- The tools a skill may use, as SKILL.md or the config lists them; nil: all.
local function allowed_tools(subject)
  local own = subject.skill_md and subject.skill_md.allowed_tools or {}
  local list = own[1] and own or object(subject.config).allowed_tools
  local allowed = {}
  if type(list) == "string" then
    for name in list:gmatch "[%w_]+" do
      allowed[name] = true
    end
  end
  for _, name in ipairs(object(list)) do
    local plain = tostring(name):match "^[%w_]+"
    allowed[plain or ""] = true
  end
  return next(allowed) and allowed or nil
end

-- Code with its texts and comments blanked out, at the same length: what a template writes for others is no call.
local function code_only(text)
  for _, pattern in ipairs { "`[^`]*`", '"[^"\n]*"', "//[^\n]*", "'[^'\n]*'" } do
    text = text:gsub(pattern, function(part)
      return (part:gsub("[^\n]", " "))
    end)
  end
  return text
end

local SCRIPTS = tables.words "js javascript ts typescript"

-- Whether the comment above a call says not to make it.
local function is_wrong(block, at)
  local before = block.text:sub(1, at - 1):match "//([^\n]*)\n[^\n]*$" or ""
  return before:lower():find "wrong" ~= nil or before:find "\u{274C}" ~= nil or before:lower():find "bad" ~= nil
end

local function check_calls(block, allowed, path, told, found)
  local text = SCRIPTS[block.lang] and code_only(block.text) or ""
  for at, name in text:gmatch "()(%u%w+)%(" do
    local unknown_tool = HOST_TOOLS[name] and not allowed[name] and not allowed[SAME_TOOL[name]]
    if unknown_tool and not told[name] and not text:sub(at - 1, at - 1):find "[%w_]" and not is_wrong(block, at) then
      told[name] = true
      local line = block.line + 1 + select(2, text:sub(1, at - 1):gsub("\n", ""))
      found:add("reference.tool", { file = path, line = line },
        ("calls %s, which is not among the skill's allowed tools"):format(name))
    end
  end
end

local function check_tools(subject, found)
  local allowed, page = allowed_tools(subject), subject.skill_md
  local line = page and page.allowed_tools[1] and page.lines["allowed-tools"]
  for _, name in ipairs(names.sorted(allowed or {})) do
    local near = not HOST_TOOLS[name] and names.meant(name, HOST_TOOLS) or ""
    if near ~= "" then
      found:add("reference.tool", line and { file = "SKILL.md", line = line } or subject.place "allowed_tools",
        ("allows %s, which no host has%s"):format(names.show(name), near),
        { why = "a host gives the agent no such tool", fix = "correct its name" })
    end
  end
  for _, path in ipairs(allowed and subject.tree and subject.tree.paths or {}) do
    local told, blocks = {}, (path == "SKILL.md" or path:find "^phases/.*%.md$") and subject.tree:document(path) or {}
    passages.each(blocks, function() end, function(block, example)
      if not example then
        check_calls(block, allowed, path, told, found)
      end
    end)
  end
end

local function check_strategy(subject, model, found)
  local name = model.chooses
  for _, known in ipairs { "function", table.unpack(strategy.BUILTIN) } do
    if name == known then
      return
    end
  end
  local path = model.strategy.path
  if not (path and (files.stat(files.join(subject.dir or ".", path)) or files.stat(path))) then
    found:add("reference.strategy", model.place(name),
      ('there is no strategy "%s"%s'):format(name, names.suggest(name, strategy.BUILTIN)))
  end
end

---@param subject skillrt.check.Subject
---@param model skillrt.check.Model
---@param found skillrt.Findings
function M.check(subject, model, found)
  check_conditions(model, found)
  check_links(subject, model, found)
  check_prompts(subject, model, found)
  check_orphans(subject, model, found)
  check_tools(subject, found)
  check_strategy(subject, model, found)
end

return M
