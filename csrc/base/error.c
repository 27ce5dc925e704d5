/* error.c: fills struct error, truncating long texts without splitting a character.
 * Knows nothing of the causes. Called by every layer. */
#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* Called when `text` lost its end: puts "..." where the last whole character before it ends. */
static void error_cut(char *text, size_t room) {
  size_t at = room - 4;
  while (at > 0 && ((unsigned char)text[at] & 0xC0) == 0x80)
    at--;
  memcpy(text + at, "...", 4);
}

static void error_write(struct error *e, const char *format, va_list arguments) {
  int length = vsnprintf(e->text, sizeof e->text, format, arguments);
  if (length < 0)
    snprintf(e->text, sizeof e->text, "(message lost: bad format)");
  else if ((size_t)length >= sizeof e->text)
    error_cut(e->text, sizeof e->text);
}

bool error_set(struct error *e, enum error_code code, const char *format, ...) {
  if (!e) return false;
  e->code = code;
  e->number = 0;
  va_list arguments;
  va_start(arguments, format);
  error_write(e, format, arguments);
  va_end(arguments);
  return false;
}

bool error_system(struct error *e, int number, const char *format, ...) {
  if (!e) return false;
  if (number < 0) /* struct sys gives negative errnos; either sign is welcome */
    number = -number;
  e->code = number == ENOMEM ? ERROR_MEMORY : ERROR_SYSTEM;
  e->number = number == ENOMEM ? 0 : number;
  va_list arguments;
  va_start(arguments, format);
  error_write(e, format, arguments);
  va_end(arguments);

  char reason_room[128];
  char reason[160];
  snprintf(reason, sizeof reason, ": %s", strerror_r(number, reason_room, sizeof reason_room));
  size_t used = strlen(e->text), wanted = strlen(reason);
  if (used + wanted + 1 > sizeof e->text) { /* the reason matters more than the object's end */
    error_cut(e->text, sizeof e->text - wanted);
    used = strlen(e->text);
  }
  memcpy(e->text + used, reason, wanted + 1);
  return false;
}

bool error_missing(struct error *e, int number) {
  if (number < 0) number = -number;
  if (e && (number == ENOENT || number == ENOTDIR)) e->code = ERROR_MISSING;
  return false;
}

void error_clear(struct error *e) {
  if (!e) return;
  e->code = ERROR_NONE;
  e->number = 0;
  e->text[0] = '\0';
}

const char *error_name(enum error_code code) {
  switch (code) {
  case ERROR_NONE:
    return "none";
  case ERROR_SYSTEM:
    return "system";
  case ERROR_INVALID:
    return "invalid";
  case ERROR_CORRUPT:
    return "corrupt";
  case ERROR_BUSY:
    return "busy";
  case ERROR_MISSING:
    return "missing";
  case ERROR_EXISTS:
    return "exists";
  case ERROR_NEWER:
    return "newer";
  case ERROR_EDITED:
    return "edited";
  case ERROR_CHANGED:
    return "changed";
  case ERROR_LIMIT:
    return "limit";
  case ERROR_MEMORY:
    return "memory";
  case ERROR_SCRIPT:
    return "script";
  case ERROR_STOPPED:
    return "stopped";
  case ERROR_LOST:
    return "lost";
  case ERROR_STORE:
    return "store";
  }
  return "unknown";
}
