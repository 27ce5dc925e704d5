-- json_shim.lua: stands in for skillrt.json over lua-cjson while the core is not built.
if not pcall(require, "skillrt.base.json") then
  package.preload["skillrt.base.json"] = function()
    local cjson = require("cjson").new()
    cjson.decode_invalid_numbers(false)
    local array_mt = { __name = "array" }
    return {
      null = cjson.null,
      array = function(t) return setmetatable(t or {}, array_mt) end,
      is_array = function(v)
        if type(v) ~= "table" then return false end
        local meta = getmetatable(v)
        if meta then return meta == array_mt or meta.__is_json_array == true end
        return rawlen(v) > 0
      end,
      encode = function(v)
        local ok, text = pcall(cjson.encode, v)
        if ok then return text end
        return nil, text
      end,
      decode = function(text)
        local ok, value = pcall(cjson.decode, text)
        if ok then return value end
        return nil, value
      end,
    }
  end
end
if not pcall(require, "skillrt.skill.state") then
  package.preload["skillrt.skill.state"] = function()
    local reserved = {}
    for name in ([[skill_name run_id status current_action completed_actions errors error_count
      iteration_count started_at updated_at completed_at failed_at context input outputs
      phases_completed phases_skipped current_phase]]):gmatch("%S+") do
      reserved[name] = true
    end
    return {
      RESERVED = reserved,
      is_reserved = function(key) return reserved[key] == true or key:sub(1, 1) == "_" end,
      view = function(tree)
        return setmetatable({}, { __index = tree, __newindex = function() error("the state is read-only", 2) end,
          __json_target = tree })
      end,
    }
  end
end
