/* postgres_url.c: splits postgres://<user>@<host>/<database>/<run>?<parameters of libpq> into the
 * URL for libpq and the run. Pure. Called by the module's other files. */
#include "store/postgres.h"

#include <stdio.h>
#include <string.h>

/* No passwords in URLs, because messages and suggested commands show URLs. */
static bool has_password(const char *authority, size_t length, const char *settings) {
  const char *at = memchr(authority, '@', length);
  const char *colon = at ? memchr(authority, ':', (size_t)(at - authority)) : NULL;
  return colon != NULL || strstr(settings, "?password=") || strstr(settings, "&password=");
}

bool url_read(const char *text, bool wants_run, struct url *to, struct error *e) {
  const char *authority = strstr(text, "://") + 3; /* store.c has checked this */
  size_t length = strcspn(authority, "/?");
  const char *database = authority + length;
  const char *settings = database + strcspn(database, "?");
  if (*database == '/') database++;
  size_t named = strcspn(database, "/?");
  const char *run = database + named;
  if (*run == '/') run++;
  size_t run_length = strcspn(run, "?");
  if (run_length > 0 && run[run_length - 1] == '/') run_length--;
  if (named == 0)
    return error_set(e, ERROR_INVALID, "%.200s: names no database: postgres://USER@HOST/DATABASE",
                     text);
  if (has_password(authority, length, settings))
    return error_set(e, ERROR_INVALID,
                     "postgres:// with a password: it would be shown in messages; put it into "
                     "~/.pgpass, or into PGPASSWORD");
  if (run_length > JOURNAL_RUN_ID)
    return error_set(e, ERROR_INVALID, "%.200s: run name too long", text);
  memcpy(to->run, run, run_length);
  to->run[run_length] = '\0';
  if (to->run[0] && !journal_run_id_valid(to->run))
    return error_set(e, ERROR_INVALID, "%.200s: run \"%s\": 1 to 64 of A-Z a-z 0-9 . _ -", text,
                     to->run);
  if (wants_run && !to->run[0])
    return error_set(e, ERROR_INVALID, "%.200s: names no run: postgres://USER@HOST/DATABASE/RUN",
                     text);
  snprintf(to->whole, sizeof to->whole, "%s", text);
  to->before = (size_t)(database + named - text);
  to->behind = (size_t)(settings - text);
  snprintf(to->database, sizeof to->database, "%.*s%s", (int)to->before, text, settings);
  return true;
}

void url_drop_run(struct url *url) {
  memcpy(url->whole, url->database, sizeof url->whole);
  url->behind = url->before;
  url->run[0] = '\0';
}

bool url_write(const struct url *url, const char *run, char *to) {
  int length = snprintf(to, PATH_MAX, "%.*s/%s%s", (int)url->before, url->whole, run,
                        url->whole + url->behind);
  return length < PATH_MAX;
}
