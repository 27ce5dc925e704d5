-- base/ranks.lua: sets of ranks 1 to n, of which each is open or not: the core keeps a bit for each, and finds the i-th
-- that is open by looking at a few words. Knows nothing of what stands at a rank.

---@class skillrt.Ranks  functions of one set; without self
---@field put fun(rank: integer, now: boolean): integer  how many are open then
---@field is_open fun(rank: integer): boolean
---@field index fun(list: any, i: any): any  what stands in `order` at the i-th open rank; nil: no such i

---@type fun(size: integer, order: table): skillrt.Ranks
local new = require("skillrt.core").ranks

return { new = new }
