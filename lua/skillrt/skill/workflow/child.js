// child.js: the program in which a workflow script runs: it is told what was answered, and says what the script
// asks for next. It holds no truth: begun anew and told the same, it says the same (skill/workflow/script.lua).
//
// A message is a line of JSON; the answer to it is given when the script has come to rest, which it does when
// all that it waits for is with us. The script has a context of its own (realm.js) into which no object of
// ours enters: texts, numbers, and two functions that realm.js keeps to itself.
'use strict';
const vm = require('vm');
const { AsyncLocalStorage } = require('async_hooks');

const REALM = process.env.SKILLRT_REALM;
delete process.env.SKILLRT_REALM;

// ---- meta: a literal in front of the script ----

// What is wrong with a script, in words of ours. Nothing else that is thrown is looked at: it may be the script's, and
// to ask it anything is to call it.
const faults = new WeakSet();
const refuse = (message) => {
  const error = new Error(message);
  faults.add(error);
  throw error;
};
const words = (error) => (faults.has(error) ? error.message : 'the script threw where it may not');

const fault = (text, at, message) => {
  const line = text.slice(0, at).split('\n').length;
  refuse(`line ${line}: ${message}`);
};

function literal(text, start) {
  let at = start;
  const skip = () => {
    for (;;) {
      const found = /^(?:\s+|\/\/[^\n]*|\/\*[\s\S]*?\*\/)/.exec(text.slice(at, at + 100000));
      if (!found) return;
      at += found[0].length;
    }
  };
  const word = () => /^[A-Za-z_$][\w$]*/.exec(text.slice(at, at + 200))?.[0];
  const quoted = () => {
    const quote = text[at];
    let out = '';
    for (at++; text[at] !== quote; at++) {
      if (at >= text.length) fault(text, start, 'meta: a text does not end');
      if (quote === '`' && text[at] === '$' && text[at + 1] === '{') fault(text, at, 'meta must be a plain literal: no ${...}');
      if (text[at] !== '\\') { out += text[at]; continue; }
      const escaped = text[++at];
      const known = { n: '\n', t: '\t', r: '\r', b: '\b', f: '\f', v: '\v', 0: '\0', '\n': '' };
      if (escaped === 'u' || escaped === 'x') {
        const digits = /^(?:u\{([0-9a-f]+)\}|u([0-9a-f]{4})|x([0-9a-f]{2}))/i.exec(text.slice(at, at + 12));
        if (!digits) fault(text, at, 'meta: a wrong escape');
        out += String.fromCodePoint(parseInt(digits[1] ?? digits[2] ?? digits[3], 16));
        at += digits[0].length - 1;
      } else out += known[escaped] ?? escaped;
    }
    at++;
    return out;
  };
  const list = (close, item) => {
    at++;
    for (skip(); text[at] !== close; skip()) {
      if (at >= text.length) fault(text, start, 'meta does not end');
      item();
      skip();
      if (text[at] === ',') at++;
      else if (text[at] !== close) fault(text, at, 'meta must be a plain literal: a value, then a comma');
    }
    at++;
  };
  const name = () => {
    if (text[at] === '"' || text[at] === "'") return quoted();
    const found = word() ?? fault(text, at, 'meta must be a plain literal: a name is missing');
    at += found.length;
    return found;
  };
  const value = () => {
    skip();
    const first = text[at];
    if (first === '{') {
      const object = {};
      list('}', () => {
        const key = name();
        skip();
        if (text[at] !== ':') fault(text, at, 'meta must be a plain literal: name, colon, value');
        at++;
        Object.defineProperty(object, key, { value: value(), enumerable: true, configurable: true, writable: true });
      });
      return object;
    }
    if (first === '[') {
      const items = [];
      list(']', () => items.push(value()));
      return items;
    }
    if (first === '"' || first === "'" || first === '`') return quoted();
    const number = /^-?(?:0x[0-9a-f]+|\d[\d_]*(?:\.\d+)?(?:e[+-]?\d+)?)/i.exec(text.slice(at, at + 60));
    if (number) {
      at += number[0].length;
      return Number(number[0].replace(/_/g, ''));
    }
    const known = { true: true, false: false, null: null };
    const found = word();
    if (!(found in known)) fault(text, at, `meta must be a plain literal, without ${found ?? first}`);
    at += found.length;
    return known[found];
  };
  return { value: value(), end: at };
}

