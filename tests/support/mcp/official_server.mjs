// official_server.mjs: a server of the official library that speaks 2026-07-28 alone, as a program or behind a URL.
// Copied to where that is installed by tests/run/real_mcp_spec.lua.
import { createServer } from 'node:http';
import { McpServer, createMcpHandler, fromJsonSchema } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';

const factory = () => {
  const server = new McpServer({ name: 'modern', version: '1.0.0' }, { capabilities: { tools: {} } });
  const inputSchema = fromJsonSchema({ type: 'object', required: ['text'],
    properties: { text: { type: 'string', 'x-mcp-header': 'Text' } } });
  server.registerTool('echo', { description: 'Says it again', inputSchema },
    async ({ text }) => ({ content: [{ type: 'text', text: `modern: ${text}` }] }));
  return server;
};

const port = process.argv[2];
if (!port) {
  serveStdio(factory, { legacy: 'reject' });
} else {
  const handler = createMcpHandler(factory, { legacy: 'reject' });
  createServer(async (request, response) => {
    const parts = [];
    for await (const part of request) parts.push(part);
    const reply = await handler.fetch(new Request(`http://127.0.0.1:${port}${request.url}`, { method: request.method,
      headers: request.headers, body: parts.length ? Buffer.concat(parts) : undefined }));
    response.writeHead(reply.status, Object.fromEntries(reply.headers));
    response.end(Buffer.from(await reply.arrayBuffer()));
  }).listen(Number(port), '127.0.0.1', () => console.log('listening'));
}
