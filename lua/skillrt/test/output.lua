-- test/output.lua: how the results of tests are printed: plain for people, as JUnit's XML for other programs.
--
-- Writes as it goes, but for XML. Knows results, no tests.

local output = require("skillrt.report.output")
local text_of = require("skillrt.base.terminal_text")

local M = {}

local SIGN <const> = { success = "+", failure = "-", error = "*", pending = "." }
local WORD <const> = { failure = "Failure", error = "Error", pending = "Pending" }

local function counted(number, one, many)
  return ("%d %s"):format(number, number == 1 and one or many)
end

---@return table report  { test = fun(result), closed = fun(counts, seconds) }
function M.plain()
  local told = {}
  return {
    test = function(result)
      output.write(("%s %s\n"):format(SIGN[result.status], text_of.escape(result.name)))
      if result.status ~= "success" then
        told[#told + 1] = result
      end
    end,
    closed = function(counts, seconds)
      for _, result in ipairs(told) do
        output.write(("\n%s: %s @ %s\n"):format(WORD[result.status], text_of.escape(result.name),
          text_of.escape(result.line or result.file)))
        if result.message and result.message ~= "" then
          output.write("  " .. table.concat(text_of.lines(result.message), "\n  ") .. "\n")
        end
      end
      output.write(("\n%s / %s / %s / %d pending : %.3f seconds\n"):format(
        counted(counts.success, "success", "successes"), counted(counts.failure, "failure", "failures"),
        counted(counts.error, "error", "errors"), counts.pending, seconds))
    end,
  }
end

local ENTITIES <const> = { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;" }

local function xml(text)
  return (table.concat(text_of.lines(text), "\n"):gsub('[&<>"]', ENTITIES))
end

---XML as JUnit writes it.
function M.junit()
  local rows = {}
  return {
    test = function(result)
      local head = ('    <testcase classname="%s" name="%s" time="%.3f"'):format(xml(result.file), xml(result.name),
        result.seconds)
      if result.status == "success" then
        rows[#rows + 1] = head .. "/>"
      elseif result.status == "pending" then
        rows[#rows + 1] = head .. "><skipped/></testcase>"
      else
        rows[#rows + 1] = ('%s><%s message="%s">%s</%s></testcase>'):format(head, result.status,
          xml(text_of.lines(result.message or "")[1] or ""),
          xml(("%s\n%s"):format(result.line or "", result.message or "")), result.status)
      end
    end,
    closed = function(counts, seconds)
      local all = counts.success + counts.failure + counts.error + counts.pending
      output.write(('<?xml version="1.0" encoding="UTF-8"?>\n<testsuites>\n  <testsuite name="skillrt test" tests="%d" '
        .. 'failures="%d" errors="%d" skipped="%d" time="%.3f">\n%s\n  </testsuite>\n</testsuites>\n'):format(all,
        counts.failure, counts.error, counts.pending, seconds, table.concat(rows, "\n")))
    end,
  }
end

return M
