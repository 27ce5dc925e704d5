-- json.lua: the core's JSON codec beside lua-cjson, in one process, on the same 1 MB document.
--
-- Each round takes both, in turn first, so that a slow moment of the machine hits both; the ratio
-- is the median of the rounds' own ratios.
local build = os.getenv "SKILLRT_BUILD" or "build/release"
package.cpath = ("%s/lib/?.so;"):format(build) .. package.cpath

local ROUNDS <const>, BYTES <const> = 21, 1000000

local function seconds(run)
  collectgarbage()
  collectgarbage()
  local start = os.clock()
  run()
  return os.clock() - start
end

return function(measure)
  local json = require("skillrt.core").json
  local cjson = require "cjson"
  local value = require "json_document"(BYTES, cjson)
  local text = assert(json.encode(value))
  local decoded = json.decode(text)
  assert(json.encode(decoded) == text, "the document does not round-trip")

  local function compare(what, bound, ours, theirs)
    local mine, others, ratios = {}, {}, {}
    for round = 1, ROUNDS do
      if round % 2 == 0 then
        mine[round], others[round] = seconds(ours), seconds(theirs)
      else
        others[round], mine[round] = seconds(theirs), seconds(ours)
      end
      ratios[round] = others[round] / mine[round]
    end
    local mega = #text / 1e6
    local detail = ("%.0f against %.0f MB/s"):format(mega / measure.median(mine), mega / measure.median(others))
    return measure.finding("json, 1 MB: " .. what .. ", speed against lua-cjson", measure.median(ratios), ">=", bound,
      detail)
  end

  local unsorted = { sorted = false }
  return {
    compare("decode", 1, function() json.decode(text) end, function() cjson.decode(text) end),
    compare("encode unsorted", 1, function() json.encode(decoded, unsorted) end, function() cjson.encode(decoded) end),
    compare("encode sorted", 0.6, function() json.encode(decoded) end, function() cjson.encode(decoded) end),
  }
end
