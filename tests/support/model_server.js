// model_server.js: a stand-in of the servers of Anthropic, OpenAI and Google, for the coding agents themselves: what it
// does with a request says a file that is named by the prompt.
//
// Called with a folder: it listens on loopback, and writes its port into `port`. A prompt holds "hello to NAME"; the
// file `mode.NAME` says ok (where there is none), hold (until it says another word), cut, or a status, a type and words.
// A key that does not end in "right" is refused. Each request for NAME is a line of `asked`: NAME, and the first word.
'use strict';
const fs = require('fs');
const http = require('http');
const folder = process.argv[2];

const mode = (name) => { try { return fs.readFileSync(`${folder}/mode.${name}`, 'utf8').trim(); } catch { return 'ok'; } };
const line = (event) => `${event.type ? `event: ${event.type}\n` : ''}data: ${JSON.stringify(event)}\n\n`;

function anthropic(text) {
  return [{ type: 'message_start', message: { id: 'msg_1', type: 'message', role: 'assistant', model: 'claude-sonnet-4-5-20250929',
    content: [], stop_reason: null, usage: { input_tokens: 11, output_tokens: 1 } } },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } },
  { type: 'content_block_stop', index: 0 },
  { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: { output_tokens: 20 } },
  { type: 'message_stop' }];
}

function openai(text) {
  const item = { type: 'message', id: 'm1', role: 'assistant', status: 'completed', content: [{ type: 'output_text', text, annotations: [] }] };
  return [{ type: 'response.created', response: { id: 'r1' } }, { type: 'response.output_item.done', output_index: 0, item },
    { type: 'response.completed', response: { id: 'r1', status: 'completed', output: [item], usage: { input_tokens: 11,
      input_tokens_details: { cached_tokens: 0 }, output_tokens: 20, output_tokens_details: { reasoning_tokens: 0 }, total_tokens: 31 } } }];
}

function google(text) {
  const chunk = (part, more) => ({ candidates: [{ content: { role: 'model', parts: [{ text: part }] }, ...more }] });
  return [chunk(text.slice(0, 3)), chunk(text.slice(3)), { ...chunk('', { finishReason: 'STOP' }),
    usageMetadata: { promptTokenCount: 11, candidatesTokenCount: 20, totalTokenCount: 31 } }];
}

function answer(response, said, events) {
  const [word, ...rest] = said.split(' ');
  if (/^\d+$/.test(word)) {
    response.writeHead(Number(word), { 'content-type': 'application/json' });
    return response.end(JSON.stringify({ type: 'error', error: { type: rest[0], code: Number(word), message: rest.slice(1).join(' '),
      plan_type: 'pro', resets_at: Math.floor(Date.now() / 1000) + 30, status: rest[0],
      details: [{ '@type': 'type.googleapis.com/google.rpc.QuotaFailure', violations: [{ quotaId: 'GenerateRequestsPerDay' }] }] } }));
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  if (word === 'cut') {
    response.write(events.slice(0, 2).map(line).join(''));
    return setTimeout(() => response.destroy(), 50);
  }
  return response.end(events.map(line).join(''));
}

http.createServer((request, response) => {
  let body = '';
  request.setEncoding('utf8').on('data', (part) => { body += part; }).on('end', () => {
    const form = /\/messages(?:\?|$)/.test(request.url) ? anthropic : /\/responses$/.test(request.url) ? openai
      : /:streamGenerateContent/.test(request.url) ? google : null;
    const name = [...body.matchAll(/hello to (\w+)/g)].pop()?.[1];
    if (!form || request.method !== 'POST' || !name) {
      response.writeHead(404, { 'content-type': 'application/json' });
      return response.end('{}');
    }
    const key = String(request.headers['x-api-key'] ?? request.headers.authorization ?? request.headers['x-goog-api-key']).slice(-5);
    const now = () => (key === 'right' ? mode(name) : '401 authentication_error the key is wrong');
    fs.appendFileSync(`${folder}/asked`, `${name} ${now().split(' ')[0]}\n`);
    const wait = () => {
      const said = now();
      if (said !== 'hold') return answer(response, said, form(`Hello, ${name}.`));
      return response.destroyed || setTimeout(wait, 20);
    };
    return wait();
  });
}).listen(0, '127.0.0.1', function begun() {
  fs.writeFileSync(`${folder}/port.new`, `${this.address().port}\n`);
  fs.renameSync(`${folder}/port.new`, `${folder}/port`);
});
process.stdin.resume().on('end', () => process.exit());
