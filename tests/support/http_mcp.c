/* http_mcp.c: a server of the Model Context Protocol over HTTP that does what its scripts say: of
 * the N-th request of a kind the file KIND.N of a folder, else KIND; without one it is well
 * behaved.
 *
 * A kind is GET, DELETE, the method of a message with _ for /, or "answer". Each request is kept in
 * the folder as .KIND.N, head and body, and noted in .order. A line of a script:
 *
 *   json CODE [NAME: VALUE|...] TEXT   a whole reply
 *   sse [NAME: VALUE|...]              the head of a stream, to the connection's end
 *   chunked N [...]                    the same in chunks of N bytes; `end` ends them
 *   event TEXT      raw TEXT           bytes of it; \n and \r are line ends in raw
 *   say TEXT                           an event with the answer to this request
 *   sleep MS        await KIND.N       until that request came, 10 s at most
 *   flood N TEXT    big BYTES          N events; an event of so many bytes
 *   note FILE                          a line more in that file
 *   hang            reset
 *
 * $ID is the id of the message, $N which of its kind it is. Where the folder has a file "uncounted"
 * nothing is kept, and all is the first of its kind. Called by http_replies.c. */
#include "support/http_server_inside.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct talk {
  struct request *request;
  char folder[1024], kind[128], id[256];
  int number;
  int chunk; /* bytes of a chunk; 0: none */
};

static bool put(struct talk *talk, const char *bytes, size_t length) {
  char head[32];
  if (!talk->chunk) return http_send(talk->request, bytes, length);
  for (size_t at = 0; at < length; at += (size_t)talk->chunk) {
    size_t left = length - at, piece = left < (size_t)talk->chunk ? left : (size_t)talk->chunk;
    snprintf(head, sizeof head, "%zx\r\n", piece);
    if (!http_send(talk->request, head, strlen(head)) ||
        !http_send(talk->request, bytes + at, piece) || !http_send(talk->request, "\r\n", 2))
      return false;
    if (talk->chunk < 100) http_pause(talk->request, 1); /* a read of its own */
  }
  return true;
}

static bool put_text(struct talk *talk, const char *text) {
  return put(talk, text, strlen(text));
}

/* The JSON of a top field of a message; "" if absent. Good enough for what skillrt sends. */
static void field(const char *body, const char *name, char *to, size_t size) {
  char key[64];
  snprintf(key, sizeof key, "\"%s\":", name);
  const char *at = body ? strstr(body, key) : NULL;
  to[0] = 0;
  if (!at) return;
  at += strlen(key);
  size_t length = *at == '"' ? strcspn(at + 1, "\"") + 2 : strcspn(at, ",}");
  if (length < size) snprintf(to, size, "%.*s", (int)length, at);
}

static void know(struct talk *talk) {
  struct request *request = talk->request;
  char path[1400], method[128];
  field(request->body, "method", method, sizeof method);
  field(request->body, "id", talk->id, sizeof talk->id);
  size_t length = strlen(method);
  if (strcmp(request->method, "POST") != 0)
    snprintf(talk->kind, sizeof talk->kind, "%s", request->method);
  else if (length > 2)
    snprintf(talk->kind, sizeof talk->kind, "%.*s", (int)length - 2, method + 1);
  else
    snprintf(talk->kind, sizeof talk->kind, "answer");
  for (char *at = talk->kind; *at; at++)
    if (*at == '/') *at = '_';
  int fd = -1;
  snprintf(path, sizeof path, "%s/uncounted", talk->folder);
  if (access(path, F_OK) == 0) return;
  while (fd < 0 && talk->number < 10000) {
    snprintf(path, sizeof path, "%s/.%s.%d", talk->folder, talk->kind, ++talk->number);
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  }
  FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
  if (file) {
    fputs(request->head, file);
    fwrite(request->body, 1, request->body_length, file);
    fclose(file);
  }
  snprintf(path, sizeof path, "%s/.order", talk->folder);
  FILE *order = fopen(path, "ae");
  if (!order) return;
  fprintf(order, "%s.%d\n", talk->kind, talk->number);
  fclose(order);
}

/* Owned by the caller. */
static char *filled(const struct talk *talk, const char *text, bool escapes) {
  char number[16], *out = malloc(strlen(text) * 4 + 4096), *to = out;
  if (!out) abort();
  snprintf(number, sizeof number, "%d", talk->number);
  for (; *text; text++) {
    bool id = strncmp(text, "$ID", 3) == 0, n = strncmp(text, "$N", 2) == 0;
    if (id || n) {
      to = stpcpy(to, id ? talk->id : number);
      text += id ? 2 : 1;
    } else if (escapes && *text == '\\' && (text[1] == 'n' || text[1] == 'r')) {
      *to++ = *++text == 'n' ? '\n' : '\r';
    } else {
      *to++ = *text;
    }
  }
  *to = 0;
  return out;
}

/* Header lines out of "[A: b|C: d] rest": the rest. */
static char *headers(char *text, char *to, size_t size) {
  to[0] = 0;
  if (*text != '[') return text;
  char *end = strchr(text, ']');
  if (!end) return text;
  *end = 0;
  for (char *at = strtok(text + 1, "|"); at; at = strtok(NULL, "|"))
    snprintf(to + strlen(to), size - strlen(to), "%s\r\n", at);
  return end[1] == ' ' ? end + 2 : end + 1;
}

