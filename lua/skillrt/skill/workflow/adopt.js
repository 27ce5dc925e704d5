// adopt.js: reads a run of a workflow script that Claude Code or qwen-code began, as it lies on the disk: its script, its
// arguments, and what its agents answered, each with the prompt that it was asked or the key that stands for it. Called by
// cli/command/adopt.lua with the run, its script where that lies elsewhere, and the words behind --; prints one JSON
// object.
//
// All of it was written by others and may be damaged: what cannot be read or was not finished is left out and counted, so
// that its agent is asked again. Executes nothing of it.
'use strict';
const fs = require('fs');
const path = require('path');
const { createHash } = require('crypto');

const MAX_FILE = 256 * 1024 * 1024;
const MAX_AGENTS = 10000;
const MAX_DEPTH = 100; // of an answer

const read = (file) => {
  try {
    return fs.statSync(file).size <= MAX_FILE ? fs.readFileSync(file, 'utf8') : '';
  } catch { return ''; }
};
const list = (folder) => { try { return fs.readdirSync(folder).sort(); } catch { return []; } };
const object = (value) => (value !== null && typeof value === 'object' ? value : {});
const decoded = (text) => { try { return object(JSON.parse(text)); } catch { return {}; } };
const lines = (file) => read(file).split('\n').map(decoded);

// ---- where it lies ----

// The journal of qwen-code is beside the file of the run, that of Claude Code among its agents.
function folder(session, id) {
  const own = `${session}/workflows/${id}`;
  return fs.existsSync(`${own}/journal.jsonl`) ? own : `${session}/subagents/workflows/${id}`;
}

