/* receive.c: both ends of a long stream of events as a model sends it, with nothing but sockets.
 *
 * Usage: receive serve MEGABYTES: prints its port on the loopback and sends every client as much,
 * until its standard input ends. receive get PORT: gets it and throws it away. Knows nothing of
 * skillrt. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static const char HEAD[] =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
    "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"type\":\"message\","
    "\"role\":\"assistant\",\"model\":\"m\",\"content\":[],\"usage\":{\"input_tokens\":1}}}\n\n"
    "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,"
    "\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n";
static const char END[] =
    "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n"
    "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":"
    "\"end_turn\"},\"usage\":{\"output_tokens\":1}}\n\n"
    "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n";

static char *stream;
static size_t length;

static void make(size_t bytes) {
  stream = malloc(bytes + 4096);
  if (!stream) exit(1);
  length = (size_t)sprintf(stream, "%s", HEAD);
  for (int i = 0; length < bytes; i++)
    length += (size_t)sprintf(
        stream + length,
        "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,"
        "\"delta\":{\"type\":\"text_delta\",\"text\":\" word%d\"}}\n\n",
        i % 1000);
  length += (size_t)sprintf(stream + length, "%s", END);
}

static int sock(int port, int listens) {
  struct sockaddr_in at = {.sin_family = AF_INET,
                           .sin_port = htons((uint16_t)port),
                           .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  int bad = listens ? bind(fd, (struct sockaddr *)&at, sizeof at) || listen(fd, 16)
                    : connect(fd, (struct sockaddr *)&at, sizeof at);
  if (fd < 0 || bad) exit(1);
  return fd;
}

static void serve(int fd) {
  char request[65536];
  if (read(fd, request, sizeof request) > 0)
    for (size_t at = 0; at < length;) {
      ssize_t sent = send(fd, stream + at, length - at, MSG_NOSIGNAL);
      if (sent <= 0) break;
      at += (size_t)sent;
    }
  close(fd);
}

int main(int count, char **words) {
  if (count != 3) return 2;
  if (strcmp(words[1], "get") == 0) {
    static char bytes[16384]; /* libcurl's own size */
    int fd = sock(atoi(words[2]), 0);
    size_t all = 0;
    if (write(fd, "GET / HTTP/1.1\r\n\r\n", 18) != 18) return 1;
    for (ssize_t got; (got = read(fd, bytes, sizeof bytes)) > 0;)
      all += (size_t)got;
    return all < 1000;
  }
  make((size_t)atol(words[2]) * 1000000);
  int fd = sock(0, 1);
  struct sockaddr_in at;
  socklen_t size = sizeof at;
  getsockname(fd, (struct sockaddr *)&at, &size);
  printf("%d\n", ntohs(at.sin_port));
  fflush(stdout);
  for (struct pollfd both[2] = {{.fd = fd, .events = POLLIN}, {.fd = 0, .events = POLLIN}};
       poll(both, 2, -1) > 0;) {
    if (both[1].revents) return 0;
    if (both[0].revents) serve(accept(fd, NULL, NULL));
  }
  return 0;
}
