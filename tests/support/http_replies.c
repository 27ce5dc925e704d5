/* http_replies.c: what each path of the test server answers, good and bad.
 * The list of paths is in http_server.h. Called by http_server.c only. */
#include "support/http_server_inside.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool say(struct request *request, const char *text) {
  return http_send(request, text, strlen(text));
}

/* A framed reply; `more` are header lines, each with its line end. */
static bool reply(struct request *request, int status, const char *more, const char *body,
                  size_t length) {
  char head[8192], wait[256], date[256], extra[600] = "";
  if (*http_query(request, "retry-after", wait, sizeof wait))
    snprintf(extra, sizeof extra, "Retry-After: %s\r\n", wait);
  if (*http_query(request, "date", date, sizeof date))
    snprintf(extra + strlen(extra), sizeof extra - strlen(extra), "Date: %s\r\n", date);
  snprintf(head, sizeof head, "HTTP/1.1 %d Whatever\r\nContent-Length: %zu\r\n%s%s\r\n", status,
           length, more, extra);
  bool bodiless = strcmp(request->method, "HEAD") == 0 || status == 204 || status == 304;
  return say(request, head) && (bodiless || http_send(request, body, length));
}

static bool reply_text(struct request *request, int status, const char *more, const char *body) {
  return reply(request, status, more, body, strlen(body));
}

static const char json[] = "Content-Type: application/json\r\n";

static bool say_path(struct request *request) {
  char text[8192];
  http_decode(request->path + strlen("/say/"), text, sizeof text);
  return reply_text(request, 200, json, text);
}

static bool status(struct request *request) {
  int code = atoi(request->path + strlen("/status/"));
  char body[64];
  snprintf(body, sizeof body, "{\"status\":%d}", code);
  return reply_text(request, code, json, body);
}

static bool echo(struct request *request) {
  return reply(request, 200, json, request->body, request->body_length);
}

static bool head(struct request *request) {
  return reply_text(request, 200, "", request->head);
}

static bool counts(struct request *request) {
  struct http_counts now = http_server_counts(request->server);
  char body[128];
  snprintf(body, sizeof body, "{\"requests\":%d,\"connections\":%d,\"keys\":%d}", now.requests,
           now.connections, now.keys);
  return reply_text(request, 200, json, body);
}

static bool plan(struct request *request) {
  char target[8192] = "";
  if (http_is_aside(request)) return reply_text(request, 405, "", "");
  if (!http_plan(request, target, sizeof target) || strncmp(target, "/plan", 5) == 0)
    return reply_text(request, 500, "", "no plan");
  char *question = strchr(target, '?');
  snprintf(request->query, sizeof request->query, "%.4095s", question ? question + 1 : "");
  if (question) *question = 0;
  snprintf(request->path, sizeof request->path, "%s", target);
  return http_reply(request);
}

static bool slow(struct request *request) {
  http_pause(request, (int)http_query_number(request, "ms", 1000));
  return reply_text(request, 200, "", "slow");
}

static bool silence(struct request *request) {
  http_pause(request, 60000);
  return false;
}

