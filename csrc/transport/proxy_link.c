/* proxy_link.c: one connection of a program through its proxy: see proxy_inside.h. Each direction
 * has one buffer: what lies in it is written before more is read. */
#include <netdb.h>
#include <stdio.h>
#include <string.h>

#include "transport/http_address.h"
#include "transport/proxy_inside.h"

enum {
  READ_MS = 30 * 1000,
  LOOK_MS = 20 * 1000,
  BODY_MS = 30 * 1000,    /* of silence */
  CONNECT_MS = 10 * 1000, /* for each address */
  SILENT_MS = 15 * 60 * 1000,
  ANSWERED_MS = 2000
};

static struct side *other_of(struct side *side) {
  struct proxy_link *link = side->link;
  return side == &link->client ? &link->server : &link->client;
}

static uv_stream_t *stream_of(struct side *side) {
  return (uv_stream_t *)&side->tcp;
}

/* ---- the end ---- */

static void link_release(struct proxy_link *link) {
  struct proxy *proxy = link->proxy;
  if (--link->pending > 0) return;
  if (link->found) uv_freeaddrinfo(link->found);
  proxy_request_free(&link->request);
  sys_free(proxy->sys, link, sizeof *link);
  proxy_release(proxy);
}

static void on_closed(uv_handle_t *handle) {
  const struct side *side = handle->data;
  link_release(side->link);
}

static void on_timer_closed(uv_handle_t *handle) {
  link_release(handle->data);
}

static void side_close(struct side *side) {
  uv_handle_t *handle = (uv_handle_t *)&side->tcp;
  if (side->begun && !uv_is_closing(handle)) uv_close(handle, on_closed);
}

void proxy_link_end(struct proxy_link *link) {
  if (link->state == LINK_GONE) return;
  if (link->state == LINK_LOOKING) uv_cancel((uv_req_t *)&link->lookup);
  if (link->request) link->proxy->asked--;
  link->state = LINK_GONE;
  proxy_request_cancel(link->request);
  *link->at = link->next;
  if (link->next) link->next->at = link->at;
  side_close(&link->client);
  side_close(&link->server);
  uv_close((uv_handle_t *)&link->timer, on_timer_closed);
  proxy_link_gone(link->proxy);
}

/* ---- what is said by one, to the other ---- */

static void on_read(uv_stream_t *, ssize_t, const uv_buf_t *);

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *to) {
  struct side *side = handle->data;
  (void)suggested;
  *to = uv_buf_init(side->bytes + side->length, (unsigned)(sizeof side->bytes - side->length));
}

static void side_read(struct side *side) {
  side->length = 0;
  if (!side->ended && uv_read_start(stream_of(side), on_alloc, on_read) != 0)
    proxy_link_end(side->link);
}

static void on_passed(uv_write_t *write, int status) {
  struct side *side = write->data, *from = other_of(side);
  if (side->link->state != LINK_OPEN) return;
  if (status < 0)
    proxy_link_end(side->link);
  else
    side_read(from);
}

/* To `side`, in two pieces, either of which may be empty; then more of the other is read. */
static void pass(struct side *side, uv_buf_t one, uv_buf_t two) {
  uv_buf_t pieces[2] = {one, two};
  unsigned first = one.len == 0, count = (one.len > 0 ? 1U : 0U) + (two.len > 0 ? 1U : 0U);
  side->write.data = side;
  if (count == 0)
    side_read(other_of(side));
  else if (uv_write(&side->write, stream_of(side), pieces + first, count, on_passed) != 0)
    proxy_link_end(side->link);
}

static void on_shut(uv_shutdown_t *shutdown, int status) {
  struct side *side = shutdown->data;
  struct proxy_link *link = side->link;
  bool over = status < 0 || (link->client.ended && link->server.ended);
  if (link->state == LINK_OPEN && over) proxy_link_end(link);
}

static void side_ended(struct side *side) {
  struct side *other = other_of(side);
  side->ended = true;
  other->shutdown.data = other;
  if (uv_shutdown(&other->shutdown, stream_of(other), on_shut) != 0) proxy_link_end(side->link);
}

/* ---- answering ---- */

static void on_answered(uv_write_t *write, int status) {
  struct side *side = write->data;
  struct proxy_link *link = side->link;
  if (link->state != LINK_ANSWERED) return;
  if (status < 0) {
    proxy_link_end(link);
    return;
  }
  side->shutdown.data = side;
  if (uv_shutdown(&side->shutdown, stream_of(side), on_shut) != 0)
    proxy_link_end(link);
  else
    side_read(side); /* until it has gone: else it may not see why */
}

static void answer(struct proxy_link *link, uv_buf_t piece, uint64_t ms) {
  link->state = LINK_ANSWERED;
  uv_timer_start(&link->timer, link->timer.timer_cb, ms, 0);
  uv_read_stop(stream_of(&link->client));
  link->client.write.data = &link->client;
  if (uv_write(&link->client.write, stream_of(&link->client), &piece, 1, on_answered) != 0)
    proxy_link_end(link);
}

