/* jail_listen.c: sockets that listen on the loopback of a jail's own network. The child makes them,
 * as only it is in there; the parent gets them, and whoever connects to them talks to it. */
#include "jail/jail_inside.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* What is sent with the descriptors: at least a byte has to be. */
union descriptors {
  struct cmsghdr head;
  char room[CMSG_SPACE(sizeof(int) * JAIL_LISTENERS)];
};

IN_CHILD static int listen_at(uint16_t port) {
  struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(port)};
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  if (bind(fd, (const struct sockaddr *)&at, sizeof at) == 0 && listen(fd, SOMAXCONN) == 0)
    return fd;
  int failed = errno;
  close(fd);
  errno = failed;
  return -1;
}

IN_CHILD static int send_all(const struct jail *jail, const int fds[JAIL_LISTENERS]) {
  char byte = 0;
  union descriptors with;
  struct iovec piece = {&byte, 1};
  size_t size = sizeof(int) * jail->port_count;
  struct msghdr message = {.msg_iov = &piece,
                           .msg_iovlen = 1,
                           .msg_control = with.room,
                           .msg_controllen = CMSG_SPACE(size)};
  memset(&with, 0, sizeof with);
  with.head.cmsg_level = SOL_SOCKET;
  with.head.cmsg_type = SCM_RIGHTS;
  with.head.cmsg_len = CMSG_LEN(size);
  memcpy(CMSG_DATA(&with.head), fds, size);
  return sendmsg(jail->channel[1], &message, MSG_NOSIGNAL) < 0 ? errno : 0;
}

int jail_listen(const struct jail *jail) {
  int fds[JAIL_LISTENERS], failed = 0;
  size_t count = 0;
  if (jail->port_count == 0) return 0;
  for (; count < jail->port_count && !failed; count++)
    if ((fds[count] = listen_at(jail->ports[count])) < 0) failed = errno;
  if (!failed) failed = send_all(jail, fds);
  for (size_t i = 0; i < count; i++)
    if (fds[i] >= 0) close(fds[i]);
  close(jail->channel[1]);
  return failed ? jail_fail(jail, failed, "listen in its network", "") : 0;
}

/* ---- in the parent ---- */

static size_t receive(const struct jail *jail, int fds[JAIL_LISTENERS]) {
  char byte;
  union descriptors with;
  struct iovec piece = {&byte, 1};
  struct msghdr message = {.msg_iov = &piece,
                           .msg_iovlen = 1,
                           .msg_control = with.room,
                           .msg_controllen = sizeof with.room};
  if (recvmsg(jail->channel[0], &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) <= 0) return 0;
  const struct cmsghdr *head = CMSG_FIRSTHDR(&message);
  if (!head || head->cmsg_type != SCM_RIGHTS) return 0;
  size_t size = head->cmsg_len - CMSG_LEN(0);
  memcpy(fds, CMSG_DATA(head), size);
  return size / sizeof(int);
}

/* A program that was looked for in more than one folder began more than once: the last counts. */
size_t jail_listeners(const struct jail *jail, int fds[JAIL_LISTENERS]) {
  size_t count = 0, more;
  int next[JAIL_LISTENERS];
  if (jail->channel[0] < 0) return 0;
  while ((more = receive(jail, next)) > 0) {
    for (size_t i = 0; i < count; i++)
      close(fds[i]);
    memcpy(fds, next, more * sizeof *next);
    count = more;
  }
  return count;
}
