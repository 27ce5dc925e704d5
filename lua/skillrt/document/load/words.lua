-- document/load/words.lua: the names of sections in skill documents, in English and Chinese.
--
-- Lower case; a heading matches if it contains one of them. Called by the readers.
return {
  PURPOSE = { "purpose", "\u{76EE}\u{7684}" },
  PRECONDITIONS = {
    "precondition",
    "prerequisite",
    "\u{524D}\u{7F6E}\u{6761}\u{4EF6}",
    "\u{524D}\u{63D0}\u{6761}\u{4EF6}",
  },
  UPDATES = { "state update", "state change", "\u{72B6}\u{6001}\u{66F4}\u{65B0}", "\u{72B6}\u{6001}\u{53D8}\u{66F4}" },
  NEXT = { "next action", "next phase", "\u{4E0B}\u{4E00}\u{6B65}", "\u{540E}\u{7EED}\u{52A8}\u{4F5C}" },
  TERMINATION = { "termination", "\u{7EC8}\u{6B62}\u{6761}\u{4EF6}" },
  INITIAL = { "initial state", "\u{521D}\u{59CB}" },
  MANDATORY = { "mandatory", "\u{5F3A}\u{5236}\u{524D}\u{7F6E}", "\u{5FC5}\u{8BFB}" },
  INPUT = { "input", "inputs", "\u{8F93}\u{5165}" },
  OUTPUT = { "output", "outputs", "\u{8F93}\u{51FA}" },
  OBJECTIVE = { "objective", "\u{76EE}\u{6807}" },
  -- items of a phase's input: begin with one of these
  DEPENDENCY = { "^[Dd]ependenc", "^\u{4F9D}\u{8D56}" },
  ONLY_IF = {
    "^[Rr]uns only if",
    "^[Cc]ondition",
    "^\u{4EC5}\u{5F53}",
    "^\u{6761}\u{4EF6}",
    "^\u{6267}\u{884C}\u{6761}\u{4EF6}",
  },
}
