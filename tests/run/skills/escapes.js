// escapes.js: what a workflow script may try to reach the program it runs in; a line each, the body of an async function.
return process
return require('fs')
return globalThis.process ?? globalThis.require ?? globalThis.module
return (() => {}).constructor('return process')()
return (async () => {}).constructor('return process')()
return eval('process')
return new Function('return this.process')()
return agent.constructor('return process')()
return agent('').catch(e => e.constructor.constructor('return process')())
return parallel.constructor.constructor('return process')()
return console.log.constructor('return process')()
return budget.spent.constructor('return process')()
return budget.constructor.constructor('return process')()
return Object.getPrototypeOf(globalThis).constructor.constructor('return process')()
return this?.constructor?.constructor('return process')()
return import('fs')
return import('node:process')
return import('fs').catch(e => e)
return import('fs').catch(e => e.constructor.constructor('return process')())
return import({ toString() { throw new Error('x') } }).catch(e => e)
return import({ get toString() { return () => 'fs' } }).then(m => m.default ?? m)
const p = import('fs'); return p.constructor.constructor('return process')()
function f() { return f.caller } return f()
function f() { return arguments.callee.caller } return f()
Error.prepareStackTrace = (e, sites) => sites.map(s => s.getThis()).find(x => x && x !== globalThis); return new Error('x').stack
Error.prepareStackTrace = (e, sites) => sites.map(s => s.getFunction()).find(f => f && !(f instanceof Function)); return new Error('x').stack
const deep = () => { try { deep() } catch (e) { return e } }; return deep()
const deep = () => { try { return deep() } catch (e) { try { return parallel([() => 1]).catch(x => x) } catch (y) { return y } } }; return deep()
const then = Promise.prototype.then; let got; Promise.prototype.then = function (...a) { got = a; return then.apply(this, a) }; await parallel([() => 1]); Promise.prototype.then = then; return got && got[0]
let got; Object.defineProperty(Object.prototype, 'kind', { set(v) { got = this }, configurable: true }); try { log('x') } finally { delete Object.prototype.kind } return got
let got; const s = JSON.stringify; JSON.stringify = (v) => { got = v; return s(v) }; log({ a: 1 }); JSON.stringify = s; return got
let got; Object.defineProperty(Array.prototype, '0', { set(v) { got = v }, configurable: true }); try { phase('x') } finally { delete Array.prototype[0] } return got
return new Proxy({}, { get(t, k, r) { return r } }).x.constructor.constructor('return process')()
return Reflect.construct(Function, ['return process'])()
return globalThis.constructor.constructor('return process')()
return new WebAssembly.Module(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0]))
return new SharedArrayBuffer(8)
return structuredClone
return fetch('http://127.0.0.1:1/')
return new Worker('data:,1')
return Symbol.for('nodejs.util.inspect.custom').constructor.constructor('return process')()
const g = (function* () {}).constructor; return g('return process')().next().value
return { get then() { return (ok) => ok(agent.constructor) } }
return Object.getOwnPropertyNames(globalThis).map(n => globalThis[n]).find(v => v && typeof v === 'object' && !(v instanceof Object) && v !== globalThis && Object.getPrototypeOf(v) !== null)
// what the host's code calls of a script: hooks of the language that a script replaces
globalThis.Error = { prepareStackTrace: (e, sites) => { globalThis.sites = sites; return '' } }; try { null.x } catch (e) { e.stack } return globalThis.sites
Object.defineProperty(globalThis, 'Error', { value: { prepareStackTrace: (e, sites) => { throw sites } } }); try { null.x } catch (e) { return e.stack }
Object.defineProperty(Error, 'prepareStackTrace', { get() { return (e, sites) => sites } }); return new Error('x').stack
Error.prototype.prepareStackTrace = (e, sites) => sites; return new Error('x').stack
Function.prototype.prepareStackTrace = (e, sites) => sites; return new Error('x').stack
Object.prototype.prepareStackTrace = (e, sites) => sites; return new TypeError('x').stack
TypeError.prepareStackTrace = (e, sites) => sites; return new TypeError('x').stack
let got; const e = new Error('x'); Object.defineProperty(e, 'stack', { get() { got = this; throw new Proxy({}, {}) } }); log(e); return got && got.constructor.constructor('return process')()
let got; const e = { toJSON() { got = got || this.constructor; throw e } }; log(e); return got('return process')()
let got; Object.prototype.toJSON = function (k) { got = this; return 1 }; log('x'); delete Object.prototype.toJSON; return got
let got; Array.prototype.toJSON = function (k) { got = this; throw this }; await parallel([]); return got
let got; String.prototype.toJSON = function () { got = arguments; return 'x' }; phase('x'); return got
let got; Promise.prototype.catch = function (f) { got = f; return this }; await parallel([async () => 1]); return got
let got; Object.defineProperty(Promise.prototype, 'constructor', { get() { got = this; return Promise } }); await parallel([async () => 1]); return got
let got; Promise[Symbol.species] = class { constructor(f) { got = f } }; await parallel([() => 1]); return got
let got; class P extends Promise { constructor(f) { super(f); got = f } }; await new P((ok) => ok(1)).then(() => 1); return got
let got; await { then(ok, no) { got = [ok, no]; ok(1) } }; return got[0].constructor('return process')()
let got; await parallel([() => ({ then(ok) { got = ok; ok(1) } })]); return got.constructor('return process')()
let got; RegExp.prototype.exec = function (t) { got = this; return null }; log('x'); return got && !(got instanceof RegExp)
let got; RegExp.prototype[Symbol.replace] = function () { got = arguments.callee }; return got
let got; Array.prototype[Symbol.iterator] = function* () { got = this; yield 1 }; await pipeline([1], (x) => x); return got
let got; Array.prototype.push = function () { got = this }; log('x'); return got
let got; Array.isArray = (x) => { got = x; return true }; await parallel([() => 1]); return got === undefined ? 1 : got
let got; Reflect.construct = (...a) => { got = a }; try { new Date(0) } catch { } return got
let got; Object.defineProperty(Object.prototype, 'resolve', { get() { got = this }, set(v) { got = this }, configurable: true }); try { await Promise.race([agent('x'), 1]) } finally { delete Object.prototype.resolve } return got
let got; Object.defineProperty(Object.prototype, 'then', { get() { got = this }, configurable: true }); try { await parallel([() => ({})]) } finally { delete Object.prototype.then } return got
// stacks: frames of others, the end of the stack
Error.stackTraceLimit = Infinity; let e; parallel([() => { e = new Error('x') }]); return e && e.stack.constructor.constructor('return process')()
const e = {}; Error.captureStackTrace(e); return e.stack.constructor.constructor('return process')()
const o = { get name() { return o.name }, message: '' }; Object.setPrototypeOf(o, Error.prototype); Error.captureStackTrace(o); try { return o.stack.length > 0 && 1 } catch (x) { return x.constructor.constructor('return process')() }
const f = () => { try { f() } catch (x) { try { return x.stack.length } catch (y) { return y } } }; const y = f(); return y && y.constructor && y.constructor.constructor('return process')()
let y; const f = () => { try { log('x'); f() } catch (x) { y = y || x } }; f(); return y.constructor.constructor('return process')()
let y; const f = () => { try { phase({ toString: f }) } catch (x) { y = y || x } return '' }; f(); return y && y.constructor.constructor('return process')()
let y; const f = (n) => { try { f(n + 1) } catch (x) { try { parallel([() => 1]) } catch (z) { y = z } throw x } }; try { f(0) } catch { } return y && y.constructor.constructor('return process')()
function f() { return arguments.callee.caller.arguments } return f()
return (function () { return this })()?.process
// objects that lie about what they are
const p = new Proxy(() => {}, { apply(t, self, args) { return self && self.constructor.constructor('return process')() } }); return parallel([p])
const p = new Proxy([() => 1], { get(t, k, r) { return k === 'length' ? 1 : r.constructor } }); return parallel(p)
const list = [() => 1]; list.constructor = { [Symbol.species]: function (n) { return globalThis } }; return parallel(list)
return agent('x', new Proxy({}, { ownKeys() { throw new Proxy({}, {}) } })).catch(e => e)
return agent('x', { schema: { toJSON() { return this.constructor.constructor('return process')() } } }).catch(e => 'held')
const bad = { toString() { throw { toString: bad.toString } } }; log(bad); phase({ toString: () => 'x' }); return 1
return ask({ get question() { throw new Proxy({}, {}) } }).catch(e => e && e.process)
const { proxy, revoke } = Proxy.revocable({}, {}); revoke(); log(proxy); return 1
return budget.__proto__.constructor.constructor('return process')()
return Object.getOwnPropertyDescriptor(budget, 'total').get.constructor('return process')()
const s = Object.getOwnPropertySymbols(globalThis); return s.map(k => globalThis[k]).find(v => v && typeof v === 'object' && !(v instanceof Object))
return [].constructor.from.call(function (n) { return globalThis }, [1]).process
return new (class extends Array { static get [Symbol.species]() { return Function } })(3).concat(['return process'])
return Intl && Object.values(Object.getOwnPropertyDescriptors(Intl)).map(d => d.value).find(v => v && !(v instanceof Object))
Object.setPrototypeOf(globalThis, { get process() { return 1 } }); return globalThis.process === 1 && 1
