-- generate_golden_spec.lua: three configs, two languages, byte for byte what tests/golden holds.
-- UPDATE_GOLDEN=1 writes the files anew; look at the difference before you commit it.
local generate = require "skillrt.document.generate"
local json = require "skillrt.base.json"

local ROOT = "tests/golden"

local function read(path)
  local file <close> = io.open(path, "rb")
  return file and file:read "a"
end

local function write(path, text)
  os.execute(("mkdir -p '%s'"):format(path:match "^(.*)/"))
  local file <close> = assert(io.open(path, "wb"))
  assert(file:write(text))
end

local function listed(folder)
  local pipe <close> = assert(io.popen(("cd '%s' 2>/dev/null && find . -type f | LC_ALL=C sort"):format(folder)))
  local names = {}
  for line in pipe:lines() do
    names[#names + 1] = line:sub(3)
  end
  return names
end

local function generated(name, lang)
  local config = assert(json.decode(read(("%s/configs/%s.json"):format(ROOT, name))))
  return assert(generate.generate(config, { lang = lang, templates = "templates" }))
end

describe("generated folders", function()
  for _, name in ipairs { "release-notes", "link-fixer", "data-import", "target-worker" } do
    for _, lang in ipairs { "en", "zh" } do
      local folder = ("%s/%s/%s"):format(ROOT, name, lang)
      it(("of %s in %s are what %s holds"):format(name, lang, folder), function()
        local files = generated(name, lang)
        if os.getenv "UPDATE_GOLDEN" == "1" then
          os.execute(("rm -rf '%s'"):format(folder))
          for _, file in ipairs(files) do
            write(folder .. "/" .. file.path, file.text)
          end
        end
        local names = {}
        for i, file in ipairs(files) do
          names[i] = file.path
          assert.equal(read(folder .. "/" .. file.path), file.text, file.path)
        end
        table.sort(names)
        assert.same(listed(folder), names)
      end)
    end
  end

  it("are the same in every run", function()
    assert.same(generated("link-fixer", "en"), generated("link-fixer", "en"))
  end)
end)