// Of a path in it, or of an ID below the folders of both: { id, session, dir }.
function place(given) {
  const id = /wf_[\w-]+/.exec(given)?.[0];
  if (id && fs.existsSync(given)) {
    const whole = path.resolve(given);
    const session = (/^(.*)\/subagents\/workflows\//.exec(whole) ?? /^(.*)\/workflows\//.exec(whole))?.[1] ?? path.dirname(whole);
    return { id, session, dir: fs.statSync(whole).isDirectory() ? whole : folder(session, id) };
  }
  const homes = [process.env.CLAUDE_CONFIG_DIR || `${process.env.HOME}/.claude`, `${process.env.HOME}/.qwen`].map((one) => `${one}/projects`);
  for (const project of id === given ? homes.flatMap((home) => list(home).map((one) => `${home}/${one}`)) : []) {
    for (const session of [project, ...list(project).map((one) => `${project}/${one}`)]) {
      const dir = folder(session, id);
      if (fs.existsSync(dir) || fs.existsSync(`${session}/workflows/${id}.json`)) return { id, session, dir };
    }
  }
  throw new Error(`${given}: is no workflow run of Claude Code or qwen-code; these are named wf_... and are below ${homes.join(' and ')}`);
}

// ---- what its agents answered ----

const blocks = (event) => {
  const { content } = object(event.message);
  return typeof content === 'string' ? [{ type: 'text', text: content }] : Array.isArray(content) ? content.map(object) : [];
};
const texts = (event) => blocks(event).filter((one) => one.type === 'text' && typeof one.text === 'string').map((one) => one.text);

// Behind what the harness puts in front of a prompt.
const undecorated = (text) => text.replace(/^(?:\s*<system-reminder>[^]*?<\/system-reminder>)+/, '');

// The prompt that a transcript begins with; undefined: it holds none.
function promptOf(transcript) {
  const first = transcript.find((event) => event.type === 'user');
  const parts = first ? texts(first).map(undecorated).filter((text) => /\S/.test(text)) : [];
  return parts.length > 0 ? parts.join('\n') : undefined;
}

// What an agent ended with: a value by the tool for it, else its last text; undefined: it did not end.
function answerOf(transcript) {
  let value;
  let text = '';
  let last = {};
  for (const event of transcript) {
    const message = object(event.message);
    if (event.type !== 'assistant' && event.type !== 'user') continue;
    if (event.type === 'user' || message.id !== last.id) text = '';
    if (event.type === 'assistant') {
      for (const block of blocks(event)) if (block.type === 'tool_use' && block.name === 'StructuredOutput') value = block.input;
      text += texts(event).join('');
    }
    last = message;
  }
  return value ?? (last.stop_reason === 'end_turn' ? text : undefined);
}

// Output tokens of a transcript: each message counts once, however many lines it has.
function tokensOf(transcript) {
  const counts = new Map();
  for (const event of transcript) {
    const { id, usage } = object(event.message);
    const count = object(usage).output_tokens;
    if (Number.isSafeInteger(count) && count > 0) counts.set(id ?? event, count);
  }
  return [...counts.values()].reduce((sum, count) => sum + count, 0);
}

// The agents in the order in which they began, with what the journal says they gave.
function agentsOf(dir) {
  const given = new Map();
  const add = (id) => {
    if (typeof id === 'string' && /^[\w-]+$/.test(id) && !given.has(id) && given.size < MAX_AGENTS) given.set(id, null);
    return given.has(id);
  };
  for (const line of lines(`${dir}/journal.jsonl`)) {
    if (add(line.agentId) && line.type === 'result') given.set(line.agentId, line.result ?? null);
  }
  for (const name of list(dir)) add(/^agent-(.+)\.jsonl$/.exec(name)?.[1]); // a journal that is not there, or was cut
  return given;
}

// What the journal of qwen-code says: answers by keys, each the digest of the key before it, the prompt and the options
// (skill/workflow/recorded.lua compares); before the first is the digest of the arguments.
function chainOf(dir, args) {
  const given = new Map();
  for (const { key, type, result } of lines(`${dir}/journal.jsonl`)) {
    if (!/^v2:[0-9a-f]{64}$/.test(key) || given.size >= MAX_AGENTS) continue;
    given.set(key, type === 'result' ? result ?? undefined : given.get(key));
  }
  return { given, before: [`v2:${sha256(JSON.stringify(args ?? null))}`, ...given.keys()] };
}

const isDeep = (value, depth = 0) => depth > MAX_DEPTH
  || (value !== null && typeof value === 'object' && Object.values(value).some((one) => isDeep(one, depth + 1)));
const sha256 = (text) => createHash('sha256').update(text).digest('hex');
const digest = (prompt) => sha256(prompt.replace(/^[ \t\n\v\f\r]+|[ \t\n\v\f\r]+$/g, ''));

function argument(words) {
  try { return JSON.parse(words); } catch { return words; }
}

function adopt(given, script, words) {
  const { id, session, dir } = place(given);
  const said = decoded(read(`${session}/workflows/${id}.json`));
  const name = list(`${session}/workflows/scripts`).find((one) => one.includes(id));
  const file = script || (name && `${session}/workflows/scripts/${name}`);
  const out = { id, args: said.args, results: [], unfinished: 0, unknown: 0, output_tokens: 0 };
  if (words) out.args = argument(words);
  out.script = file ? read(file) : typeof said.script === 'string' ? said.script : '';
  if (out.script === '') throw new Error(`${given}: its script is not there; give it by --script FILE`);
  const short = path.basename(file ?? '').replace(/-?wf_[\w-]+/, '');
  out.name = /^\w.*\.m?js$/.test(short) ? short : `${id}.js`;
  if (!dir.includes('/subagents/') && !list(dir).some((one) => one.startsWith('agent-'))) {
    const { given: answers, before } = chainOf(dir, out.args);
    out.before = before;
    for (const [key, value] of answers) {
      if (value === undefined || isDeep(value)) out.unfinished += 1;
      else out.results.push({ prompt: key, value, source: `${id}/${key}` });
    }
    return out;
  }
  for (const [agent, result] of agentsOf(dir)) {
    const transcript = [`${dir}/agent-${agent}.jsonl`, `${session}/subagents/agent-${agent}.jsonl`].map(lines)
      .find((one) => promptOf(one) !== undefined) ?? [];
    const prompt = promptOf(transcript);
    const value = result ?? answerOf(transcript);
    if (value === undefined) out.unfinished += 1;
    else if (prompt === undefined || isDeep(value)) out.unknown += 1;
    else {
      out.output_tokens += tokensOf(transcript);
      out.results.push({ prompt: digest(prompt), value, source: `${id}/agent-${agent}.jsonl` });
    }
  }
  return out;
}

// Halves of characters are no text.
const HALF = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;
const whole = (_, value) => (typeof value === 'string' ? value.replace(HALF, '\ufffd') : value);
let told;
try { told = adopt(...process.argv.slice(1)); } catch (error) { told = { error: error.message }; }
process.stdout.write(JSON.stringify(told, whole));
