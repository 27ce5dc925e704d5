/* fake_log.h: what the fakes saw, in order, as one line of words: "append(new) sync durable". */
#ifndef SKILLRT_TESTS_FAKE_LOG_H
#define SKILLRT_TESTS_FAKE_LOG_H

#include <stdbool.h>
#include <stddef.h>

struct fake_log {
  char text[16384];
  size_t length;
  bool off; /* for long runs */
};

void fake_log_add(struct fake_log *, const char *format, ...) __attribute__((format(printf, 2, 3)));
void fake_log_clear(struct fake_log *);
/* How often `word` stands in it. */
int fake_log_count(const struct fake_log *, const char *word);

#endif
