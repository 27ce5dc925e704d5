/* jail.c: see jail.h. The words of a jail become its plan; the child follows it (jail_enter.c). */
#include "jail/jail_inside.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* A text that is kept with the jail, made of three parts; NULL: no room. */
static const char *keep_text(struct jail *jail, const char *one, const char *other,
                             const char *last) {
  size_t room = sizeof jail->text - jail->text_used;
  char *text = jail->text + jail->text_used;
  int length = snprintf(text, room, "%s%s%s", one, other, last);
  if (length >= JAIL_PATH || (size_t)length >= room) return NULL;
  jail->text_used += (size_t)length + 1;
  return text;
}

static bool too_much(const char *path, struct error *e) {
  return error_set(e, ERROR_LIMIT, "sandbox: %.200s: too long, or more than %d places", path,
                   (int)JAIL_PLACES);
}

static bool not_full(const char *path, struct error *e) {
  return error_set(e, ERROR_INVALID, "sandbox: %.200s is not a full path", path);
}

static bool set_base(struct jail *jail, const char *path, struct error *e) {
  if (path[0] != '/') return not_full(path, e);
  jail->base = keep_text(jail, path, "/", "");
  return jail->base || too_much(path, e);
}

bool jail_add(struct jail *jail, enum place_kind kind, const char *path, const char *more,
              struct error *e) {
  const char *base = path[0] == '/' ? NULL : jail->base;
  if (path[0] != '/' && !base) return not_full(path, e);
  const char *text =
      jail->count < JAIL_PLACES ? keep_text(jail, base ? base : "", path, more) : NULL;
  if (!text) return too_much(path, e);
  struct place place = {.kind = kind, .given = text, .base = base, .fd = -1};
  if (base) place.below = text + strlen(base);
  if (kind == PLACE_KEPT && more[0]) place.below = text + strlen(path) + 1;
  jail->order[jail->count] = &jail->places[jail->count];
  jail->places[jail->count++] = place;
  return true;
}

enum jail_word jail_word_read(const char *word, const char **text) {
  static const char *const names[] = {
      [JAIL_STRICT] = "strict",  [JAIL_WORK] = "work",        [JAIL_NETWORK] = "network",
      [JAIL_UNIX] = "unix",      [JAIL_IN] = "in ",           [JAIL_READ] = "read ",
      [JAIL_WRITE] = "write ",   [JAIL_EDIT] = "edit ",       [JAIL_KEEP] = "keep ",
      [JAIL_LISTEN] = "listen ", [JAIL_MISSING] = "missing ", [JAIL_REACH] = "reach ",
      [JAIL_HEADER] = "header ", [JAIL_CA] = "ca ",
  };
  for (int i = JAIL_STRICT; i <= JAIL_CA; i++) {
    size_t length = strlen(names[i]);
    *text = word + length;
    if (strncmp(word, names[i], length) == 0 && (i > JAIL_UNIX || !**text))
      return (enum jail_word)i;
  }
  return JAIL_NO_WORD;
}

static bool add_port(struct jail *jail, const char *digits, struct error *e) {
  int port = atoi(digits);
  if (port <= 0 || port > UINT16_MAX || jail->port_count == JAIL_LISTENERS)
    return error_set(e, ERROR_INVALID, "sandbox: \"listen %.20s\": no port, or one too many",
                     digits);
  jail->ports[jail->port_count++] = (uint16_t)port;
  return true;
}

