/* stamp.h: a moment as text, in UTC. Does not use gmtime, which reads time zone files. */
#ifndef SKILLRT_STORE_STAMP_H
#define SKILLRT_STORE_STAMP_H

#include <stdint.h>

enum { STAMP_SIZE = 24 };

/* "2026-01-02T03:04:05Z". Moments before 1970 or after 9999 become the nearest of these. */
void stamp_text(char to[STAMP_SIZE], int64_t wall_ms);
/* "20260102T030405Z", for names of files. */
void stamp_name(char to[STAMP_SIZE], int64_t wall_ms);

#endif
