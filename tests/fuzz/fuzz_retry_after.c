/* fuzz_retry_after.c: any bytes as Retry-After and Date; the answer stays within its bounds.
 * The input is "<Retry-After>\n<Date>". Run by make fuzz; make test replays the corpus. */
#include <stdlib.h>
#include <string.h>

#include "transport/retry_after.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const char *bytes = (const char *)data;
  const char *line = size ? memchr(bytes, '\n', size) : NULL;
  size_t length = line ? (size_t)(line - bytes) : size;
  struct span value = {bytes, length};
  struct span date = {line ? line + 1 : NULL, line ? size - length - 1 : 0};
  static const int64_t clocks[] = {0, INT64_C(1767225600000), INT64_C(253402300799000)};
  for (size_t i = 0; i < sizeof clocks / sizeof *clocks; i++) {
    int64_t ms = retry_after_ms(value, date, clocks[i]), moment = 0;
    if (ms < -1 || ms > RETRY_AFTER_MAX_MS) abort();
    if (retry_after_date(value, clocks[i], &moment) && (moment < 0 || ms < 0)) abort();
  }
  return 0;
}
