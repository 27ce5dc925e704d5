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
