// document_run.js: runs the JavaScript that stands in a generated folder's documents, with stubs
// for what the runtime supplies; the agents' answers are scripted.
//
// Usage: node document_run.js FOLDER WORK_DIR < SCRIPT. SCRIPT is JSON: { calls, answers, specs_unread }.
// calls: what is called one after the other, [name, ...arguments]; answers: by step id, a list of
// replies, each taken once, the last again and again; { "throw": text } is a task that breaks.
// Each task also runs the code of the document that is its prompt. Prints what was done, as JSON.
'use strict';
const fs = require('fs');
const path = require('path');

const [folder, workDir] = process.argv.slice(2);
const script = JSON.parse(fs.readFileSync(0, 'utf8'));
const seen = { order: [], steps: [], log: [], errors: [], results: [], most: 0 };
const asked = {};

const blocks = text => [...text.matchAll(/^(`{3,})javascript\n([\s\S]*?)\n\1$/gm)].map(match => match[2]);
const document = name => fs.readFileSync(path.join(folder, name), 'utf8');
const has = name => fs.existsSync(path.join(folder, name));

// Missing paths are null, as in skillrt; a condition that walks further than there is does not hold.
function evaluateCondition(text, state) {
  const names = new Proxy(state, {
    has: (_, key) => typeof key === 'string',
    get: (_, key) => (key === Symbol.unscopables ? undefined : key === 'state' ? state : state[key] ?? null)
  });
  try {
    return Boolean(new Function('names', `with (names) { return (${text}); }`)(names));
  } catch (error) {
    if (error instanceof TypeError) return false;
    throw error;
  }
}

const STATUSES = { completed: 'completed', done: 'completed', ok: 'completed', success: 'completed', partial: 'partial' };

function readReply(text) {
  const reply = JSON.parse(text.match(/\{[\s\S]*\}/)[0]);
  const status = reply.status === undefined ? 'completed' : STATUSES[reply.status.toLowerCase()] ?? 'failed';
  return { ...reply, status, summary: reply.summary ?? reply.error };
}

const RUNTIME = ('skill_name run_id status current_action completed_actions errors error_count iteration_count started_at ' +
  'updated_at completed_at failed_at input outputs phases_completed phases_skipped current_phase').split(' ');

function patched(old, patch) {
  if (patch === null || typeof patch !== 'object' || Array.isArray(patch)) return patch;
  const out = old && typeof old === 'object' && !Array.isArray(old) ? { ...old } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete out[key];
    else out[key] = patched(out[key], value);
  }
  return out;
}

function mergePatch(state, updates) {
  const kept = Object.entries(updates ?? {}).filter(([key]) => !RUNTIME.includes(key) && !key.startsWith('_'));
  const { context, ...rest } = Object.fromEntries(kept);
  return { ...patched(state, rest), context: { ...state.context, ...context } };
}

const supplied = {
  skillDir: folder,
  workDir,
  Read: name => fs.readFileSync(name, 'utf8'),
  Write: (name, text) => {
    fs.mkdirSync(path.dirname(name), { recursive: true });
    fs.writeFileSync(name, text);
  },
  exists: name => fs.existsSync(name),
  makeFolder: name => fs.mkdirSync(name, { recursive: true }),
  now: () => new Date().toISOString(),
  pause: async () => {},
  readReply,
  evaluateCondition,
  mergePatch,
  requireSpecsRead: () => {
    seen.specs = true;
  },
  console: { log: (...words) => seen.log.push(words.length > 1 ? words : words[0]), error: line => seen.errors.push(line) },
  structuredClone
};
if (has('phases/state-schema.md')) {
  supplied.initialState = JSON.parse(document('phases/state-schema.md').match(/^(`{3,})json\n([\s\S]*?)\n\1$/m)[2]);
}

function call(code, extra, tail) {
  const all = { ...supplied, ...extra };
  return new Function(...Object.keys(all), `'use strict'; ${code}\n${tail}`)(...Object.values(all));
}

// The code of a phase's document, all its steps as one function.
async function runPhaseCode(prompt, value) {
  const context = value ? JSON.parse(value) : {};
  const state = { context };
  const steps = blocks(prompt).join('\n');
  return call(`return (async () => { ${steps} })();`, { state }, '');
}

// The code of an action's document: the use of the context, then execute().
async function runActionCode(prompt, state) {
  const [shared, execute, updates] = blocks(prompt);
  const ContextManager = machine.ContextManager;
  call(shared, { ContextManager, state }, '');
  return call(`${execute}\n${updates}`, { ContextManager }, 'return execute')(state, workDir);
}

let under = 0;

async function task({ subagent_type, run_in_background, prompt }) {
  const phase = prompt.match(/^\[PHASE\] (.*)$/m)?.[1];
  const name = phase ?? prompt.match(/^# Action: (.*)$/m)[1];
  const id = phase ?? ids[name];
  seen.order.push(id);
  seen.steps.push({ id, subagent_type, run_in_background, input: prompt.match(/^\[INPUT\] (.*)$/m)?.[1] });
  under++;
  seen.most = Math.max(seen.most, under);
  await new Promise(resolve => setTimeout(resolve, 1));
  under--;
  const list = script.answers[id] ?? [{}];
  const answer = list[Math.min(asked[id] ?? 0, list.length - 1)];
  asked[id] = (asked[id] ?? 0) + 1;
  if (answer.throw) throw new Error(answer.throw);
  const input = prompt.match(/^\[INPUT\] (\{.*)$/m)?.[1];
  const state = phase ? null : JSON.parse(prompt.match(/^\[STATE\]\n([\s\S]*?)\n\n\[WORK_DIR\]/m)[1]);
  const own = await (phase ? runPhaseCode(prompt, input) : runActionCode(prompt, state));
  if (own.status !== 'completed' || typeof own.summary !== 'string') throw new Error(`${id}: its code returned no result`);
  const { stateUpdates, ...rest } = answer;
  const reply = { ...own, ...rest };
  if (!phase) reply.stateUpdates = { ...own.stateUpdates, ...stateUpdates };
  return '```json\n' + JSON.stringify(reply) + '\n```';
}

// Action ids by the names their documents have.
const ids = {};
if (has('phases/actions')) {
  for (const name of fs.readdirSync(path.join(folder, 'phases/actions'))) {
    ids[document(`phases/actions/${name}`).match(/^# Action: (.*)$/m)[1]] = name.replace(/\.md$/, '');
  }
}

const NAMES = ('ACTION_CATALOG ContextManager updateState selectNextAction checkPreconditions runOrchestrator resumeFromState ' +
  'retryFailedAction runSequentialWorkflow executePhase resumeFromPhase ' +
  'Orchestrator route handleError testHappyPath').split(' ');
const code = ['phases/orchestrator.md', 'phases/_orchestrator.md'].filter(has).flatMap(name => blocks(document(name)));
const tail = `return { ${NAMES.map(name => `${name}: typeof ${name} === 'undefined' ? undefined : ${name}`).join(', ')} }`;
const machine = call(code.join('\n'), { Task: task, Agent: task }, tail);

machine.runMachine = goal => new machine.Orchestrator().run(goal);

async function main() {
  for (const [name, ...rest] of script.calls) {
    try {
      seen.results.push((await machine[name](...rest)) ?? null);
    } catch (error) {
      seen.results.push({ error: `${error.name}: ${error.message}` });
    }
    seen.order.push('.');
  }
  seen.order.pop();
  seen.state = machine.ContextManager?.readState(workDir) ?? null;
  process.stdout.write(JSON.stringify(seen));
}

main();
