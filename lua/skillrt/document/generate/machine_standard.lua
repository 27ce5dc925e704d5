-- document/generate/machine_standard.lua: the state machine of seed 003 as one transition table, with its
-- contradictions resolved (F59-F62): what `"machine": "standard"` in a config stands for.
--
-- Data only. Called by config_machine; texts are { en, zh }.
return {
  initial = "initialized",
  states = {
    { "initialized", { "Waits for the target", "初始状态，等待目标" }, { "The skill starts", "技能启动" } },
    { "collecting_context", { "Collects what the work needs to know", "收集上下文信息" }, { "A target is there", "已有目标" } },
    { "analyzing", { "Analyses the target", "分析目标内容" }, { "The context is ready", "上下文就绪" } },
    { "planning", { "Makes a plan", "制定执行计划" }, { "The work is complex", "需要复杂规划" } },
    { "executing", { "Does the work", "执行具体行动" }, { "The plan is ready, or none is needed", "计划就绪，或无需规划" } },
    { "verifying", { "Verifies the result", "验证执行结果" }, { "The work is done", "执行完成" } },
    { "error", { "An error is to be dealt with", "处理错误" }, { "An error occurred", "发生错误" } },
    { "completed", { "The task is done", "任务完成" }, { "All goals are met", "所有目标达成" } },
    { "failed", { "The task cannot be done", "任务无法完成" }, { "Nothing helps any more", "无法恢复" } },
    { "aborted", { "A person gave up", "用户中止任务" }, { "The user aborts", "用户要求中止" } },
  },
  conditions = {
    { "hasEnoughData", "context.files.length > 0" },
    { "needsPlanning", "context.complexity > complexity_threshold" },
    { "isResultValid", "validation.passed === true" },
    { "isRecoverable", "recoverable === true" },
  },
  -- from, action, to, when, limit: the rows of one state are asked in their order
  transitions = {
    { "initialized", "collect_context", "collecting_context" },
    { "collecting_context", "analyze_target", "analyzing", "hasEnoughData" },
    { "collecting_context", "collect_context", "collecting_context", nil, 3 },
    { "analyzing", "create_plan", "planning", "needsPlanning" },
    { "analyzing", "execute_action", "executing" },
    { "planning", "execute_action", "executing" },
    { "executing", "verify_result", "verifying" },
    { "verifying", "complete", "completed", "isResultValid" },
    { "verifying", "analyze_target", "analyzing", nil, 3 },
    { "error", "analyze_target", "analyzing", "isRecoverable", 3 },
    { "error", "handle_error", "failed" },
  },
  actions = {
    collect_context = { "Collect what the work needs to know", "收集必要的上下文信息" },
    analyze_target = { "Analyse the target; decide whether a plan is needed", "分析目标，决定是否需要规划" },
    create_plan = { "Make a plan", "制定执行计划" },
    execute_action = { "Do the work", "执行具体行动" },
    verify_result = { "Verify the result", "验证执行结果" },
    complete = { "Mark the task as done", "标记任务完成" },
    handle_error = { "Report an error that nothing recovers from", "报告无法恢复的错误" },
  },
  errors = {
    { "ContextError", "Medium", "RETRY_WITH_ALTERNATIVE_SOURCE", "collecting_context", 3 },
    { "ValidationError", "High", "ADJUST_AND_RETRY", "analyzing", 3 },
    { "ExecutionError", "High", "TRY_ALTERNATIVE_ACTION", "error", 3 },
    { "FatalError", "Critical", "ABORT", "failed" },
  },
  initial_state = { complexity_threshold = 5, recoverable = true },
}
