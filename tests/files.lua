-- files.lua: writes the lists in docs/inside: of files, from their own first sentences; of the types of records, from
-- run/record/<type>.lua; of the fields of the books, from run/books/fields.lua.
--
-- Run by `make architecture`; with the argument `check` it writes nothing and names the pages that are out of date.
-- A file x.c that says "see x.h" is in one row with x.h.

package.path = "lua/?.lua;lua/?/init.lua;" .. package.path
package.cpath = ("build/%s/lib/?.so;"):format(os.getenv "SKILLRT_MODE" or "release") .. package.cpath


-- What the folders are for, in the order of the floors from the top; one that is not among them
-- holds the parts of the file it is named after, and comes last.
local FOLDERS = {
  { "csrc", "the program, the library's header, the embedding of Lua files" },
  { "csrc/lua", "where Lua calls C and C calls Lua" },
  { "csrc/serve", "HTTP for `skillrt serve`, in a module of its own" },
  { "csrc/engine", "one run put together; the only sleeper; one iteration" },
  { "csrc/transport", "how a request leaves and returns" },
  { "csrc/store", "where a run lives" },
  { "csrc/jail", "what a program may reach: namespaces, mounts, Landlock, seccomp" },
  { "csrc/base", "bytes and the world; knows nothing of skillrt" },
  { "lua/skillrt", "the module's door" },
  { "lua/skillrt/cli", "the program's door, and what all commands share" },
  { "lua/skillrt/cli/command", "a file for each command" },
  { "lua/skillrt/cli/serving", "what the commands that serve others share: `mcp` and `serve`" },
  { "lua/skillrt/cli/serve", "runs over HTTP" },
  { "lua/skillrt/test", "a skill's own tests: its runs with stubs" },
  { "lua/skillrt/test/replay", "its runs again from their journals" },
  { "lua/skillrt/report", "runs as lines, live views and tables" },
  { "lua/skillrt/document", "a skill's papers: who opens what" },
  { "lua/skillrt/document/load", "skills from configurations and folders" },
  { "lua/skillrt/document/check", "what is wrong with them" },
  { "lua/skillrt/document/generate", "configurations to the files of a skill's folder" },
  { "lua/skillrt/document/graph", "skills drawn" },
  { "lua/skillrt/document/write", "files replaced together, or not at all" },
  { "lua/skillrt/run", "one run: its policy, steps, books" },
  { "lua/skillrt/mode", "which step is next, and nothing else" },
  { "lua/skillrt/agent", "what is sent to an agent and what its answer means" },
  { "lua/skillrt/tool", "what a model may use" },
  { "lua/skillrt/tool/mcp", "servers of the Model Context Protocol" },
  { "lua/skillrt/skill", "what a skill is" },
  { "lua/skillrt/skill/workflow", "workflows, in Lua and in JavaScript" },
  { "lua/skillrt/expr", "the language of conditions" },
  { "lua/skillrt/base", "values, names, files" },
  { "strategies", "which action is next; each requires nothing" },
}

local function read(path)
  local file <close> = assert(io.open(path, "rb"))
  return file:read "a"
end

