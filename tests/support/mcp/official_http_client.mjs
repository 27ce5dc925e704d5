// official_http_client.mjs: the official client of MCP against `skillrt serve`: tools, a run as a task, its question; what it
// sees is a line of JSON. Copied to where it is installed by tests/run/serve_mcp_spec.lua.
const [url, token] = process.argv.slice(2);
const { Client } = await import('@modelcontextprotocol/sdk/client/index.js');
const { StreamableHTTPClientTransport } = await import('@modelcontextprotocol/sdk/client/streamableHttp.js');
const { ElicitRequestSchema, CallToolResultSchema } = await import('@modelcontextprotocol/sdk/types.js');
const seen = { progress: 0, asked: 0, states: [] };
const capabilities = { elicitation: { form: {} }, tasks: { requests: { elicitation: { create: {} } } } };
const client = new Client({ name: 'official', version: '1' }, { capabilities });
client.setRequestHandler(ElicitRequestSchema, async () => {
  seen.asked++;
  return { action: 'accept', content: { answer: 'yes' } };
});
const transport = new StreamableHTTPClientTransport(new URL(url + '/mcp'),
  { requestInit: { headers: { Authorization: 'Bearer ' + token } } });
await client.connect(transport);
seen.server = client.getServerVersion()?.name;
seen.tools = (await client.listTools()).tools.map((tool) => tool.name);
seen.skills = (await client.callTool({ name: 'list', arguments: {} })).structuredContent.skills.map((one) => one.name);
const asks = { name: 'run', arguments: { skill: 'hello', input: { does: 'ask' } } };
const over = await client.callTool(asks, undefined, { onprogress: () => { seen.progress++; } });
seen.status = over.structuredContent.status;
const stream = client.experimental.tasks.callToolStream(asks, CallToolResultSchema, { task: { ttl: 60000 } });
for await (const message of stream) {
  if (message.type === 'taskCreated') seen.created = message.task;
  if (message.type === 'taskStatus' && seen.states.at(-1) !== message.task.status) seen.states.push(message.task.status);
  if (message.type === 'result') seen.result = message.result.structuredContent;
  if (message.type === 'error') seen.error = String(message.error);
}
seen.listed = (await client.experimental.tasks.listTasks()).tasks.length;
seen.last = (await client.experimental.tasks.getTask(seen.created.taskId)).status;
await transport.terminateSession();
await client.close();
console.log(JSON.stringify(seen));