/* If no head was read, the client would not understand an answer. */
static void refuse(struct proxy_link *link, const char *status, const char *why) {
  struct proxy_head *head = &link->head;
  char text[PROXY_NAME + 320], place[PROXY_NAME + 16];
  if (head->length == 0) {
    proxy_link_end(link);
    return;
  }
  proxy_place_text(&head->to, place, sizeof place);
  int size = snprintf(text, sizeof text, "skillrt: %s %.280s\n", place, why);
  int length = snprintf(head->answer, sizeof head->answer,
                        "HTTP/1.1 %s\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n"
                        "Connection: close\r\n\r\n%s",
                        status, size, text);
  answer(link, uv_buf_init(head->answer, (unsigned)length), ANSWERED_MS);
}

static void refuse_place(struct proxy_link *link, const char *why) {
  proxy_refuse(link->proxy, &link->head.to);
  refuse(link, "403 Forbidden", why);
}

/* ---- connecting ---- */

static void connected(struct proxy_link *link) {
  static char established[] = "HTTP/1.1 200 Connection established\r\n\r\n";
  const uv_buf_t nothing = {0};
  struct proxy_head *head = &link->head;
  struct side *client = &link->client, *server = &link->server;
  link->state = LINK_OPEN;
  uv_tcp_nodelay(&client->tcp, 1);
  uv_tcp_nodelay(&server->tcp, 1);
  uv_timer_start(&link->timer, link->timer.timer_cb, SILENT_MS, SILENT_MS);
  pass(server, uv_buf_init(head->answer, (unsigned)head->answer_length),
       uv_buf_init(client->bytes + head->length, (unsigned)(client->length - head->length)));
  size_t length = head->tunnel ? sizeof established - 1 : 0;
  if (link->state == LINK_OPEN) pass(client, uv_buf_init(established, (unsigned)length), nothing);
}

static void try_next(struct proxy_link *);

static void on_server_closed(uv_handle_t *handle) {
  const struct side *side = handle->data;
  struct proxy_link *link = side->link;
  link->server.begun = false;
  if (link->state == LINK_CONNECTING) try_next(link);
  link_release(link);
}

static void drop_server(struct proxy_link *link) {
  uv_handle_t *handle = (uv_handle_t *)&link->server.tcp;
  if (!uv_is_closing(handle)) uv_close(handle, on_server_closed);
}

static void on_connected(uv_connect_t *connect, int status) {
  struct side *server = connect->data;
  struct proxy_link *link = server->link;
  if (link->state != LINK_CONNECTING || status == UV_ECANCELED) return;
  if (status < 0)
    drop_server(link);
  else
    connected(link);
}

/* The next address that is granted. What was looked up is what is connected to. */
static void try_next(struct proxy_link *link) {
  struct proxy *proxy = link->proxy;
  const struct addrinfo *at = link->left;
  while (at && !proxy_list_grants_address(&proxy->list, &link->head.to, at->ai_addr))
    at = at->ai_next;
  link->left = at ? at->ai_next : NULL;
  if (!at && link->state == LINK_LOOKING) {
    struct proxy_place itself = {.port = link->head.to.port};
    http_address_text(link->found->ai_addr, itself.name, sizeof itself.name);
    refuse_place(link, "is at a private address, which must be granted by that address");
    proxy_refuse(proxy, &itself);
  } else if (!at) {
    refuse(link, "502 Bad Gateway", "cannot be reached");
  } else {
    struct side *server = &link->server;
    link->state = LINK_CONNECTING;
    uv_timer_start(&link->timer, link->timer.timer_cb, CONNECT_MS, 0);
    uv_tcp_init(proxy->loop, &server->tcp);
    server->tcp.data = link->connect.data = server;
    server->begun = true;
    link->pending++;
    if (uv_tcp_connect(&link->connect, &server->tcp, at->ai_addr, on_connected) != 0)
      drop_server(link);
  }
}

static void on_found(uv_getaddrinfo_t *lookup, int status, struct addrinfo *found) {
  struct proxy_link *link = lookup->data;
  link->found = link->left = found;
  if (link->state == LINK_LOOKING && status < 0)
    refuse(link, "502 Bad Gateway", uv_strerror(status));
  else if (link->state == LINK_LOOKING)
    try_next(link);
  link_release(link);
}

static void look_up(struct proxy_link *link) {
  static const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
  struct proxy *proxy = link->proxy;
  char port[8];
  snprintf(port, sizeof port, "%d", link->head.to.port & 0xffff);
  link->state = LINK_LOOKING;
  link->lookup.data = link;
  link->pending++;
  uv_timer_start(&link->timer, link->timer.timer_cb, LOOK_MS, 0);
  if (uv_getaddrinfo(proxy->loop, &link->lookup, on_found, link->head.to.name, port, &hints) == 0)
    return;
  refuse(link, "502 Bad Gateway", "cannot be looked up");
  link_release(link);
}