const HEAD = /^(?:\uFEFF)?(?:#![^\n]*)?(?:\s|\/\/[^\n]*|\/\*[\s\S]*?\*\/|(['"])use strict\1;?)*export\s+const\s+meta\s*=\s*/;

// { meta, body }: the script as one that may stand in a function, line by line as it was.
function read(source) {
  const head = HEAD.exec(source);
  if (!head) refuse('is not a workflow script: it must begin with `export const meta = { name, description }`');
  const { value: meta } = literal(source, head[0].length);
  if (meta === null || typeof meta !== 'object' || Array.isArray(meta)) refuse('meta must be an object');
  for (const field of ['name', 'description']) {
    if (typeof meta[field] !== 'string' || meta[field] === '') refuse(`meta.${field} must be a text`);
  }
  if (meta.phases !== undefined && !(Array.isArray(meta.phases) && meta.phases.every((one) => typeof one?.title === 'string'))) {
    refuse('meta.phases must be a list of objects with a title');
  }
  const at = head[0].lastIndexOf('export');
  return { meta, body: source.slice(0, at) + '      ' + source.slice(at + 6) };
}

// ---- the script ----

const places = new AsyncLocalStorage();
const context = vm.createContext(Object.create(null), { codeGeneration: { strings: false, wasm: false } });
const compiled = (code, filename, columnOffset = 0) => new vm.Script(code, {
  filename,
  columnOffset,
  // a text, and not an error of ours: import() hands on what is thrown here
  importModuleDynamically() { throw 'import is not there in a workflow'; }, // eslint-disable-line no-throw-literal
});

const next = () => {
  const here = places.getStore();
  here.count += 1;
  return here.path === '' ? `${here.count}` : `${here.path}/${here.count}`;
};
const within = (path, begin) => { places.run({ path, count: 0 }, begin); };
const realm = compiled(REALM, 'realm.js').runInContext(context)(next, within);

// A TypeScript file without its types, each character where it was. They can be taken out of what stands in a function
// alone, as a script may return; there nothing is exported and no type imported.
function untyped(source, name) {
  if (!/\.m?ts$/.test(name)) return source;
  const strip = require('module').stripTypeScriptTypes;
  if (!strip) refuse(`${name}: a TypeScript file needs node 22.13 or later; this is node ${process.versions.node}`);
  const blank = (text) => text.replace(/[^\n]/g, ' ');
  const front = 'async function main(args) { ', end = '\n}';
  const at = /^export(?=\s+const\s+meta\b)/m.exec(source)?.index;
  const plain = source.replace(/^#![^\n]*/, blank).replace(/^import\s+type\b[^;\n]*(?:\n[^;\n]*)*?from\s*(['"])[^'"\n]*\1;?/gm, blank)
    .replace(/^export(?=\s+(?:const\s+meta|type|interface)\b)/gm, blank);
  let out;
  try { out = strip(front + plain + end).slice(front.length, -end.length); } catch (error) {
    refuse(`${name}: ${String(error.message).split('\n')[0]}`);
  }
  return at === undefined ? out : `${out.slice(0, at)}export${out.slice(at + 6)}`;
}

// The shebang and the mark at the front are no statements; the script's lines keep their numbers.
function compile(source, name) {
  const { meta, body } = read(untyped(source, name));
  const front = "(args) => (async () => { 'use strict'; ";
  const alone = "({ async main() { 'use strict'; "; // what is not whole by itself does not fit into both
  const text = body.replace(/^\uFEFF/, '').replace(/^#![^\n]*/, '');
  // in node 18 what import() gives is a promise of ours: not even words that look like it may be there
  const loads = parseInt(process.versions.node, 10) < 20 && /\bimport(?:\s|\/\*[^]*?\*\/|\/\/.*)*\(/.exec(text);
  if (loads) fault(text, loads.index, 'import(...) is not there in a workflow');
  let main;
  try {
    compiled(`${alone}${text}\n} })`, name, -alone.length);
    main = compiled(`${front}${text}\n})()`, name, -front.length);
  } catch (error) { // a SyntaxError of our own realm: nothing of the script has run
    const where = /^([^\n]*:\d+)\n/.exec(error.stack)?.[1];
    refuse(`${where ?? name}: ${error.message}`);
  }
  return { meta, main: main.runInContext(context) };
}

// ---- messages ----

let have = 0;
let started = false;
let found = {}; // what the newest message brought besides what the script asks for

function take(message) {
  found = {};
  if (message.budget) realm.budget(message.budget.spent, message.budget.total);
  if (message.start) {
    const { source, name, args } = message.start;
    const { meta, main } = compile(source, name);
    found.meta = meta;
    started = true;
    places.run({ path: '', count: 0 }, () => realm.start(main, args ?? ''));
  } else if (message.script) { // a nested one
    const { at, source, name, args } = message.script;
    let main;
    try { ({ main } = compile(source, name)); } catch (error) { return realm.refuse(at, words(error)); }
    realm.nested(at, main, args ?? '');
  } else if (message.answer) {
    const { at, value, error } = message.answer;
    if (error !== undefined) realm.refuse(at, error);
    else realm.answer(at, value ?? '');
  } else if (message.check) {
    found.meta = compile(message.check.source, message.check.name).meta;
  }
}

const rest = () => new Promise((resolve) => { setImmediate(resolve); });
const reply = (text) => { process.stdout.write(`${text}\n`); };

// What each message was answered, by its number. A program that began anew is sent those again which had no answer, in
// any order: each is given what the script asked for behind it, and nothing of that is lost.
const answers = [];

async function hear(line) {
  const message = JSON.parse(line);
  const told = message.since ?? [message];
  if (told[0].n > have + 1) return reply(JSON.stringify({ have }));
  for (const one of told) {
    if (one.n <= have) continue;
    let said;
    try {
      take(one);
      await rest();
      said = JSON.parse(realm.take());
    } catch (error) {
      said = { asks: [], done: { error: words(error), fault: true } };
    }
    have = one.n;
    answers[have] = JSON.stringify({ ...found, ...said, started });
  }
  return reply(answers[message.n]);
}

process.on('unhandledRejection', () => {}); // of a promise the script forgot: the call itself is told of
let text = '';
let turn = Promise.resolve();
process.stdin.setEncoding('utf8');
process.stdin.on('data', (chunk) => {
  text += chunk;
  for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n')) {
    const line = text.slice(0, end);
    text = text.slice(end + 1);
    turn = turn.then(() => hear(line));
  }
});