static bool start_body(struct request *request) {
  char half[51];
  memset(half, 'h', 50);
  half[50] = 0;
  return say(request, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n") && say(request, half);
}

static bool half(struct request *request) {
  start_body(request);
  return false;
}

static bool stall(struct request *request) {
  return start_body(request) && silence(request);
}

static bool reset(struct request *request) {
  start_body(request);
  http_pause(request, 20); /* or the reset would overtake the bytes */
  return http_reset_connection(request);
}

static bool reset_first(struct request *request) {
  return http_reset_connection(request);
}

static const char chunked_head[] = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

static bool chunked(struct request *request) {
  return say(request, chunked_head) && say(request, "4\r\nfour\r\n3\r\ntwo\r\n0\r\n\r\n");
}

static bool cut(struct request *request) {
  say(request, chunked_head);
  say(request, "4\r\nfour\r\n");
  return false;
}

static bool trailer(struct request *request) {
  return say(request, chunked_head) &&
         say(request, "4\r\nfour\r\n0\r\nRetry-After: 7\r\nX-Late: yes\r\n\r\n");
}

static bool trickle(struct request *request) {
  long times = http_query_number(request, "count", 3);
  bool fine = say(request, chunked_head);
  for (long i = 0; fine && i < times; i++) {
    http_pause(request, (int)http_query_number(request, "ms", 50));
    fine = say(request, "4\r\ndrop\r\n");
  }
  return fine && say(request, "0\r\n\r\n");
}

static bool interim(struct request *request) {
  return say(request,
             "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nX-Hint: a\r\n\r\n") &&
         reply_text(request, 200, "X-Last: b\r\n", "final");
}

static bool eof(struct request *request) {
  say(request, "HTTP/1.1 200 OK\r\nX-Kind: open\r\n\r\nto the end");
  return false;
}

static bool eof_close(struct request *request) {
  say(request, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nto the end");
  return false;
}

static bool http10(struct request *request) {
  say(request, "HTTP/1.0 200 OK\r\n\r\nto the end");
  return false;
}

static bool huge(struct request *request) {
  size_t size = (size_t)http_query_number(request, "bytes", 1 << 20);
  char *body = malloc(size + 1);
  if (!body) return false;
  memset(body, 'x', size);
  bool fine = reply(request, 200, "", body, size);
  free(body);
  return fine;
}

static bool headers(struct request *request) {
  long size = http_query_number(request, "bytes", 1 << 20);
  bool fine = say(request, "HTTP/1.1 200 OK\r\n");
  for (long i = 0; fine && i * 50 < size; i++) {
    char line[64];
    snprintf(line, sizeof line, "X-Number-%08ld: %030ld\r\n", i, i);
    fine = say(request, line);
  }
  return fine && say(request, "Content-Length: 2\r\n\r\nok");
}

static bool line(struct request *request) {
  long size = http_query_number(request, "bytes", 1 << 20);
  bool fine = say(request, "HTTP/1.1 200 OK\r\nX-Long: ");
  for (long i = 0; fine && i < size; i += 50)
    fine = say(request, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
  return fine && say(request, "\r\nContent-Length: 2\r\n\r\nok");
}

static bool fold(struct request *request) {
  return reply_text(request, 200,
                    "X-Folded: one\r\n   two\r\nX-COLOURS:\tred:green:blue  \r\nX-Empty:\r\n",
                    "ok");
}

/* --- compressed --------------------------------------------------------------------- */

static uint32_t crc32_of(const unsigned char *bytes, size_t length) {
  uint32_t crc = 0xffffffffU;
  for (size_t i = 0; i < length; i++) {
    crc ^= bytes[i];
    for (int bit = 0; bit < 8; bit++)
      crc = crc >> 1 ^ (crc & 1 ? 0xedb88320U : 0);
  }
  return ~crc;
}

/* A gzip member with one stored block. */
static bool gzip(struct request *request) {
  unsigned char file[64] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 1, 5, 0, 0xfa, 0xff};
  memcpy(file + 15, "hello", 5);
  uint32_t crc = crc32_of(file + 15, 5);
  for (int i = 0; i < 4; i++)
    file[20 + i] = (unsigned char)(crc >> 8 * i);
  file[24] = 5;
  return reply(request, 200, "Content-Encoding: gzip\r\n", (char *)file, 28);
}

/* Zeros in one block of fixed codes: a 0, then copies of 258 bytes from one byte before, each
 * 13 bits: 11000101 for the length, 00000 for the distance. The sums at the end are missing:
 * nobody should get there. */
static bool bomb(struct request *request) {
  size_t copies = (size_t)http_query_number(request, "bytes", 1 << 24) / 258;
  size_t size = 10 + (3 + 8 + copies * 13 + 7) / 8 + 9, at = 80;
  unsigned char *file = calloc(1, size);
  if (!file) return false;
  memcpy(file, "\x1f\x8b\x08\0\0\0\0\0\0\x03", 10);
  static const char start[] = "11000110000"; /* last block, fixed codes, literal 0 */
  for (const char *bit = start; *bit; bit++, at++)
    if (*bit == '1') file[at / 8] = (unsigned char)(file[at / 8] | 1 << at % 8);
  for (size_t i = 0; i < copies; i++, at += 13)
    for (size_t bit = 0; bit < 8; bit++)
      if ("11000101"[bit] == '1')
        file[(at + bit) / 8] = (unsigned char)(file[(at + bit) / 8] | 1 << (at + bit) % 8);
  bool fine = reply(request, 200, "Content-Encoding: gzip\r\n", (char *)file, size);
  free(file);
  return fine;
}

/* --- elsewhere ---------------------------------------------------------------------- */

static bool redirect(struct request *request) {
  char to[2048], more[2100];
  http_query(request, "to", to, sizeof to);
  snprintf(more, sizeof more, "Location: %s\r\n", to);
  return reply_text(request, (int)http_query_number(request, "code", 307), more, "moved");
}

static bool loop(struct request *request) {
  return reply_text(request, 307, "Location: /loop\r\n", "again");
}

static bool sse(struct request *request) {
  bool fine = say(request, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n"
                           "Transfer-Encoding: chunked\r\n\r\n");
  long times = http_query_number(request, "count", 3);
  int ms = (int)http_query_number(request, "ms", 0);
  const char *end =
      http_query_number(request, "cr", 0) ? "\r\n4\r\n\r\n\r\n\r\n" : "\r\n2\r\n\n\n\r\n";
  for (long i = 1; fine && i <= times; i++) {
    char part[128];
    http_pause(request, ms);
    fine = say(request, "9\r\n: ping\n\nd\r\n");
    snprintf(part, sizeof part, "%03ld", i);
    fine = fine && say(request, "e\r\nata: event ") && say(request, part) && say(request, end);
  }
  return fine && say(request, "0\r\n\r\n");
}

static bool sse_cut(struct request *request) {
  say(request, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
               "data: whole\n\ndata: ha");
  return false;
}

static bool raw_bytes(struct request *request, const char *bytes, size_t length) {
  size_t piece = (size_t)http_query_number(request, "piece", 65536);
  int ms = (int)http_query_number(request, "ms", 0);
  for (size_t at = 0; at < length; at += piece) {
    if (!http_send(request, bytes + at, length - at < piece ? length - at : piece)) return false;
    if (ms > 0) http_pause(request, ms);
  }
  char end[16];
  if (strcmp(http_query(request, "end", end, sizeof end), "reset") != 0) return false;
  http_pause(request, 5);
  return http_reset_connection(request);
}

static bool raw(struct request *request) {
  char path[4096];
  FILE *file = fopen(http_query(request, "file", path, sizeof path), "re");
  if (!file) return reply_text(request, 500, "", "no file");
  fseek(file, 0, SEEK_END);
  long length = ftell(file), cut_at = http_query_number(request, "cut", length);
  rewind(file);
  char *bytes = malloc((size_t)length + 1);
  bool whole = bytes && fread(bytes, 1, (size_t)length, file) == (size_t)length;
  fclose(file);
  if (whole) raw_bytes(request, bytes, (size_t)(cut_at < length ? cut_at : length));
  free(bytes);
  return false;
}

static char *file_text(const char *path) {
  FILE *file = fopen(path, "re");
  char *text = file ? calloc(1, 1 << 16) : NULL;
  if (text && fread(text, 1, (1 << 16) - 1, file) == 0) *text = 0;
  if (file) fclose(file);
  return text;
}

static bool talk(struct request *request) {
  static const char spoke[] = "\"role\":\"assistant\"";
  char path[4096];
  int turns = 0;
  for (const char *at = request->body; at && (at = strstr(at, spoke)); at += sizeof spoke - 1)
    turns++;
  char *end = strstr(request->path, "/-");
  if (end) *end = 0;
  snprintf(path, sizeof path, "%.4000s/%d", request->path + strlen("/talk"), turns);
  char *text = file_text(path);
  const char *type = text && *text == '{' ? json : "Content-Type: text/event-stream\r\n";
  bool fine = text ? reply_text(request, 200, type, text)
                   : reply_text(request, 400, "", "nothing is left to say");
  free(text);
  return fine;
}

static bool garbage(struct request *request) {
  say(request, "this is not HTTP at all\r\n\r\n");
  return false;
}

static bool nothing(struct request *request) {
  (void)request;
  return false;
}

static const struct {
  const char *path;
  bool whole; /* else only the beginning */
  bool (*reply)(struct request *);
} replies[] = {
    {"/say/", false, say_path},  {"/status/", false, status},   {"/echo", true, echo},
    {"/head", true, head},       {"/counts", true, counts},     {"/plan", false, plan},
    {"/slow", true, slow},       {"/silence", true, silence},   {"/half", true, half},
    {"/stall", true, stall},     {"/reset", true, reset},       {"/chunked", true, chunked},
    {"/cut", true, cut},         {"/trailer", true, trailer},   {"/trickle", true, trickle},
    {"/interim", true, interim}, {"/eof", true, eof},           {"/eof-close", true, eof_close},
    {"/http10", true, http10},   {"/huge", true, huge},         {"/headers", true, headers},
    {"/line", true, line},       {"/fold", true, fold},         {"/gzip", true, gzip},
    {"/bomb", true, bomb},       {"/redirect", true, redirect}, {"/loop", true, loop},
    {"/sse", true, sse},         {"/sse-cut", true, sse_cut},   {"/garbage", true, garbage},
    {"/raw", true, raw},         {"/nothing", true, nothing},   {"/reset-first", true, reset_first},
    {"/talk/", false, talk},     {"/.well", false, plan},       {"/register", true, plan},
    {"/token", true, plan},      {"/mcp/", false, http_mcp},
};

bool http_reply(struct request *request) {
  for (size_t i = 0; i < sizeof replies / sizeof *replies; i++) {
    size_t length = strlen(replies[i].path);
    bool same = replies[i].whole ? strcmp(request->path, replies[i].path) == 0
                                 : strncmp(request->path, replies[i].path, length) == 0;
    if (same) return replies[i].reply(request);
  }
  return reply_text(request, 404, "", "no such path: see tests/support/http_server.h");
}
