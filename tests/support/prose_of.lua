-- prose_of.lua: what a document says as the orchestrator of a folder that holds nothing else.
local findings = require "skillrt.document.findings"
local prose = require "skillrt.document.load.prose"

---@param blocks skillrt.load.Markdown
---@return skillrt.load.Prose
return function(blocks)
  local tree = {}
  function tree.first() end
  function tree.has(_, path)
    return path == "phases/orchestrator.md"
  end
  function tree.read()
    return "" -- the document's text, which is there
  end
  function tree.document()
    return blocks
  end
  function tree.within()
    return {}
  end
  return prose.read(tree, findings.new())
end
