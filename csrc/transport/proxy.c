/* proxy.c: see proxy.h. Listens, and lets no more connections in than there may be at once. */
#include "transport/proxy_inside.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "jail/jail.h"

enum { PORT = 3128, BACKLOG = 128 };

/* ---- what it listens for ---- */

static const struct proxy_place *listens_at(const struct proxy *proxy, int port) {
  for (size_t i = 0; i < proxy->count; i++)
    if (proxy->listeners[i].to.port == port) return &proxy->listeners[i].to;
  return NULL;
}

/* In the sandbox all addresses of this machine are one: two that are not have no room at one port.
 */
static bool is_same(const struct proxy_place *one, const struct proxy_place *other) {
  static const char *const usual[] = {"localhost", "127.0.0.1", "::1", NULL};
  int found = 0;
  for (const char *const *name = usual; *name; name++)
    found += (strcmp(one->name, *name) == 0) + (strcmp(other->name, *name) == 0);
  return found == 2 || strcmp(one->name, other->name) == 0;
}

static bool add_listener(struct proxy *proxy, const struct proxy_place *to, struct error *e) {
  const struct proxy_place *taken = listens_at(proxy, to->port);
  if (taken && !is_same(taken, to))
    return error_set(e, ERROR_INVALID,
                     "sandbox: network: %.100s and %.100s have one port, %d, which leads to one of "
                     "them; grant one",
                     taken->name, to->name, to->port);
  if (taken) return true;
  if (proxy->count == PROXY_LISTENERS)
    return error_set(e, ERROR_LIMIT, "sandbox: network: more than %d ports of this machine",
                     (int)PROXY_LISTENERS - 1);
  proxy->listeners[proxy->count++] = (struct listener){.proxy = proxy, .to = *to};
  return true;
}

static bool add_listeners(struct proxy *proxy, struct error *e) {
  struct proxy_place own = {.port = PORT};
  for (size_t i = 0; i < proxy->list.count; i++) {
    const struct proxy_place *place = &proxy->list.places[i];
    if (proxy_place_is_here(place) && !add_listener(proxy, place, e)) return false;
  }
  while (listens_at(proxy, own.port))
    own.port++;
  return add_listener(proxy, &own, e);
}

static bool is_own(const struct listener *listener) {
  return listener->to.name[0] == 0;
}

static bool trust(struct proxy *proxy, const char *path, struct error *e) {
  if (strlen(path) >= sizeof proxy->ca_file)
    return error_set(e, ERROR_LIMIT, "sandbox: ca_file: its path is too long");
  snprintf(proxy->ca_file, sizeof proxy->ca_file, "%s", path);
  return true;
}

static bool read_word(struct proxy *proxy, enum jail_word word, const char *text, struct error *e) {
  if (word == JAIL_REACH) return proxy_list_add(&proxy->list, text, e);
  if (word == JAIL_HEADER) return proxy_key_add(proxy, text, e);
  return trust(proxy, text, e);
}

bool proxy_open(const struct sys *sys, struct uv_loop_s *loop, const struct transport_owner *owner,
                const struct strings *words, struct proxy **to, struct error *e) {
  bool fine = true;
  *to = NULL;
  for (size_t i = 0; i < words->count && fine; i++) {
    const char *text;
    enum jail_word word = jail_word_read(words->items[i], &text);
    if (word < JAIL_REACH) continue;
    if (!*to && !(*to = sys_alloc(sys, sizeof **to)))
      return error_set(e, ERROR_MEMORY, "sandbox: out of memory");
    (*to)->sys = sys;
    (*to)->loop = loop;
    (*to)->owner = owner;
    (*to)->living = 1;
    fine = read_word(*to, word, text, e);
  }
  if (*to && fine) fine = add_listeners(*to, e);
  if (!fine) proxy_close(to);
  return fine;
}

/* ---- messages to the program ---- */

static const char *const variables[] = {"HTTP_PROXY",  "HTTPS_PROXY", "ALL_PROXY", "http_proxy",
                                        "https_proxy", "all_proxy",   NULL};
static const char *const others[] = {"NO_PROXY=localhost,127.0.0.1,::1",
                                     "no_proxy=localhost,127.0.0.1,::1", "NODE_USE_ENV_PROXY=1",
                                     NULL};

static bool is_ours(const char *variable) {
  size_t length = strcspn(variable, "=");
  for (const char *const *one = variables; *one; one++)
    if (strlen(*one) == length && strncmp(variable, *one, length) == 0) return true;
  for (const char *const *one = others; *one; one++)
    if (strncmp(variable, *one, length + 1) == 0) return true;
  return false;
}

