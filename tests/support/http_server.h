/* http_server.h: a small HTTP/1.1 server on loopback whose behaviour is asked for in the path.
 *
 * In a C test it is threads of the test; `build/<mode>/tests/agent_server` is the same as a
 * program, for Lua tests. Everything below may follow the path as ?name=value&..., values
 * percent-encoded; `retry-after=V` and `date=V` add that header to any framed reply:
 *
 *   /say/TEXT          200, TEXT (percent-decoded) as application/json
 *   /echo              200, the request's body as it came
 *   /head              200, the request's head as it came
 *   /status/N          status N with a small JSON body
 *   /plan, /plan/...   the n-th request gets the n-th line of the plan (the last one repeats);
 *                      the same of /.well-known/..., /register and /token
 *   /raw?file=F&piece=N&ms=M&cut=K&end=reset   the bytes of the file F as the whole reply, N at a
 *                      time, M ms apart, only the first K of them, then the connection's end or a
 * reset /counts            {"requests":..,"connections":..,"keys":..}; not counted itself
 *   /talk/DIR/-...     the text of the file /DIR/N, N: how many turns of a model the request holds;
 *                      JSON, or events. What a killed run asks again is answered again
 *   /mcp/DIR           a server of MCP that does what the scripts of the folder say (http_mcp.c)
 *   /slow?ms=N         waits before the headers    /trickle?ms=N&count=M  M chunks, N ms apart
 *   /silence           never answers                /stall   half a body, then silence
 *   /half              Content-Length 100, 50 bytes, end      /reset   the same, but a reset
 *   /chunked           a body in three chunks       /cut     chunks without their end
 *   /trailer           chunks with a trailer        /interim 100 and 103 before the 200
 *   /eof               a body to the connection's end, unannounced
 *   /eof-close         the same with Connection: close        /http10  the same as HTTP/1.0
 *   /huge?bytes=N      a body of N bytes            /headers?bytes=N  N bytes of small headers
 *   /line?bytes=N      one header of N bytes        /fold    a folded and a many-coloured header
 *   /gzip              "hello" compressed           /bomb?bytes=N  N zeros compressed
 *   /redirect?to=URL&code=N      /loop              redirects to itself
 *   /sse?count=N&ms=M  N events, M ms apart, in pieces that do not respect lines
 *   /sse-cut           ends with the connection inside its second event
 *   /garbage           not HTTP                     /nothing closes without a byte */
#ifndef SKILLRT_TESTS_HTTP_SERVER_H
#define SKILLRT_TESTS_HTTP_SERVER_H

#include <stdbool.h>

struct http_server;

struct http_counts {
  int requests, connections;
  int keys; /* different idempotency keys */
};

/* `log`: a file that gets a line per request: number, connection, method, target, idempotency
 * key or -, authorization or -, bytes of body. `plan`: a file of paths for /plan. Both may be
 * NULL. `port` 0: any free one. NULL with a message on stderr if it cannot listen. */
struct http_server *http_server_start(const char *log, const char *plan, int port);
/* Each request from now on is kept whole, head and body, in a file of this folder: 1, 2 ... */
void http_server_keep(struct http_server *, const char *folder);
int http_server_port(const struct http_server *);
struct http_counts http_server_counts(struct http_server *);
/* Ends every connection and thread. NULL is fine. */
void http_server_stop(struct http_server *);

#endif