static bool read_word(struct jail *jail, const char *word, struct error *e) {
  const char *text;
  switch (jail_word_read(word, &text)) {
  case JAIL_STRICT:
    return jail->strict = true;
  case JAIL_WORK:
    return !(jail->strict = false);
  case JAIL_NETWORK:
    return jail->network = true;
  case JAIL_UNIX:
    return jail->unix_sockets = true;
  case JAIL_IN:
    return set_base(jail, text, e);
  case JAIL_READ:
    return jail_add(jail, PLACE_READ, text, "", e);
  case JAIL_WRITE:
    return jail_add(jail, PLACE_WRITE, text, "", e) && jail_lists_keep(jail, e);
  case JAIL_EDIT:
    if (!jail_add(jail, PLACE_WRITE, text, "", e)) return false;
    jail->places[jail->count - 1].edits = text[0] != '/';
    return jail_lists_keep(jail, e);
  case JAIL_KEEP:
    return jail_add(jail, PLACE_KEPT, text, "", e);
  case JAIL_LISTEN:
    return add_port(jail, text, e);
  case JAIL_MISSING:
    return error_set(e, ERROR_INVALID, "sandbox: %.200s", text);
  case JAIL_REACH:
  case JAIL_HEADER:
  case JAIL_CA:
    return true;
  case JAIL_NO_WORD:
    break;
  }
  return error_set(e, ERROR_INVALID, "sandbox: there is no \"%.100s\"", word);
}

static const char *variable(const char *const *env, const char *name) {
  size_t length = strlen(name);
  for (; env && *env; env++)
    if (strncmp(*env, name, length) == 0 && (*env)[length] == '=') return *env + length + 1;
  return NULL;
}

static bool make_plan(struct jail *jail, const char *const *words, const char *const *env,
                      const char *cwd, struct error *e) {
  char here[JAIL_PATH] = "";
  const char *home = variable(env, "HOME");
  if ((!cwd || cwd[0] != '/') && !getcwd(here, sizeof here))
    return error_system(e, errno, "sandbox: the working folder");
  int length = snprintf(jail->cwd, sizeof jail->cwd, "%s%s%s", here, here[0] && cwd ? "/" : "",
                        cwd ? cwd : "");
  if (length >= (int)sizeof jail->cwd)
    return error_set(e, ERROR_LIMIT, "sandbox: the working folder's path is too long");
  for (; *words; words++)
    if (!read_word(jail, *words, e)) return false;
  if (!jail_lists_add(jail, home && home[0] == '/' && home[1] ? home : NULL, e)) return false;
  snprintf(jail->maps[0], sizeof jail->maps[0], "%u %u 1", geteuid(), geteuid());
  snprintf(jail->maps[1], sizeof jail->maps[1], "%u %u 1", getegid(), getegid());
  if (jail->port_count > 0 &&
      socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, jail->channel) < 0)
    return error_system(e, errno, "sandbox: a channel to its network");
  jail_filter_make(jail);
  jail->inside = (struct sys_inside){
      .namespaces = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC |
                    (jail->network ? 0 : CLONE_NEWNET),
      .enter = jail_enter,
      .keeps = jail->channel[1] > 0 ? jail->channel[1] : 0,
      .data = jail,
  };
  return true;
}

bool jail_open(const struct sys *sys, const char *const *words, const char *const *env,
               const char *cwd, struct jail **to, struct error *e) {
  struct jail *jail = sys_alloc(sys, sizeof *jail);
  if (!jail) return error_set(e, ERROR_MEMORY, "sandbox: out of memory");
  jail->sys = sys;
  jail->channel[0] = jail->channel[1] = jail->granted = -1;
  jail->page =
      mmap(NULL, sizeof *jail->page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  *to = jail;
  bool fine = jail->page != MAP_FAILED && make_plan(jail, words, env, cwd, e);
  if (jail->page == MAP_FAILED) {
    jail->page = NULL;
    error_set(e, ERROR_MEMORY, "sandbox: out of memory");
  }
  if (!fine) jail_close(to);
  return fine;
}

const struct sys_inside *jail_inside(const struct jail *jail) {
  return jail ? &jail->inside : NULL;
}

const char *jail_failure(const struct jail *jail) {
  return jail ? jail->page->failure : "";
}

void jail_ended(const struct jail *jail, int *wait_status) {
  if (jail && jail->page->ended && WIFEXITED(*wait_status)) *wait_status = jail->page->wait_status;
}

void jail_close(struct jail **jail) {
  struct jail *old = *jail;
  if (!old) return;
  for (int i = 0; i < 2; i++)
    if (old->channel[i] >= 0) close(old->channel[i]);
  if (old->page) munmap(old->page, sizeof *old->page);
  sys_free(old->sys, old, sizeof *old);
  *jail = NULL;
}