static bool add(const struct proxy *proxy, struct strings *to, const char *text, struct error *e) {
  return strings_add(to, proxy->sys, text, strlen(text), e);
}

static bool tell_variables(const struct proxy *proxy, int port, struct strings *env,
                           struct error *e) {
  char text[80];
  for (const char *const *one = variables; *one; one++) {
    snprintf(text, sizeof text, "%s=http://127.0.0.1:%d", *one, port);
    if (!add(proxy, env, text, e)) return false;
  }
  for (const char *const *one = others; *one; one++)
    if (!add(proxy, env, *one, e)) return false;
  return true;
}

bool proxy_tell(const struct proxy *proxy, const struct strings *env, struct strings *words,
                struct strings *more, struct error *e) {
  char text[32];
  for (size_t i = 0; i < env->count; i++)
    if (!is_ours(env->items[i]) && !add(proxy, more, env->items[i], e)) return false;
  for (size_t i = 0; i < proxy->count; i++) {
    const struct listener *listener = &proxy->listeners[i];
    snprintf(text, sizeof text, "listen %d", listener->to.port);
    if (!add(proxy, words, text, e)) return false;
    if (is_own(listener) && !tell_variables(proxy, listener->to.port, more, e)) return false;
  }
  return true;
}

/* ---- its life ---- */

void proxy_release(struct proxy *proxy) {
  if (--proxy->living == 0) sys_free(proxy->sys, proxy, sizeof *proxy);
}

static void on_closed(uv_handle_t *handle) {
  const struct listener *listener = handle->data;
  proxy_release(listener->proxy);
}

static void let_in(struct listener *listener) {
  struct proxy *proxy = listener->proxy;
  listener->waiting = proxy->links >= PROXY_LINKS;
  if (!listener->waiting)
    proxy_link_begin(proxy, (uv_stream_t *)&listener->tcp, is_own(listener) ? NULL : &listener->to);
}

static void on_connection(uv_stream_t *stream, int status) {
  if (status == 0) let_in(stream->data);
}

void proxy_link_gone(struct proxy *proxy) {
  proxy->links--;
  for (size_t i = 0; i < proxy->count && !proxy->closed; i++)
    if (proxy->listeners[i].waiting) {
      let_in(&proxy->listeners[i]);
      return;
    }
}

bool proxy_listen(struct proxy *proxy, const int *fds, size_t count, struct error *e) {
  int failed = count == proxy->count ? 0 : UV_EINVAL;
  for (size_t i = 0; i < count; i++) {
    struct listener *listener = &proxy->listeners[i];
    bool begun = !failed && uv_tcp_init(proxy->loop, &listener->tcp) == 0;
    listener->tcp.data = listener;
    if (begun) proxy->living++;
    if (begun) failed = uv_tcp_open(&listener->tcp, fds[i]);
    if (!begun || failed) close(fds[i]);
    if (begun && !failed) failed = uv_listen((uv_stream_t *)&listener->tcp, BACKLOG, on_connection);
    if (begun && failed) uv_close((uv_handle_t *)&listener->tcp, on_closed);
  }
  return failed ? error_system(e, -failed, "sandbox: its network") : true;
}

void proxy_refuse(struct proxy *proxy, const struct proxy_place *place) {
  char text[PROXY_NAME + 16];
  size_t used = strlen(proxy->refused);
  proxy_place_text(place, text, sizeof text);
  size_t length = strlen(text);
  if (used + length + 2 > sizeof proxy->refused) return;
  for (const char *at = proxy->refused; (at = strstr(at, text)); at += length) {
    bool begins = at == proxy->refused || at[-1] == ' ';
    if (begins && (at[length] == 0 || at[length] == ' ')) return; /* it was asked for before */
  }
  snprintf(proxy->refused + used, sizeof proxy->refused - used, "%s%s", used ? " " : "", text);
}

const char *proxy_refused(const struct proxy *proxy) {
  return proxy ? proxy->refused : "";
}

void proxy_close(struct proxy **to) {
  struct proxy *proxy = *to;
  *to = NULL;
  if (!proxy) return;
  proxy->closed = true;
  while (proxy->first)
    proxy_link_end(proxy->first);
  for (size_t i = 0; i < proxy->count; i++) {
    uv_handle_t *handle = (uv_handle_t *)&proxy->listeners[i].tcp;
    if (handle->data && !uv_is_closing(handle)) uv_close(handle, on_closed);
  }
  proxy_release(proxy);
}
