// expr_oracle.js: what JavaScript itself says of a condition. Reads JSON lines { text, state } and
// answers one line each: "syntax", "throws", or "truth value". Started by expr_node_spec.lua.
"use strict";

const INSIDE = new Set(["undefined", "NaN", "Infinity"]);

function scopeOf(state) {
  return new Proxy({}, {
    has: (_, key) => typeof key === "string" && !INSIDE.has(key),
    get: (_, key) => (key === Symbol.unscopables ? undefined : key === "state" ? state : state[key]),
  });
}

// UTF-8, lone surrogates kept as three bytes
function bytesOf(text) {
  const bytes = [];
  for (const char of text) {
    const code = char.codePointAt(0);
    if (code < 0x80) bytes.push(code);
    else if (code < 0x800) bytes.push(0xc0 | (code >> 6), 0x80 | (code & 63));
    else if (code < 0x10000) bytes.push(0xe0 | (code >> 12), 0x80 | ((code >> 6) & 63), 0x80 | (code & 63));
    else bytes.push(0xf0 | (code >> 18), 0x80 | ((code >> 12) & 63), 0x80 | ((code >> 6) & 63), 0x80 | (code & 63));
  }
  return Buffer.from(bytes).toString("hex");
}

function show(value) {
  switch (typeof value) {
    case "undefined": return "u";
    case "boolean": return value ? "b1" : "b0";
    case "string": return "s" + bytesOf(value);
    case "number": {
      if (Number.isNaN(value)) return "nan";
      const bits = Buffer.alloc(8);
      bits.writeDoubleBE(value);
      return "n" + bits.toString("hex");
    }
    default: return value === null ? "z" : "o";
  }
}

function answer(line) {
  const { text, state } = JSON.parse(line);
  let run;
  try {
    run = new Function("scope", "with (scope) { return (" + text + "\n); }");
  } catch (error) {
    return "syntax";
  }
  try {
    const value = run(scopeOf(state));
    return (value ? "true " : "false ") + show(value);
  } catch (error) {
    return "throws";
  }
}

const lines = require("fs").readFileSync(0, "utf8").split("\n").filter((line) => line !== "");
process.stdout.write(lines.map(answer).join("\n") + "\n");
