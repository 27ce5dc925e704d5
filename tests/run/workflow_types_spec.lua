-- workflow_types_spec.lua: docs/workflow.d.ts declares what workflow scripts find around them, and no more. Where
-- TypeScript is (make test-types), the scripts of docs/write/workflows.md and examples/ fit the declarations.
local pages = require "tests.support.pages"

local TSC = os.getenv "SKILLRT_TSC"

local function names(text, pattern)
  local found = {}
  for name in text:gmatch(pattern) do
    found[name] = true
  end
  return found
end

describe("docs/workflow.d.ts", function()
  local types, realm = pages.read "docs/workflow.d.ts", pages.read "lua/skillrt/skill/workflow/realm.js"

  it("declares what the realm of a script has", function()
    local api = assert(realm:match "\n  const api = {\n(.-)\n  };\n")
    local wanted = names("\n" .. api, "\n    a?s?y?n?c? ?(%l+)%(")
    for name in pairs(names(realm, "globalThis%.(%l+) = Object%.freeze")) do
      wanted[name] = true
    end
    wanted.args, wanted.console = true, nil -- console is the language's for every editor
    local declared = names(types, "\ndeclare function (%l+)")
    for name in pairs(names(types, "\ndeclare const (%l+)")) do
      declared[name] = true
    end
    assert.truthy(wanted.agent and wanted.budget and wanted.phase)
    assert.same(wanted, declared)
  end)

  it("declares the options of agent, and no option that is refused", function()
    local known = names(assert(realm:match "const OPTIONS = {(.-)}"), "(%w+): '")
    local declared = names(assert(types:match "interface SkillrtAgentOptions {(.-)\n}"), "\n  (%w+)%?:")
    assert.truthy(known.agentType)
    assert.same(known, declared)
  end)

  it("fits the scripts that the pages show, where TypeScript is", function()
    if not TSC then
      return
    end
    local scripts = { pages.read "examples/workflow/opinions.js",
      pages.read("docs/write/workflows.md"):match "```javascript\n(.-)```" }
    local folder <close> = pages.folder()
    local function check(name, script)
      local path = ("%s/%s.ts"):format(folder.path, name)
      local head, rest = script:match "^(export const meta.-)\n\n(.*)$"
      local file <close> = assert(io.open(path, "w"))
      file:write(head:gsub("= {", ": SkillrtMeta = {", 1), "\nasync function main() {\n", rest, "\n}\nvoid main\n")
      file:close()
      return pages.run(("%s --noEmit --strict --noImplicitAny false --target es2022 --lib es2022 docs/workflow.d.ts %s")
        :format(TSC, path))
    end
    for i, script in ipairs(scripts) do
      local said, code = check("script" .. i, script)
      assert(code == 0, said)
    end
    local wrong = "agent('x', { lable: 'y' })\n(await agent('x')).length\nparallel([agent('x')])"
    local said, code = check("wrong", "export const meta = { name: 'a', description: 'b' }\n\n" .. wrong:gsub("\n", ";\n"))
    assert.equal(2, code)
    for _, words in ipairs { "mean to write 'label'", "(4,1): error TS2531", "to type '() => unknown'" } do
      assert(said:find(words, 1, true), said)
    end
  end)
end)
