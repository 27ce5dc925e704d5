/* agent_server.c: the test server of tests/support/http_server.h as a program, for Lua tests:
 *
 *   agent_server [--port N] [--log FILE] [--plan FILE] [--keep DIR] [--seconds N]
 *
 * Prints "port N", then serves until its standard input ends (so that it cannot outlive the
 * test that holds the other end), a signal comes, or after N seconds (default 120). */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "support/http_server.h"

static int usage(const char *what) {
  fprintf(stderr,
          "agent_server: %s\nusage: agent_server [--port N] [--log FILE] [--plan FILE] "
          "[--keep DIR] [--seconds N]\n",
          what);
  return 2;
}

int main(int count, char **words) {
  const char *log = NULL, *plan = NULL, *keep = NULL;
  int port = 0, seconds = 120;
  for (int i = 1; i < count; i += 2) {
    if (i + 1 == count) return usage("an option has no value");
    if (strcmp(words[i], "--port") == 0)
      port = atoi(words[i + 1]);
    else if (strcmp(words[i], "--log") == 0)
      log = words[i + 1];
    else if (strcmp(words[i], "--plan") == 0)
      plan = words[i + 1];
    else if (strcmp(words[i], "--keep") == 0)
      keep = words[i + 1];
    else if (strcmp(words[i], "--seconds") == 0)
      seconds = atoi(words[i + 1]);
    else
      return usage("unknown option");
  }
  struct http_server *server = http_server_start(log, plan, port);
  if (!server) return 1;
  if (keep) http_server_keep(server, keep);
  printf("port %d\n", http_server_port(server));
  fflush(stdout);
  time_t end = time(NULL) + seconds;
  struct pollfd input = {.fd = 0, .events = POLLIN};
  while (time(NULL) < end) {
    char bytes[256];
    if (poll(&input, 1, 1000) > 0 && read(0, bytes, sizeof bytes) <= 0) break;
  }
  http_server_stop(server);
  return 0;
}
