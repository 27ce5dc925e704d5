// realm.js: what a workflow script finds around it. Evaluated inside the script's own context (child.js).
//
// Only two functions of the host are held here, `next` and `within`, and never handed on: what the script could
// reach of the host's world it could leave its own by. What it may not have (a clock, chance, memory shared
// with others) throws, or is not there. What it asks for is collected as plain data; answers come as JSON texts.
'use strict';
(next, within) => {
  const { parse, stringify } = JSON;
  const { isArray } = Array;
  const { construct } = Reflect;
  const { hasOwn, keys } = Object;
  const { min } = Math;
  const MAX_ITEMS = 4096;

  const missing = (what, instead) => { throw new Error(`${what} is not there in a workflow: ${instead}`); };

  // ---- the world ----

  const RealDate = Date;
  function OwnDate(...given) {
    if (!new.target || given.length === 0) missing('the time of day', 'give times in args, they would differ when it is resumed');
    return construct(RealDate, given, new.target);
  }
  OwnDate.prototype = RealDate.prototype;
  OwnDate.prototype.constructor = OwnDate;
  OwnDate.parse = RealDate.parse;
  OwnDate.UTC = RealDate.UTC;
  OwnDate.now = () => missing('Date.now()', 'give times in args, they would differ when it is resumed');
  globalThis.Date = OwnDate;
  Math.random = () => missing('Math.random()', 'take the index, it would differ when it is resumed');
  for (const name of ['SharedArrayBuffer', 'Atomics', 'WebAssembly', 'WeakRef', 'FinalizationRegistry']) delete globalThis[name];
  delete Intl.DateTimeFormat;

  // ---- what is asked for ----

  let asks = [];
  let spent = 0;
  let total = null; // none
  const waiting = Object.create(null);

  const say = (kind, fields) => { asks[asks.length] = { kind, ...fields }; };
  const place = () => { // the host's own errors stay with it
    try { return next(); } catch { /* below */ }
    throw new Error('too much recursion');
  };
  const ask = (kind, fields) => {
    const at = place();
    return new Promise((resolve, reject) => {
      waiting[at] = { resolve, reject };
      say(kind, { at, ...fields });
    });
  };
  const shown = (error) => {
    try {
      if (error instanceof Error) return `${error.name}: ${error.message}`;
      return typeof error === 'string' ? error : stringify(error) ?? String(error);
    } catch { return 'an error that cannot be shown'; }
  };
  const failure = (error) => {
    let stack = '';
    try {
      const text = error instanceof Error ? error.stack : '';
      if (typeof text === 'string') stack = text;
    } catch { /* it has none that can be shown */ }
    return { error: shown(error), stack };
  };
  // A branch of its own: null where it throws, which is said.
  const branch = (at, perform) => {
    let promise = null;
    const begin = () => {
      promise = (async () => {
        try { return await perform(); } catch (error) {
          say('threw', { at, ...failure(error) });
          return null;
        }
      })();
    };
    try { within(at, begin); } catch { /* below */ }
    if (!promise) throw new Error('too much recursion');
    return promise;
  };
  const checkItems = (items, what) => {
    if (!isArray(items)) throw new TypeError(`${what}: needs a list, not ${typeof items}`);
    if (items.length > MAX_ITEMS) throw new RangeError(`${what}: ${items.length} items, at most ${MAX_ITEMS}`);
  };
  const plain = (value, what) => {
    let text;
    try { text = stringify(value); } catch (error) { throw new TypeError(`${what} cannot be JSON: ${shown(error)}`); }
    return text === undefined ? undefined : parse(text);
  };

  // ---- the options of an agent ----

  // As a script names them, and as ctx.agent takes them.
  const OPTIONS = { label: 'label', phase: 'phase', schema: 'schema', model: 'model', effort: 'effort', agent: 'agent',
    agentType: 'agent_type', tools: 'tools', timeout: 'timeout', isolation: 'isolation' };
  // What other runtimes know and this one cannot do: without it the agent would be another one than was asked for.
  const REFUSED = {
    disallowedTools: 'name in `tools` what the agent may use',
    stallMs: '`timeout` bounds the whole call; `stall` of the agent bounds its silence',
  };
  // How many letters have to be changed, left out or added.
  const distance = (one, other) => {
    let row = [];
    for (let j = 0; j <= other.length; j++) row[j] = j;
    for (let i = 1; i <= one.length; i++) {
      const below = [i];
      for (let j = 1; j <= other.length; j++) {
        const changed = row[j - 1] + (one[i - 1] === other[j - 1] ? 0 : 1);
        below[j] = min(changed, row[j] + 1, below[j - 1] + 1);
      }
      row = below;
    }
    return row[other.length];
  };
  const nearest = (name) => {
    let best;
    let least = 3;
    for (const known of keys(OPTIONS)) {
      const far = distance(name.toLowerCase(), known.toLowerCase());
      if (far < least && far < known.length / 2) [best, least] = [known, far];
    }
    return best;
  };
  const ignored = Object.create(null);
  // { options, wrong }: what is left of them, or why no agent can be asked with them.
  const optionsOf = (given) => {
    const options = {};
    let wrong;
    for (const name of keys(given)) {
      const value = given[name];
      if (value === null) continue;
      if (hasOwn(REFUSED, name)) wrong = `${name} is not supported: ${REFUSED[name]}`;
      else if (name === 'label' || name === 'phase') options[name] = typeof value === 'string' ? value : stringify(value);
      else if (hasOwn(OPTIONS, name)) options[OPTIONS[name]] = value;
      else if (!ignored[name]) {
        ignored[name] = true;
        const near = nearest(name);
        say('option', { text: `agent: the option ${name} is not known and has no effect${near ? `; did you mean ${near}?` : ''}` });
      }
    }
    if (options.isolation === 'remote') wrong = "isolation: 'remote' is not supported: 'worktree' is, on this machine";
    return { options, wrong };
  };

  // ---- what scripts call ----

  const api = {
    async agent(prompt, options = {}) {
      if (typeof prompt !== 'string' || prompt === '') throw new TypeError('agent: the prompt must be a text');
      if (options === null || typeof options !== 'object' || isArray(options)) throw new TypeError('agent: options must be an object');
      if (total !== null && spent >= total) throw new Error(`the budget is spent: ${spent} of ${total}`);
      return ask('agent', { prompt, ...optionsOf(plain(options, 'agent: options')) });
    },
    async parallel(thunks) {
      checkItems(thunks, 'parallel');
      const count = thunks.length;
      for (let i = 0; i < count; i++) {
        if (typeof thunks[i] !== 'function') throw new TypeError(`parallel: item ${i} is no function: write () => agent(...)`);
      }
      const at = place();
      const begun = [];
      for (let i = 0; i < count; i++) begun[i] = branch(`${at}/${i + 1}`, () => thunks[i]());
      const results = [];
      for (let i = 0; i < count; i++) results[i] = await begun[i];
      return results;
    },
    async pipeline(items, ...stages) {
      checkItems(items, 'pipeline');
      for (const stage of stages) if (typeof stage !== 'function') throw new TypeError('pipeline: a stage must be a function');
      const at = place();
      const begun = [];
      for (let i = 0; i < items.length; i++) {
        begun[i] = branch(`${at}/${i + 1}`, async () => {
          let value = items[i];
          for (const stage of stages) value = await stage(value, items[i], i);
          return value;
        });
      }
      const results = [];
      for (let i = 0; i < begun.length; i++) results[i] = await begun[i];
      return results;
    },
    phase(title) { say('phase', { text: `${title}` }); },
    log(...texts) {
      let line = '';
      for (const text of texts) line += (line && ' ') + (typeof text === 'string' ? text : shown(text));
      say('log', { text: line });
    },
    async ask(question) {
      const asked = typeof question === 'string' ? { question } : question;
      if (asked === null || typeof asked !== 'object' || typeof asked.question !== 'string') throw new TypeError('ask: needs a question');
      return ask('question', { question: plain(asked, 'ask: the question') });
    },
    async workflow(given, args) {
      const name = given !== null && typeof given === 'object' ? given.scriptPath : given;
      if (typeof name !== 'string' || name === '') throw new TypeError('workflow: needs a name, a path, or { scriptPath }');
      return ask('workflow', { name, args: plain(args, 'workflow: args') });
    },
  };
  for (const name of Object.keys(api)) globalThis[name] = api[name];
  globalThis.budget = Object.freeze({
    get total() { return total; },
    spent: () => spent,
    remaining: () => (total === null ? Infinity : total > spent ? total - spent : 0),
  });
  globalThis.console = Object.freeze({ log: api.log, info: api.log, warn: api.log, error: api.log, debug: api.log });

  // ---- what may not be changed ----

  // The language as scripts find it, and the names above, stay as they are: what our own code and node's call is never
  // a script's. A property of a prototype may still be set on what inherits from it, as in `error.name = 'Mine'`.
  const { defineProperty, freeze, getOwnPropertyDescriptor, getPrototypeOf } = Object;
  const { ownKeys } = Reflect;
  const NativeErrors = [Error, AggregateError, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError];
  const inherited = new Set([Object, Function, Array, Promise, ...NativeErrors].map((one) => one.prototype));
  const settable = (owner, key, value, enumerable) => defineProperty(owner, key, {
    enumerable,
    configurable: false,
    get() { return value; },
    set(own) {
      if (this === owner) throw new TypeError(`${String(key)} of the language cannot be changed in a workflow`);
      defineProperty(this, key, { value: own, writable: true, enumerable: true, configurable: true });
    },
  });
  const frozen = new Set([globalThis]);
  const harden = (value) => {
    if (value === null || (typeof value !== 'object' && typeof value !== 'function') || frozen.has(value)) return;
    frozen.add(value);
    for (const key of ownKeys(value)) {
      const { value: held, get, set, enumerable, configurable } = getOwnPropertyDescriptor(value, key);
      if (inherited.has(value) && configurable && !get && !set) settable(value, key, held, enumerable);
      for (const one of [held, get, set]) harden(one);
    }
    freeze(value);
    harden(getPrototypeOf(value));
  };
  defineProperty(Error, 'prepareStackTrace', { value: undefined, writable: false, configurable: false });
  for (const hidden of [function* () {}, async function* () {}, async () => {}, [][Symbol.iterator](), ''[Symbol.iterator](),
    new Map()[Symbol.iterator](), new Set()[Symbol.iterator](), 'a'.matchAll(/a/g), (function* () {})(), (async function* () {})(),
    getPrototypeOf(Int8Array)]) {
    harden(typeof hidden === 'function' ? hidden.prototype : undefined);
    harden(getPrototypeOf(hidden));
  }
  for (const key of ownKeys(globalThis)) {
    const { value, configurable } = getOwnPropertyDescriptor(globalThis, key);
    harden(value);
    if (configurable) defineProperty(globalThis, key, { value, writable: false, configurable: false });
  }

  // ---- for the host: texts in, texts out ----

  let done = null;
  return {
    // The script itself: `main(args)` is an async function of this context.
    start(main, argsText) {
      const args = argsText === '' ? undefined : parse(argsText);
      (async () => {
        try {
          const value = await main(args);
          const text = stringify(value);
          done = { value: text === undefined ? null : parse(text) };
        } catch (error) { done = failure(error); }
      })();
    },
    // Another script, in the place where it was asked for.
    nested(at, main, argsText) {
      const { resolve, reject } = waiting[at];
      delete waiting[at];
      const begin = () => {
        (async () => main(argsText === '' ? undefined : parse(argsText)))().then(resolve, reject);
      };
      try { within(at, begin); } catch { reject(new Error('too much recursion')); }
    },
    answer(at, valueText) {
      const { resolve } = waiting[at];
      delete waiting[at];
      resolve(valueText === '' ? undefined : parse(valueText));
    },
    refuse(at, message) {
      const { reject } = waiting[at];
      delete waiting[at];
      reject(new Error(message));
    },
    budget(now, all) { spent = now; total = all ?? null; },
    take() {
      const text = stringify({ asks, done });
      asks = [];
      return text;
    },
  };
};
