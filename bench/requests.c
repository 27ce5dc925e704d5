/* requests.c: what so many HTTP requests at once cost with libcurl and nothing else.
 *
 * Usage: requests URL COUNT. Posts a small JSON text COUNT times, all at once, over the socket
 * interface and epoll; fails unless each is answered by 200. Knows nothing of skillrt. */
#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>

enum { EVENTS = 512 };

struct reply {
  CURL *easy;
  char *text, body[32];
  size_t size;
  struct curl_slist *headers;
};

static int epoll;
static long long timer = -1; /* when libcurl wants to be called, in ms; -1: it does not */

static long long now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (long long)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static int on_socket(CURL *easy, curl_socket_t fd, int what, void *data, void *known) {
  (void)easy, (void)data;
  struct epoll_event event = {.data.fd = fd};
  if (what != CURL_POLL_OUT) event.events |= EPOLLIN;
  if (what != CURL_POLL_IN) event.events |= EPOLLOUT;
  if (what == CURL_POLL_REMOVE) return epoll_ctl(epoll, EPOLL_CTL_DEL, fd, &event) * 0;
  if (known) return epoll_ctl(epoll, EPOLL_CTL_MOD, fd, &event);
  curl_multi_assign(data, fd, &epoll);
  return epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
}

static int on_timer(CURLM *multi, long ms, void *data) {
  (void)multi, (void)data;
  timer = ms < 0 ? -1 : now_ms() + ms;
  return 0;
}

static size_t on_body(char *data, size_t one, size_t size, void *to) {
  struct reply *reply = to;
  char *wider = realloc(reply->text, reply->size + size * one);
  if (!wider) return 0;
  memcpy(wider + reply->size, data, size * one);
  reply->text = wider;
  reply->size += size * one;
  return size * one;
}

static int ask(CURLM *multi, const char *url, long i, struct reply *reply) {
  CURL *easy = reply->easy = curl_easy_init();
  snprintf(reply->body, sizeof reply->body, "{\"i\":%ld}", i);
  reply->headers = curl_slist_append(NULL, "Content-Type: application/json");
  curl_easy_setopt(easy, CURLOPT_URL, url);
  curl_easy_setopt(easy, CURLOPT_POSTFIELDS, reply->body);
  curl_easy_setopt(easy, CURLOPT_HTTPHEADER, reply->headers);
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, reply);
  curl_easy_setopt(easy, CURLOPT_PRIVATE, reply);
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  return curl_multi_add_handle(multi, easy) == CURLM_OK;
}

/* Takes what is over; how many were answered as they should be. */
static long take(CURLM *multi) {
  int left;
  long good = 0;
  for (CURLMsg *message; (message = curl_multi_info_read(multi, &left));) {
    struct reply *reply;
    long code = 0;
    CURL *easy = message->easy_handle;
    CURLcode result = message->data.result;
    curl_easy_getinfo(easy, CURLINFO_PRIVATE, (char **)&reply);
    curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &code);
    good += result == CURLE_OK && code == 200 && reply->size > 0;
    curl_multi_remove_handle(multi, easy);
    curl_easy_cleanup(easy);
    curl_slist_free_all(reply->headers);
    free(reply->text);
  }
  return good;
}

int main(int words, char **args) {
  long count = words == 3 ? atol(args[2]) : 0, good = 0;
  int running = 1;
  struct reply *replies = calloc((size_t)count + 1, sizeof *replies);
  CURLM *multi = curl_multi_init();
  epoll = epoll_create1(EPOLL_CLOEXEC);
  if (count <= 0 || !replies || !multi || epoll < 0) return 2;
  curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, on_socket);
  curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, multi);
  curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, on_timer);
  for (long i = 0; i < count; i++)
    if (!ask(multi, args[1], i + 1, &replies[i])) return 1;
  while (running > 0) {
    struct epoll_event events[EVENTS];
    long long wait = timer < 0 ? 10000 : timer - now_ms();
    int found = wait > 0 ? epoll_wait(epoll, events, EVENTS, (int)wait) : 0;
    for (int i = 0; i < found; i++) {
      int what = (events[i].events & EPOLLIN ? CURL_CSELECT_IN : 0) |
                 (events[i].events & EPOLLOUT ? CURL_CSELECT_OUT : 0) |
                 (events[i].events & (EPOLLERR | EPOLLHUP) ? CURL_CSELECT_ERR : 0);
      curl_multi_socket_action(multi, events[i].data.fd, what, &running);
    }
    if (timer >= 0 && timer <= now_ms()) {
      timer = -1;
      curl_multi_socket_action(multi, CURL_SOCKET_TIMEOUT, 0, &running);
    }
    good += take(multi);
  }
  curl_multi_cleanup(multi);
  free(replies);
  if (good != count) fprintf(stderr, "requests: %ld of %ld were answered\n", good, count);
  return good == count ? 0 : 1;
}
