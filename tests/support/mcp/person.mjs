// person.mjs: a person with a browser, as the official conformance suite wants one: runs the skill that is tried, and
// where it asks for a login, types the command and opens the address; the browser comes back by itself. The words:
// skillrt, the folder of the tree, the server's URL.
import { spawn } from 'node:child_process';

const [program, tree, url] = process.argv.slice(2);
const work = `work-${process.pid}`;
const PERSON = 3; // the exit code of a run that waits for one

function start(words) {
  const child = spawn(program, words, { stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = new Promise((resolve) => child.on('close', resolve));
  return { child, ended };
}

async function login() {
  const { child, ended } = start(['login', url]);
  let text = '', opened = false;
  child.stdout.on('data', async (bytes) => {
    text += bytes;
    const address = text.match(/^https?:\/\/\S+(?=\n)/m);
    if (opened || !address) return;
    opened = true;
    await (await fetch(address[0])).text();
  });
  return (await ended) === 0;
}

let code = await start(['run', `${tree}/tests/support/mcp/conformance.lua`, '--work-dir', work, '--', url]).ended;
for (let asked = 0; code === PERSON && asked < 8; asked++) {
  code = await start(['answer', work, (await login()) ? 'done' : 'fail']).ended;
}
process.exit(code);
