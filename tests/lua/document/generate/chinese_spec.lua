-- chinese_spec.lua: the Chinese documents say nothing in English but section names and quoted identifiers, and are
-- punctuated as Chinese is.

local HALF = "[,:;()!?]"

-- Lines of a template that are prose: no fence, no heading, no heading of a table, no front matter; without code,
-- placeholders, the targets of links, and names in bold.
local function prose_of(text)
  local list, fence, number = {}, nil, 0
  for line in (text:gsub("^%-%-%-\n.-\n%-%-%-\n", "") .. "\n"):gmatch "(.-)\n" do
    number = number + 1
    local mark = line:match "^(```)" or line:match "^({{fence}})"
    if mark then
      fence = fence ~= mark and mark or nil
    elseif not fence and not line:find "^#" and not line:find "^> %*%*" and not line:find "^<!%-%-"
      and not (line:find "^| %u" and not line:find "[\xE4-\xE9]") then
      local plain = line:gsub("`[^`]*`", "x"):gsub("{{.-}}}?", ""):gsub("%]%([^)]*%)", "]"):gsub("%*%*[^*]*%*%*", "")
      list[#list + 1] = { number = number, text = plain }
    end
  end
  return list
end

local function templates()
  local list = {}
  local pipe <close> = assert(io.popen("ls templates/zh/*.mustache | grep -v skill-lua")) -- that one is code
  for path in pipe:lines() do
    local file <close> = assert(io.open(path, "rb"))
    list[#list + 1] = { path = path, text = file:read "a" }
  end
  return list
end

-- The Han characters of a line with half-width punctuation beside them.
local function mixed(text)
  local before
  for _, code in utf8.codes(text) do
    local char = utf8.char(code)
    local han = code >= 0x4E00 and code <= 0x9FFF
    if before and ((han and before.text:find(HALF)) or (before.han and char:find(HALF))) then
      return before.text .. char
    end
    before = { text = char, han = han }
  end
end

describe("a Chinese template", function()
  for _, one in ipairs(templates()) do
    it(one.path .. " has no English sentence and no half-width punctuation", function()
      for _, line in ipairs(prose_of(one.text)) do
        local where = ("%s:%d: %s"):format(one.path, line.number, line.text)
        local english = line.text:match "%l+ %l%l+"
        assert.is_nil(english, where)
        assert.is_nil(mixed(line.text), where)
      end
    end)
  end

  it("is found out where it does", function()
    assert.equal("件:", mixed "终止条件: x")
    assert.is_nil(mixed "终止条件：x")
    assert.equal(1, #prose_of "# Role\n运行 it now\n```\nsome code here\n```")
  end)
end)