static bool whole(struct talk *talk, char *text) {
  char more[2048], head[4096];
  int code = (int)strtol(text, &text, 10);
  text = headers(text + (*text == ' '), more, sizeof more);
  const char *type = strstr(more, "ontent-") ? "" : "Content-Type: application/json\r\n";
  snprintf(head, sizeof head, "HTTP/1.1 %d X\r\n%s%sContent-Length: %zu\r\n\r\n", code, type, more,
           strlen(text));
  return put_text(talk, head) && put_text(talk, text);
}

static bool stream(struct talk *talk, char *text, bool chunked) {
  char more[2048], head[4096];
  int size = chunked ? (int)strtol(text, &text, 10) : 0;
  headers(text + (*text == ' '), more, sizeof more);
  snprintf(head, sizeof head, "HTTP/1.1 200 X\r\nContent-Type: text/event-stream\r\n%s%s\r\n", more,
           chunked ? "Transfer-Encoding: chunked\r\n" : "Connection: close\r\n");
  bool fine = put_text(talk, head);
  talk->chunk = size;
  return fine;
}

static bool event(struct talk *talk, const char *text) {
  return put_text(talk, "data: ") && put_text(talk, text) && put_text(talk, "\n\n");
}

static bool big(struct talk *talk, const char *text) {
  size_t size = strtoul(text, NULL, 10);
  char *all = malloc(size + 64);
  if (!all) abort();
  int used = sprintf(all, "data: {\"x\":\"");
  memset(all + used, 'x', size);
  strcpy(all + used + size, "\"}\n\n");
  bool fine = put_text(talk, all);
  free(all);
  return fine;
}

static bool await(struct talk *talk, const char *name) {
  char path[1400];
  snprintf(path, sizeof path, "%s/.%s", talk->folder, name);
  for (int i = 0; i < 1000 && access(path, F_OK) < 0; i++)
    http_pause(talk->request, 10);
  return true;
}

static bool obey(struct talk *talk, const char *line) {
  char word[16] = "", *text, *own;
  sscanf(line, "%15s", word);
  own = filled(talk, line + strlen(word) + (line[strlen(word)] == ' '), strcmp(word, "raw") == 0);
  text = own;
  bool fine = true;
  if (strcmp(word, "json") == 0) fine = whole(talk, text);
  if (strcmp(word, "sse") == 0) fine = stream(talk, text, false);
  if (strcmp(word, "chunked") == 0) fine = stream(talk, text, true);
  if (strcmp(word, "event") == 0) fine = event(talk, text);
  if (strcmp(word, "raw") == 0) fine = put_text(talk, text);
  if (strcmp(word, "sleep") == 0) http_pause(talk->request, atoi(text));
  if (strcmp(word, "await") == 0) fine = await(talk, text);
  if (strcmp(word, "big") == 0) fine = big(talk, text);
  if (strcmp(word, "hang") == 0) http_pause(talk->request, 60000);
  if (strcmp(word, "reset") == 0) fine = http_reset_connection(talk->request);
  if (strcmp(word, "note") == 0) {
    FILE *file = fopen(text, "ae");
    if (file && fputs("called\n", file) >= 0) fclose(file);
  }
  if (strcmp(word, "say") == 0) {
    char reply[4096];
    snprintf(reply, sizeof reply,
             "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"content\":[{\"type\":\"text\",\"text\":"
             "\"%s\"}]}}",
             talk->id, text);
    fine = event(talk, reply);
  }
  if (strcmp(word, "flood") == 0) {
    long count = strtol(text, &text, 10);
    for (long i = 0; fine && i < count; i++)
      fine = event(talk, text + 1);
  }
  if (strcmp(word, "end") == 0) {
    talk->chunk = 0;
    fine = put_text(talk, "0\r\n\r\n");
  }
  free(own);
  return fine;
}

static const char *otherwise(const struct talk *talk) {
  if (strcmp(talk->kind, "GET") == 0) return "json 405 none";
  if (strcmp(talk->kind, "DELETE") == 0) return "json 200 {}";
  if (strcmp(talk->kind, "initialize") == 0)
    return "json 200 [Mcp-Session-Id: s-$N|Content-Type: application/json] "
           "{\"jsonrpc\":\"2.0\",\"id\":$ID,\"result\":{\"protocolVersion\":\"2025-11-25\","
           "\"capabilities\":{\"tools\":{}}}}";
  if (strcmp(talk->kind, "answer") == 0 || strncmp(talk->kind, "notifications", 13) == 0)
    return "json 202 ";
  return "json 200 "
         "{\"jsonrpc\":\"2.0\",\"id\":$ID,\"result\":{\"content\":[{\"type\":\"text\",\"text\":"
         "\"ok "
         "$N\"}]}}";
}

bool http_is_aside(const struct request *request) {
  return strncmp(request->path, "/plan/mcp", 9) == 0 && strcmp(request->method, "POST") != 0;
}

bool http_mcp(struct request *request) {
  struct talk talk = {.request = request};
  char path[1400], line[65536];
  snprintf(talk.folder, sizeof talk.folder, "%.1000s", request->path + strlen("/mcp"));
  know(&talk);
  snprintf(path, sizeof path, "%s/%s.%d", talk.folder, talk.kind, talk.number);
  FILE *file = fopen(path, "re");
  if (!file) {
    snprintf(path, sizeof path, "%s/%s", talk.folder, talk.kind);
    file = fopen(path, "re");
  }
  if (!file) return obey(&talk, otherwise(&talk));
  bool more = true, stays = false;
  while (more && fgets(line, sizeof line, file)) {
    line[strcspn(line, "\n")] = 0;
    stays = strncmp(line, "json", 4) == 0 || strncmp(line, "end", 3) == 0;
    more = obey(&talk, line);
  }
  fclose(file);
  return more && stays;
}
