/* cutting_proxy.h: a proxy between libpq and a server, on a socket of its own, that cuts a
 * connection at the n-th message of the client: before the server has it, when the server has
 * answered, so that the answer is lost, or so that the server has the message only later. Header
 * only; a process of its own. */
#ifndef SKILLRT_TESTS_CUTTING_PROXY_H
#define SKILLRT_TESTS_CUTTING_PROXY_H

#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PROXY_PAIRS = 64, PROXY_LATE_US = 40000 };

struct proxy_wish {   /* shared with the process */
  _Atomic int cut_at; /* the message, from 1; 0: none */
  _Atomic int to;     /* and each one up to that */
  _Atomic bool after; /* the server has answered it */
  _Atomic bool late;  /* the server gets it later */
  _Atomic int count;  /* messages so far */
};

struct proxy {
  pid_t pid;
  struct proxy_wish *wish;
  char dir[96], database[256]; /* the URL of the database through it */
};

static inline int proxy_socket(const char *dir, bool listens) {
  struct sockaddr_un name = {.sun_family = AF_UNIX};
  snprintf(name.sun_path, sizeof name.sun_path, "%.80s/.s.PGSQL.5432", dir);
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  int failed = listens ? bind(fd, (struct sockaddr *)&name, sizeof name) || listen(fd, 32)
                       : connect(fd, (struct sockaddr *)&name, sizeof name);
  if (!failed) return fd;
  close(fd);
  return -1;
}

struct proxy_pair {
  int client, server;
  bool doomed; /* cut when the server has answered */
};

static inline void proxy_cut(struct proxy_pair *pair) {
  close(pair->client);
  close(pair->server);
  pair->client = pair->server = -1;
}

/* A process of its own delivers the message. */
static inline void proxy_deliver(struct proxy_pair *pair, const char *bytes, size_t size) {
  if (fork() == 0) {
    close(pair->client);
    usleep(PROXY_LATE_US);
    ssize_t sent = write(pair->server, bytes, size);
    if (sent > 0) usleep(PROXY_LATE_US);
    _exit(0);
  }
  proxy_cut(pair);
}

static inline void proxy_move(struct proxy_wish *w, struct proxy_pair *pair, bool from_client) {
  char bytes[65536];
  int from = from_client ? pair->client : pair->server;
  ssize_t size = read(from, bytes, sizeof bytes);
  if (size <= 0 || (!from_client && pair->doomed)) {
    proxy_cut(pair);
    return;
  }
  int number = from_client ? atomic_fetch_add(&w->count, 1) + 1 : 0;
  int from_number = atomic_load(&w->cut_at);
  if (number > 0 && from_number > 0 &&
      (number == from_number || (number > from_number && number <= atomic_load(&w->to)))) {
    pair->doomed = atomic_load(&w->after);
    if (atomic_load(&w->late)) {
      proxy_deliver(pair, bytes, (size_t)size);
      return;
    }
    if (!pair->doomed) {
      proxy_cut(pair);
      return;
    }
  }
  if (write(from_client ? pair->server : pair->client, bytes, (size_t)size) != size)
    proxy_cut(pair);
}

static inline void proxy_run(struct proxy_wish *w, int door, const char *server) {
  struct proxy_pair pairs[PROXY_PAIRS];
  for (int i = 0; i < PROXY_PAIRS; i++)
    pairs[i] = (struct proxy_pair){-1, -1, false};
  for (;;) {
    struct pollfd polls[1 + 2 * PROXY_PAIRS] = {{door, POLLIN, 0}};
    for (int i = 0; i < PROXY_PAIRS; i++) {
      polls[1 + 2 * i] = (struct pollfd){pairs[i].client, POLLIN, 0};
      polls[2 + 2 * i] = (struct pollfd){pairs[i].server, POLLIN, 0};
    }
    if (poll(polls, 1 + 2 * PROXY_PAIRS, -1) < 0) continue;
    for (int i = 0; i < PROXY_PAIRS; i++) {
      if (polls[2 + 2 * i].revents && pairs[i].server >= 0) proxy_move(w, &pairs[i], false);
      if (polls[1 + 2 * i].revents && pairs[i].client >= 0) proxy_move(w, &pairs[i], true);
    }
    for (int i = 0; polls[0].revents && i < PROXY_PAIRS; i++) {
      if (pairs[i].client >= 0) continue;
      pairs[i] = (struct proxy_pair){accept(door, NULL, NULL), proxy_socket(server, false), false};
      if (pairs[i].server < 0) proxy_cut(&pairs[i]);
      break;
    }
  }
}

/* `server`: the folder of the server's socket. */
static inline void proxy_start(struct proxy *p, const char *server) {
  snprintf(p->dir, sizeof p->dir, "%.80s/proxy", server);
  mkdir(p->dir, 0755);
  snprintf(p->database, sizeof p->database, "postgres://skillrt@/postgres?host=%s", p->dir);
  p->wish = mmap(NULL, sizeof *p->wish, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  int door = proxy_socket(p->dir, true);
  p->pid = fork();
  if (p->pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGCHLD, SIG_IGN);
    proxy_run(p->wish, door, server);
    _exit(0);
  }
  close(door);
}

static inline void proxy_stop(struct proxy *p) {
  kill(p->pid, SIGKILL);
  waitpid(p->pid, NULL, 0);
  munmap(p->wish, sizeof *p->wish);
}

#endif
