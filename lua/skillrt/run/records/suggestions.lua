-- run/records/suggestions.lua: what to do about a failure, by its class, in the words of an error report (R186, R188).
--
-- Pure. Called by records.lua.

local M = {}

-- Each class: its name, the stage of the lifecycle that it belongs to, and what to do.
local CLASSES <const> = {
  context = { "context missing", "缺少上下文", "preparing",
    { "Check that the files that the skill reads exist, and that their paths are right.",
      "Provide the missing context, or name another source for it." },
    { "确认所需的上下文存在并且路径正确。", "补充缺少的上下文，或指定其他来源。" } },
  missing = { "dependency missing", "依赖缺失", "preparing",
    { "Install or restore what is missing, and check its path.", "Check the environment that the run was given." },
    { "安装或恢复缺失的依赖，并检查路径是否正确。", "检查运行环境。" } },
  validation = { "validation failed", "验证失败", "validating",
    { "Look at the result and at the check that rejected it.", "Adjust the prompt or the check." },
    { "查看输出以及未通过的检查。", "调整提示词或检查规则。" } },
  invalid_output = { "unusable answer", "答复无法使用", "validating",
    { "Look at the agent's answer: skillrt report DIR shows it.", "State the form of the answer in the prompt, or "
      .. "declare a schema." },
    { "查看 Agent 的答复：skillrt report DIR。", "在提示词中说明答复的格式，或声明 schema。" } },
  timeout = { "timeout", "超时", "executing",
    { "Check whether the agent or server can be reached and how long it takes.", "Raise the action's timeout." },
    { "检查能否连接到 Agent 或服务器，以及它需要多长时间。", "提高该动作的超时时间。" } },
  transient = { "transient failure", "暂时性错误", "executing",
    { "Wait a while: the failure may be temporary.", "Check the network and the server." },
    { "稍后再试：问题可能会自行消失。", "检查网络和服务器。" } },
  rate_limit = { "rate limit", "速率受限", "executing",
    { "Wait until the provider's limit is lifted.", "Lower max_parallel, or use another agent." },
    { "等待服务商的限额恢复。", "降低 max_parallel，或换用其他 Agent。" } },
  denied = { "not permitted", "权限不足", "executing",
    { "Check the key, the login and the permissions of the agent." }, { "检查密钥、登录状态和 Agent 的权限。" } },
  limit = { "limit reached", "达到上限", "executing",
    { "See what was used: skillrt status DIR.", "Raise the limit if that is right: "
      .. "skillrt resume DIR --add LIMIT=NUMBER." },
    { "查看用量：skillrt status DIR。", "如确有需要，提高上限：skillrt resume DIR --add LIMIT=NUMBER。" } },
  fatal = { "fatal", "致命错误", "executing",
    { "Fix what the message names first.", "Start a new run if the old one cannot be fixed." },
    { "先修复错误信息所指出的问题。", "如果无法修复，请重新开始一次运行。" } },
  execution = { "execution failed", "执行失败", "executing",
    { "Look at the step, its calls and what they said: skillrt report DIR.", "See why it was chosen, and what else "
      .. "could run: skillrt explain DIR.", "Fix the action, or replace it by another one." },
    { "查看该步骤及其调用：skillrt report DIR。", "查看选择该动作的原因和其他可选动作：skillrt explain DIR。", "修复该动作，或提供替代动作。" } },
}

local MEANT <const> = { permanent = "execution", script = "execution", definition = "context", unrecoverable = "fatal",
  error_limit = "execution", run_timeout = "limit", action_failed = "execution", phase_failed = "execution" }

local STAGES <const> = {
  preparing = { en = "preparing", zh = "准备阶段" },
  executing = { en = "executing", zh = "执行阶段" },
  validating = { en = "validating", zh = "验证阶段" },
}

local AGAIN <const> = { en = "Then try it again: skillrt retry DIR.", zh = "然后重试：skillrt retry DIR。" }

local function row_of(class, reason)
  local found = CLASSES[class] or CLASSES[MEANT[class]]
  if not found and (tostring(class) .. tostring(reason)):find("limit") then
    found = CLASSES.limit
  end
  return found or CLASSES.execution
end

---The name of a class.
---@param class string
---@param lang "en"|"zh"
---@return string
function M.name(class, lang)
  return ("%s (%s)"):format(row_of(class)[lang == "zh" and 2 or 1], class)
end

---The name of a stage of the lifecycle.
---@param name "preparing"|"executing"|"validating"
---@param lang "en"|"zh"
---@return string
function M.stage_name(name, lang)
  return STAGES[name][lang]
end

---The stage of the lifecycle in which failures of a class occur.
---@param class string
---@param lang "en"|"zh"
---@return string
function M.stage(class, lang)
  return M.stage_name(row_of(class)[3], lang)
end

---What to do, in order.
---@param class string
---@param reason string|nil  why the run ended
---@param lang "en"|"zh"
---@param dir string
---@return string[]
function M.for_class(class, reason, lang, dir)
  local row, out = row_of(class, reason), {}
  for _, text in ipairs(row[lang == "zh" and 5 or 4]) do
    out[#out + 1] = text
  end
  if row ~= CLASSES.limit then
    out[#out + 1] = AGAIN[lang]
  end
  for i, text in ipairs(out) do
    out[i] = text:gsub("DIR", (dir:gsub("%%", "%%%%")))
  end
  return out
end

return M
