// official_client.mjs: the official clients of MCP, of both generations, against `skillrt mcp`: what they see, as a
// line of JSON. Copied to where they are installed by tests/run/real_mcp_spec.lua.
const [generation, program, ...words] = process.argv.slice(2);
const seen = { progress: 0, asked: 0 };
const answer = async (request) => {
  seen.asked++;
  seen.message = request.params.message;
  return { action: 'accept', content: { answer: 'yes' } };
};

async function connect() {
  const capabilities = { elicitation: { form: {} } };
  const given = { command: program, args: ['mcp', ...words], env: process.env, stderr: 'inherit' };
  if (generation === 'v1') {
    const { Client } = await import('@modelcontextprotocol/sdk/client/index.js');
    const { StdioClientTransport } = await import('@modelcontextprotocol/sdk/client/stdio.js');
    const { ElicitRequestSchema } = await import('@modelcontextprotocol/sdk/types.js');
    const client = new Client({ name: 'official', version: '1' }, { capabilities });
    client.setRequestHandler(ElicitRequestSchema, answer);
    await client.connect(new StdioClientTransport(given));
    return { client, call: (params, options) => client.callTool(params, undefined, options) };
  }
  const { Client } = await import('@modelcontextprotocol/client');
  const { StdioClientTransport } = await import('@modelcontextprotocol/client/stdio');
  const mode = generation === 'v2' ? { pin: '2026-07-28' } : generation === 'v2auto' ? 'auto' : 'legacy';
  const client = new Client({ name: 'official', version: '2' }, { capabilities, versionNegotiation: { mode } });
  client.setRequestHandler('elicitation/create', answer);
  await client.connect(new StdioClientTransport(given));
  return { client, call: (params, options) => client.callTool(params, options) };
}

const { client, call } = await connect();
seen.server = client.getServerVersion()?.name;
seen.version = client.getNegotiatedProtocolVersion?.() ?? null;
seen.tools = (await client.listTools()).tools.map((tool) => tool.name);
seen.skills = (await call({ name: 'list', arguments: {} })).structuredContent.skills.map((one) => one.name);
const over = await call({ name: 'run', arguments: { skill: 'hello', input: { who: 'you' } } },
  { onprogress: () => { seen.progress++; } });
seen.status = over.structuredContent.status;
seen.state = over.structuredContent.state;
seen.text = JSON.parse(over.content[0].text).status;
seen.failed = (await call({ name: 'run', arguments: { skill: 'none' } })).isError;
await client.close();
console.log(JSON.stringify(seen));
