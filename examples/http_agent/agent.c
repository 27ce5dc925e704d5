/* agent.c: a small agent to try skillrt.agent.http with: it stands in for a model behind a URL.
 *
 *   agent [port]     listens on 127.0.0.1, prints where, answers until it is ended
 *
 * A task comes as a POST of JSON; the answer is JSON with "status", "stateUpdates" and "summary".
 * Its first answer is 503 with Retry-After, as a busy server's, and its reviews are wrapped in
 * talk, as a model's often are: skillrt copes with both. A real agent reads the JSON properly;
 * this one only looks for the words it needs. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

enum { REQUEST_MAX = 1 << 20 };

static void say(int to, const char *status, const char *headers, const char *body) {
  char text[4096];
  int size = snprintf(text, sizeof text,
                      "HTTP/1.1 %s\r\n%sContent-Length: %zu\r\nConnection: close\r\n\r\n%s", status,
                      headers, strlen(body), body);
  for (ssize_t sent = 0, n = 0; sent < size; sent += n)
    if ((n = send(to, text + sent, (size_t)(size - sent), MSG_NOSIGNAL)) <= 0) return;
}

/* The whole request: its head, and as much behind it as Content-Length says. False: half a one. */
static bool read_request(int from, char *text) {
  size_t length = 0, wanted = REQUEST_MAX;
  while (length < wanted) {
    ssize_t n = recv(from, text + length, REQUEST_MAX - length, 0);
    if (n <= 0) return false;
    text[length += (size_t)n] = '\0';
    const char *end = strstr(text, "\r\n\r\n");
    const char *size = end ? strcasestr(text, "\r\nContent-Length:") : NULL;
    if (end)
      wanted = (size_t)(end + 4 - text) + (size && size < end ? strtoul(size + 17, NULL, 10) : 0);
  }
  return true;
}

static void answer(int to, const char *task, unsigned count) {
  const char *json = "Content-Type: application/json\r\n";
  if (count == 0)
    say(to, "503 Service Unavailable", "Retry-After: 1\r\n", "busy, come again\n");
  else if (strstr(task, "\"action\":\"draft\""))
    say(to, "200 OK", json,
        "{\"status\":\"completed\",\"summary\":\"a first draft\",\"stateUpdates\":{\"draft\":"
        "\"A journal is a list of what happened.\"}}");
  else if (strstr(task, "\"revision\": 0"))
    say(to, "200 OK", "Content-Type: text/plain\r\n",
        "It is short. Here is a better one:\n```json\n"
        "{\"status\":\"completed\",\"summary\":\"made it longer\",\"stateUpdates\":{\"revision\":1,"
        "\"draft\":\"A journal is a list of what happened, written before anybody is "
        "told.\"}}\n```\n");
  else if (strstr(task, "\"action\":\"review\""))
    say(to, "200 OK", json,
        "{\"status\":\"completed\",\"summary\":\"good\",\"stateUpdates\":{\"approved\":true}}");
  else
    say(to, "200 OK", json, "{\"status\":\"failed\",\"summary\":\"I know no such task\"}");
}

int main(int argc, char **argv) {
  static char request[REQUEST_MAX + 1];
  struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  at.sin_port = htons((unsigned short)(argc > 1 ? atoi(argv[1]) : 0));
  socklen_t size = sizeof at;
  int on = 1, server = socket(AF_INET, SOCK_STREAM, 0);
  setsockopt(server, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (server < 0 || bind(server, (struct sockaddr *)&at, size) || listen(server, 16) ||
      getsockname(server, (struct sockaddr *)&at, &size)) {
    perror("agent");
    return 1;
  }
  printf("http://127.0.0.1:%d/task\n", ntohs(at.sin_port));
  fflush(stdout);
  for (unsigned count = 0;; count++) {
    int client = accept(server, NULL, NULL);
    if (client < 0) continue;
    if (read_request(client, request)) answer(client, request, count);
    close(client);
  }
}
