-- .luacheckrc: what luacheck takes for granted in this tree.
std = "lua54"
max_line_length = 120
files["**/*_spec.lua"] = { std = "lua54+busted", max_line_length = 140 }
files["tests/support"] = { std = "lua54+busted" }
exclude_files = { "build", "runs" }
