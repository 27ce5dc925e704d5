-- skill.lua: unit tests for a small C library: an agent reads it, writes tests, and repairs them until they compile and
-- pass, or its repairs are used up. The verification is no opinion: it runs the compiler and the tests.
--
--   skillrt examples/unit_tests/skill.lua                        replies from a script, no key needed
--   skillrt run examples/unit_tests/skill.lua --agent claude     a real agent; anthropic, openai, codex ... likewise
--   ... --set retries=1                                          repairs at most (3)
--
-- A model has in each phase the tools of its set, and no others.

local skillrt = require "skillrt"

local stand_in = skillrt.agent.command { "sh", "{dir}/stand_in.sh", stdin = "{prompt}", parse = "json",
  idempotent = true, env = { STAND_IN_SECONDS = true, PATH = true } }

-- The lines of an output that say what is wrong.
local function errors_in(text)
  local list = {}
  for line in text:gmatch "[^\n]+" do
    if #list < 20 and (line:find(": error:", 1, true) or line:find("^FAILED ")) then
      list[#list + 1] = line
    end
  end
  return skillrt.json.array(list[1] and list or { text:sub(1, 500) })
end

-- Whether a program succeeds, and what is wrong; nil, message, class: it could not be run.
local function try(ctx, argv)
  local reply, message, class, bad = ctx.await { kind = "command", argv = argv, idempotent = true, timeout = 60 }
  if reply then
    return true, skillrt.json.array {}
  elseif not (bad and bad.code) then
    return nil, message, class
  end
  return false, errors_in((bad.stdout or "") .. (bad.stderr or ""))
end

local function compile(ctx)
  local library = ctx.dir .. "/library"
  return try(ctx, { "env", "LC_ALL=C", "cc", "-std=c11", "-Wall", "-Werror", "-I", library, "-o",
    ctx.work_dir .. "/test_words", ctx.work_dir .. "/test_words.c", library .. "/words.c" })
end

local function verify(_, ctx)
  local good, errors, class = compile(ctx)
  if good then
    good, errors, class = try(ctx, { ctx.work_dir .. "/test_words" })
  end
  if good == nil then
    return nil, errors, class
  end
  ctx.log(good and "the tests pass" or errors[1])
  return { success = good, errors = errors, max_retries = tonumber(ctx.input.retries) or 3 }
end

local function keeps(phase, more)
  local out = { at_start = { phase = phase } }
  for key, value in pairs(more or {}) do
    out[key] = value
  end
  return out
end

local PROMPTS <const> = {
  analysis = "Read the C library in library/ of [SKILL_DIR]. Say in `analysis` which functions it has, and which "
    .. "inputs are worth a test.",
  generation = "Write unit tests for it as one file, test_words.c, in the work directory. It includes words.h, prints "
    .. "a line with FAILED for each check that fails, and ends with 1 then.",
  repair = "The tests do not compile, or fail: `errors_found` says how. The library is right. Fix test_words.c.",
}

return skillrt.skill {
  name = "unit-tests",
  description = "Writes and repairs unit tests for a small C library",
  state = { verified = false, success = false, retry_count = 0, max_retries = 3,
    errors_found = skillrt.json.array {} },
  agents = { writer = skillrt.chosen_agent() or stand_in },
  roots = { read = { "{dir}/library", "{work_dir}" }, write = { "{work_dir}" } },
  tools = { read_file = true, list_dir = true, grep = true, write_file = true, edit = true,
    compile = { description = "Compiles the tests and says what is wrong with them", run = function(_, ctx)
      local good, errors = compile(ctx)
      return good and "they compile" or errors
    end } },
  tool_sets = {
    { name = "analysis", description = "Read and understand the library", tools = { "read_file", "list_dir", "grep" } },
    { name = "generation", description = "Write the tests", tools = { "read_file", "write_file", "compile" } },
    { name = "verification", description = "Compile and run the tests", tools = { "compile" } },
    { name = "repair", description = "Fix what failed", tools = { "read_file", "edit", "write_file", "compile" } },
  },
  actions = {
    { id = "analysis", priority = 40, tool_set = "analysis", agent = "writer", prompt = PROMPTS.analysis,
      keeps = keeps "analysis" },
    { id = "generation", priority = 30, tool_set = "generation", agent = "writer", prompt = PROMPTS.generation,
      when = "completed_actions.includes('analysis')", keeps = keeps "generation" },
    { id = "verification", priority = 20, tool_set = "verification", run = verify, max_runs = 100,
      when = "completed_actions.includes('generation') && !verified",
      keeps = keeps("verification", { at_end = { verified = true }, needs = { "success" },
        takes = { errors = "errors_found" } }) },
    { id = "repair", priority = 10, tool_set = "repair", agent = "writer", prompt = PROMPTS.repair, max_runs = 100,
      when = "verified && !success && retry_count < max_retries",
      keeps = { at_start = { phase = "repair", verified = false }, counts = "retry_count" } },
    { id = "done", when = "verified && success", terminal = "completed" },
    { id = "given-up", when = "verified && !success && retry_count >= max_retries", terminal = "failed" },
  },
}
