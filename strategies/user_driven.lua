-- user_driven: a person chooses (R92): one question, one choice.
--
-- Without an answer it returns the question; the run asks it, on the terminal or later through `skillrt answer`, and
-- calls again with ctx.answer: an id, or false when the person gave up.

local MAX_OPTIONS = 200

local WORDS = {
  en = { header = "Action", question = "Choose the next action:" },
  zh = { header = "操作", question = "选择下一个操作：" },
}

local function ask(available, language)
  local words = WORDS[language] or WORDS.en
  local options = {}
  for i = 1, math.min(#available, MAX_OPTIONS) do
    local action = available[i]
    options[i] = { id = action.id, label = action.name or action.id, description = action.description or "" }
  end
  return {
    header = words.header,
    question = words.question,
    options = options,
    more = #available - #options,
  }
end

return {
  name = "user_driven",
  description = "a person chooses the next action",
  select = function(_, available, ctx)
    local answer = ctx and ctx.answer
    if answer == false then
      return nil, "user_exit"
    elseif answer ~= nil then
      return answer
    elseif #available == 0 then
      return nil, "nothing is runnable"
    end
    local options = ctx and ctx.options or {}
    return nil, { ask = ask(available, options.language or (ctx and ctx.language)) }
  end,
}
