// official_acp_client.mjs: the official client of the Agent Client Protocol against `skillrt acp`: what it sees is a line
// of JSON. Copied to where it is installed by tests/run/acp_spec.lua.
import { spawn } from 'node:child_process';
import { Readable, Writable } from 'node:stream';
import * as acp from '@agentclientprotocol/sdk';

const [program, ...words] = process.argv.slice(2);
const child = spawn(program, ['acp', ...words], { stdio: ['pipe', 'pipe', 'inherit'] });
const seen = { thoughts: 0, said: '', commands: [], asked: [], stops: [] };
const { agent, client } = acp.methods;
const app = acp.client({ name: 'official' })
  .onNotification(client.session.update, ({ params: { update } }) => {
    if (update.sessionUpdate === 'agent_thought_chunk') seen.thoughts++;
    if (update.sessionUpdate === 'agent_message_chunk') seen.said += update.content.text;
    if (update.sessionUpdate === 'available_commands_update') seen.commands = update.availableCommands.map((one) => one.name);
  })
  .onRequest(client.session.requestPermission, ({ params: { options, toolCall } }) => {
    seen.asked.push([toolCall.title, ...options.map((one) => one.optionId)]);
    return { outcome: { outcome: 'selected', optionId: options[0].optionId } };
  });
const stream = acp.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout));
await app.connectWith(stream, async (context) => {
  const hello = await context.request(agent.initialize, { protocolVersion: acp.PROTOCOL_VERSION, clientCapabilities: {} });
  seen.version = hello.protocolVersion;
  seen.agent = hello.agentInfo.name;
  const { sessionId } = await context.request(agent.session.new, { cwd: process.cwd(), mcpServers: [] });
  async function prompt(text) {
    const reply = await context.request(agent.session.prompt, { sessionId, prompt: [{ type: 'text', text }] });
    seen.stops.push(reply.stopReason);
  }
  await prompt('/hello ask');
  await prompt('text');
  await prompt('the words');
  const before = seen.thoughts, slow = prompt('sleep');
  while (seen.thoughts < before + 12) {
    await new Promise((done) => { setTimeout(done, 50); });
  }
  await context.notify(agent.session.cancel, { sessionId });
  await slow;
});
child.stdin.end();
console.log(JSON.stringify(seen));
