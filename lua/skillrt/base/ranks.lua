-- base/ranks.lua: a set of ranks 1 to n, each open or not. The core keeps one bit for each and finds the i-th open
-- one by looking at a few words. Knows nothing of what the ranks stand for.

---@class skillrt.Ranks  functions of one set; without self
---@field put fun(rank: integer, now: boolean): integer  returns how many are open then
---@field is_open fun(rank: integer): boolean
---@field index fun(list: any, i: any): any  the entry of `order` at the i-th open rank; nil: no such i

---@type fun(size: integer, order: table): skillrt.Ranks
local new = require("skillrt.core").ranks

return { new = new }
