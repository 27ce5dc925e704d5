-- stand_in.lua: programs that stand in for coding agents: each prints the lines it was given, in order of its calls,
-- and keeps what it was called with. Required by specs of runs.
local M = {}

local SCRIPT = [[#!/bin/sh
here='%s'
n=$(($(cat "$here/count" 2>/dev/null || echo 0) + 1))
echo $n > "$here/count"
for word in "$@"; do printf '%%s\n' "$word"; done > "$here/args.$n"
env | sort > "$here/env.$n"
pwd > "$here/cwd.$n"
cat > "$here/stdin.$n"
[ -f "$here/out.$n" ] && cat "$here/out.$n"
[ -f "$here/err.$n" ] && cat "$here/err.$n" >&2
[ -f "$here/sleep.$n" ] && sleep "$(cat "$here/sleep.$n")"
exit "$(cat "$here/code.$n" 2>/dev/null || echo 0)"
]]

---@param R table          tests.support.runs
---@param program string   "claude" ...
---@param calls table[]    { out =, err =, code =, sleep = }; a string is what it prints
---@return table  path of its folder; of(n, what): what it was called with
function M.new(R, program, calls)
  local folder = R.folder()
  R.write(folder .. "/" .. program, SCRIPT:format(folder))
  assert(os.execute(("chmod +x '%s/%s'"):format(folder, program)))
  for i, call in ipairs(calls) do
    call = type(call) == "string" and { out = call } or call
    for _, name in ipairs { "out", "err", "code", "sleep" } do
      if call[name] then R.write(("%s/%s.%d"):format(folder, name, i), tostring(call[name])) end
    end
  end
  return {
    path = folder .. "/" .. program,
    folder = folder,
    calls = function() return tonumber(R.read(folder .. "/count") or "0") end,
    of = function(n, what) return R.read(("%s/%s.%d"):format(folder, what, n)) end,
  }
end

return M
