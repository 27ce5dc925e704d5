/* fake_log.c: see fake_log.h. */
#include "support/fake_log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void fake_log_add(struct fake_log *log, const char *format, ...) {
  if (log->off || log->length + 256 > sizeof log->text) return;
  if (log->length > 0) log->text[log->length++] = ' ';
  va_list list;
  va_start(list, format);
  int length = vsnprintf(log->text + log->length, 250, format, list);
  va_end(list);
  log->length += (size_t)(length < 250 ? length : 249);
}

void fake_log_clear(struct fake_log *log) {
  log->length = 0;
  log->text[0] = 0;
}

int fake_log_count(const struct fake_log *log, const char *word) {
  int count = 0;
  for (const char *at = log->text; (at = strstr(at, word)); at++)
    count++;
  return count;
}
