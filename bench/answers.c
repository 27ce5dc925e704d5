/* answers.c: a server that answers every request after so many milliseconds, for 10,000 at once.
 *
 * Usage: answers MILLISECONDS. Prints its port on the loopback, serves until its standard input
 * ends. Requests are small and come whole or in parts; knows nothing of skillrt. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 20000, ROOM = 2048, EVENTS = 512 };

struct connection {
  size_t size;
  char text[ROOM];
};

/* Every answer waits as long as the others: the first that is due is the oldest. */
struct due {
  long long at;
  int fd;
};

static struct connection *connections[MOST];
static struct due queue[MOST];
static size_t first, count;

static long long now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (long long)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Whether a whole request is there: its head, and as much body as that says. */
static int is_whole(struct connection *c) {
  c->text[c->size] = 0;
  char *end = strstr(c->text, "\r\n\r\n");
  if (!end) return 0;
  const char *length = strcasestr(c->text, "\r\ncontent-length:");
  size_t body = length && length < end ? (size_t)atol(length + 17) : 0;
  return c->size >= (size_t)(end + 4 - c->text) + body;
}

static void forget(int fd) {
  free(connections[fd]);
  connections[fd] = NULL;
  close(fd);
}

static void take(int fd, int delay) {
  struct connection *c = connections[fd];
  ssize_t got = read(fd, c->text + c->size, ROOM - 1 - c->size);
  if (got < 0 && errno == EAGAIN) return;
  if (got <= 0) {
    forget(fd);
    return;
  }
  c->size += (size_t)got;
  if (!is_whole(c) || count == MOST) return;
  c->size = 0;
  queue[(first + count++) % MOST] = (struct due){now_ms() + delay, fd};
}

static void answer(void) {
  static const char text[] = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                             "Content-Length: 20\r\n\r\n{\"status\":\"success\"}";
  for (; count > 0 && queue[first].at <= now_ms(); first = (first + 1) % MOST, count--)
    if (connections[queue[first].fd] &&
        write(queue[first].fd, text, sizeof text - 1) != (ssize_t)(sizeof text - 1))
      forget(queue[first].fd);
}

static void let_in(int epoll, int listener) {
  for (int fd; (fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0;) {
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
    if (fd >= MOST) exit(1);
    connections[fd] = calloc(1, sizeof *connections[fd]);
    if (!connections[fd] || epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) < 0) exit(1);
  }
}

static int open_port(void) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t size = sizeof address;
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0 || bind(fd, (struct sockaddr *)&address, size) < 0 || listen(fd, 4096) < 0 ||
      getsockname(fd, (struct sockaddr *)&address, &size) < 0)
    return -1;
  printf("%d\n", ntohs(address.sin_port));
  fflush(stdout);
  return fd;
}

int main(int words, char **args) {
  int delay = words > 1 ? atoi(args[1]) : 100, listener = open_port(), epoll = epoll_create1(0);
  struct epoll_event events[EVENTS], in = {.events = EPOLLIN, .data.fd = 0};
  struct epoll_event door = {.events = EPOLLIN, .data.fd = listener};
  if (listener < 0 || epoll < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &door) < 0 ||
      epoll_ctl(epoll, EPOLL_CTL_ADD, 0, &in) < 0) {
    perror("answers");
    return 1;
  }
  for (;;) {
    long long wait = count > 0 ? queue[first].at - now_ms() : 1000;
    int found = epoll_wait(epoll, events, EVENTS, wait > 0 ? (int)wait : 0);
    for (int i = 0; i < found; i++) {
      if (events[i].data.fd == 0) return 0; /* whoever started it is gone */
      if (events[i].data.fd == listener)
        let_in(epoll, listener);
      else
        take(events[i].data.fd, delay);
    }
    answer();
  }
}
