// qwen_runs.js: writes the journal of a workflow run as qwen-code leaves it, made up: standard input holds { args, agents:
// [{ prompt, options, result, failed, after }], torn }. Prints it. Called by adopt_qwen_spec.lua.
'use strict';
const { createHash } = require('crypto');

const COUNTED = ['schema', 'model', 'effort', 'isolation', 'agentType', 'workingDir', 'tools', 'disallowedTools'];
const ordered = (value) => (Array.isArray(value) ? value.map(ordered) : value && typeof value === 'object'
  ? Object.fromEntries(Object.keys(value).sort().map((key) => [key, ordered(value[key])])) : value);
const key = (...parts) => `v2:${createHash('sha256').update(parts.join('\0')).digest('hex')}`;

const run = JSON.parse(require('fs').readFileSync(0, 'utf8'));
const lines = [];
let before = key(JSON.stringify(run.args ?? null));
run.agents.forEach(({ prompt, options = {}, result, failed }, i) => {
  const counted = Object.fromEntries(COUNTED.filter((name) => name in options).map((name) => [name, options[name]]));
  before = key(before, prompt, JSON.stringify(ordered(counted)));
  lines.push({ type: 'started', key: before, agentId: String(i + 1) });
  if (result !== undefined) lines.push({ type: 'result', key: before, agentId: String(i + 1), result });
  if (failed) lines.push({ type: 'failed', key: before, agentId: String(i + 1) });
});
process.stdout.write(lines.map((line) => `${JSON.stringify(line)}\n`).join('') + (run.torn ?? ''));
