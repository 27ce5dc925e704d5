-- words_spec.lua: make/words.lua finds words that are no longer used in pages and messages, and nowhere else.
local pages = require "tests.support.pages"

local function check(name, text)
  local folder <close> = pages.folder()
  local path = folder.path .. "/" .. name
  local file <close> = assert(io.open(path, "wb"))
  file:write(text)
  file:flush()
  local out, code = pages.run(("lua5.4 make/words.lua '%s'"):format(path))
  return (out:gsub(folder.path .. "/", "")), code
end

describe("make/words.lua", function()
  it("names place and replacement of a word in a page", function()
    local out, code = check("page.md", "# A page\n\nThe run goes\non, and was Mended.\n")
    assert.equal(1, code)
    assert.equal('page.md:3: "goes on" is no longer used: write resumes, continues\n'
      .. 'page.md:4: "mend*" is no longer used: write fix\n', out)
  end)

  it("looks at messages of Lua and C, not at comments, names and single words", function()
    local _, code = check("a.lua", '-- nobody\nlocal nobody = "nobody"\nerror("it says \\"yes\\" to anybody") -- "x nobody"\n')
    assert.equal(0, code)
    local out
    out, code = check("b.lua", "local x = 'one'\n\nsay(\"nobody came\")\nsay [[\nit goes on]]\n")
    assert.equal(1, code)
    assert.matches('b.lua:3: "nobody"', out, 1, true)
    assert.matches('b.lua:5: "goes on"', out, 1, true)
    out, code = check("c.c", '/* nobody "is over" */\nsay("the run is over"); // is over\n')
    assert.equal(1, code)
    assert.equal('c.c:2: "is over" is no longer used: write has finished\n', out)
  end)
end)