/* ---- a request with a header of ours ---- */

void proxy_link_answered(struct proxy_link *link, const char *why) {
  struct buffer *whole = &link->request->answer;
  if (why)
    refuse(link, "502 Bad Gateway", why);
  else
    answer(link, uv_buf_init(whole->data, (unsigned)whole->length), READ_MS);
}

static void ask(struct proxy_link *link) {
  struct error e;
  uv_read_stop(stream_of(&link->client));
  link->state = LINK_ASKED;
  uv_timer_stop(&link->timer); /* it has times of its own */
  if (!proxy_request_send(link->request, &e)) refuse(link, "502 Bad Gateway", e.text);
}

static void take_body(struct proxy_link *link, const char *bytes, size_t length) {
  if (!proxy_request_take(link->request, bytes, length))
    refuse(link, "503 Service Unavailable", "has no memory for the request");
  else if (link->request->left == 0)
    ask(link);
  else
    side_read(&link->client);
}

static void begin_request(struct proxy_link *link, const struct proxy_key *key) {
  const struct side *client = &link->client;
  size_t head = link->head.length;
  struct error e = {0};
  if (link->proxy->asked == PROXY_ASKED) {
    refuse(link, "503 Service Unavailable", "has too many requests under way; try again");
    return;
  }
  link->request = proxy_request_begin(link, key, &e);
  if (!link->request) {
    refuse(link, e.text, "cannot be sent this request");
    return;
  }
  link->proxy->asked++;
  link->state = LINK_BODY;
  uv_timer_start(&link->timer, link->timer.timer_cb, BODY_MS, BODY_MS);
  take_body(link, client->bytes + head, client->length - head);
}

/* ---- its life ---- */

static void read_head(struct proxy_link *link) {
  struct side *client = &link->client;
  enum proxy_read found = proxy_head_read(client->bytes, client->length, &link->head);
  if (found == PROXY_MORE) return;
  uv_read_stop(stream_of(client));
  if (found == PROXY_BAD) {
    link->head.length = 1; /* who sent it may read an answer */
    refuse(link, "400 Bad Request", "is not a request that the proxy understands");
  } else if (proxy_list_grants(&link->proxy->list, &link->head.to)) {
    const struct proxy_key *key = proxy_key_of(link->proxy, &link->head.to);
    if (key && !link->head.tunnel)
      begin_request(link, key);
    else
      look_up(link);
  } else {
    refuse_place(link, "is not granted to this program (sandbox: network)");
  }
}

static void on_read(uv_stream_t *stream, ssize_t got, const uv_buf_t *buf) {
  struct side *side = stream->data;
  struct proxy_link *link = side->link;
  (void)buf;
  if (got == 0 || link->state == LINK_GONE) return;
  if (got < 0 && (got != UV_EOF || link->state != LINK_OPEN)) {
    proxy_link_end(link);
  } else if (got < 0) {
    uv_read_stop(stream);
    side_ended(side);
  } else if (link->state == LINK_READING) {
    side->length += (size_t)got;
    read_head(link);
  } else if (link->state == LINK_BODY) {
    uv_read_stop(stream);
    uv_timer_again(&link->timer);
    take_body(link, side->bytes, (size_t)got);
  } else if (link->state == LINK_OPEN) {
    const uv_buf_t nothing = {0};
    uv_read_stop(stream);
    uv_timer_again(&link->timer);
    pass(other_of(side), uv_buf_init(side->bytes, (unsigned)got), nothing);
  }
}

static void on_time(uv_timer_t *timer) {
  struct proxy_link *link = timer->data;
  if (link->state == LINK_LOOKING)
    refuse(link, "504 Gateway Timeout", "was not found in time");
  else if (link->state == LINK_CONNECTING)
    drop_server(link);
  else
    proxy_link_end(link);
}

bool proxy_link_begin(struct proxy *proxy, uv_stream_t *listener, const struct proxy_place *to) {
  struct proxy_link *link = sys_alloc(proxy->sys, sizeof *link);
  if (!link) return false;
  link->proxy = proxy;
  link->client.link = link->server.link = link;
  uv_tcp_init(proxy->loop, &link->client.tcp);
  uv_timer_init(proxy->loop, &link->timer);
  link->client.tcp.data = &link->client;
  link->timer.data = link;
  link->client.begun = true;
  link->pending = 2;
  link->at = &proxy->first;
  link->next = proxy->first;
  if (link->next) link->next->at = &link->next;
  proxy->first = link;
  proxy->links++;
  proxy->living++;
  uv_timer_start(&link->timer, on_time, READ_MS, 0);
  if (uv_accept(listener, stream_of(&link->client)) != 0) {
    proxy_link_end(link);
    return false;
  }
  if (to) {
    link->head.to = *to;
    look_up(link);
  } else {
    side_read(&link->client);
  }
  return true;
}