-- The first sentence of the comment a file opens with.
local function sentence(path)
  local lines = {}
  for line in read(path):gmatch "([^\n]*)\n" do
    local text = line:match "^/%*%s?(.*)$" or line:match "^ %*%s?(.*)$" or line:match "^%-%-%s?(.*)$"
    if not text or text == "" then
      break
    end
    lines[#lines + 1] = text
  end
  local text = table.concat(lines, " "):gsub("%s*%*/%s*$", "")
  local said = text:match "^[%w_/.-]+: (.*)$" or text
  said = said:match "^(.-)%.%s" or said:match "^(.-)%.?$"
  return said
end

-- { name = sentence } of the files in one folder; a pair x.c and x.h is the one name x.
local function rows_of(folder)
  local said, names = {}, {}
  for path in io.popen(("find %s -maxdepth 1 -type f | LC_ALL=C sort"):format(folder)):lines() do
    said[path:match "[^/]+$"] = sentence(path)
  end
  for name, text in pairs(said) do
    local stem, kind = name:match "^(.*)%.([ch])$"
    local other = stem and said[stem .. (kind == "c" and ".h" or ".c")]
    if not other then
      names[#names + 1] = { name, text }
    elseif kind == "h" then
      names[#names + 1] = { stem, text }
    end
  end
  table.sort(names, function(a, b)
    return a[1] < b[1]
  end)
  return names
end

local function folders()
  local all, known = {}, {}
  for i, folder in ipairs(FOLDERS) do
    all[i], known[folder[1]] = folder, true
  end
  for path in io.popen("find csrc lua strategies -type d | LC_ALL=C sort"):lines() do
    if not known[path] then
      all[#all + 1] = { path, ("parts of %s.lua"):format(path:match "[^/]+$") }
    end
  end
  return all
end

local function list()
  local out = {}
  for _, folder in ipairs(folders()) do
    local rows = rows_of(folder[1])
    if #rows > 0 then
      out[#out + 1] = ("\n### `%s/`: %s\n\n| file | what it is |\n|---|---|\n"):format(folder[1], folder[2])
      for _, row in ipairs(rows) do
        out[#out + 1] = ("| `%s` | %s |\n"):format(row[1], (row[2]:gsub("|", "\\|")))
      end
    end
  end
  return table.concat(out) .. "\n"
end

-- What a text says in a table.
local function cell(text)
  return (text:gsub("|", "\\|"))
end

-- The types of records, each with its fields.
local function records()
  local out = { "| `t` | fields | what happened |\n|---|---|---|\n" }
  local rows_in = dofile "lua/skillrt/run/record.lua".rows
  local function add(name, fields, doc)
    local names, said = {}, { doc }
    for i, row in ipairs(rows_in(fields)) do
      names[i] = row.name .. (row.may_be_absent and "?" or "")
      said[#said + 1] = row.doc ~= "" and ("`%s`: %s"):format(row.name, row.doc:gsub("^%.%.%. ", "... ")) or nil
    end
    out[#out + 1] = ("| %s | `%s` | %s |\n"):format(name, table.concat(names, " "), cell(table.concat(said, "; ")))
  end
  add("any", dofile "lua/skillrt/run/record.lua".COMMON, "what each record may say")
  for path in io.popen "ls lua/skillrt/run/record/*.lua | LC_ALL=C sort":lines() do
    local text = read(path)
    local doc = text:match '\n  doc = "([^\n]*)",\n'
    add(("`%s`"):format(path:match "([^/]+)%.lua$"), text:match "\n  fields = %[%[\n(.-)%]%]", (doc:gsub('\\"', '"')))
  end
  return table.concat(out)
end

-- The fields of the books.
local function books()
  local out = { "| field | class | type | what it says |\n|---|---|---|---|\n" }
  for _, row in ipairs(dofile "lua/skillrt/run/books/fields.lua".ROWS) do
    out[#out + 1] = ("| `%s` | %s%s | %s | %s |\n"):format(row[1], row[2], row.kept == false and ", apart" or "",
      cell(row[3]), cell(row[4]))
  end
  return table.concat(out)
end

local stale = {}
for path, lists in pairs {
  ["docs/inside/files.md"] = { files = list },
  ["docs/inside/records.md"] = { records = records, books = books },
} do
  local before = read(path)
  local page = before
  for name, write in pairs(lists) do
    local _, first = page:find(("<!-- %s: written by make architecture -->\n"):format(name), 1, true)
    local last = page:find(("<!-- end of %s -->\n"):format(name), 1, true)
    assert(first and last, ("%s: the marks around the %s are not there"):format(path, name))
    page = page:sub(1, first) .. write() .. page:sub(last)
  end
  if page ~= before then
    stale[#stale + 1] = path
    if not (arg and arg[1] == "check") then
      local file <close> = assert(io.open(path, "wb"))
      file:write(page)
    end
  end
end
if arg and arg[1] == "check" then
  io.write(table.concat(stale, "\n"))
end
