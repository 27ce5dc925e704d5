// rotating_server.mjs: a server of MCP and the one that gives its tokens: a token is good for five requests, each refresh
// token for one; one that is used again is noticed, as by servers that then take back all that they gave. /stats tells.
import http from 'node:http';

let n = 0, uses = 0;
const stats = { reused: 0, refreshed: 0, calls: 0 };

function answer(request, body, json) {
  if (request.url === '/stats') return json(200, stats);
  if (request.url === '/token') {
    if (new URLSearchParams(body).get('refresh_token') !== `refresh-token-${n}`) {
      stats.reused++;
      return json(400, { error: 'invalid_grant' });
    }
    stats.refreshed++;
    n++;
    uses = 0;
    const token = { access_token: `access-token-${n}`, refresh_token: `refresh-token-${n}`, token_type: 'Bearer' };
    return setTimeout(() => json(200, token), 100);
  }
  if (request.method !== 'POST') return json(405, {});
  if (request.headers.authorization !== `Bearer access-token-${n}` || uses >= 5) {
    return json(401, {}, { 'WWW-Authenticate': 'Bearer error="invalid_token"' });
  }
  uses++;
  const { id, method, params } = JSON.parse(body);
  if (id === undefined) return json(202);
  if (method === 'initialize') {
    const serverInfo = { name: 'rotating', version: '1' };
    return json(200, { jsonrpc: '2.0', id, result: { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo } });
  }
  stats.calls++;
  const result = { content: [{ type: 'text', text: `did ${params.arguments.n}` }] };
  setTimeout(() => json(200, { jsonrpc: '2.0', id, result }), 20);
}

const server = http.createServer((request, reply) => {
  let body = '';
  request.on('data', (bytes) => (body += bytes));
  request.on('end', () => answer(request, body, (code, value, headers) => {
    reply.writeHead(code, { 'Content-Type': 'application/json', ...headers });
    reply.end(value === undefined ? '' : JSON.stringify(value));
  }));
});
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
process.stdin.on('end', () => process.exit(0)).resume();
setTimeout(() => process.exit(0), 60000);
