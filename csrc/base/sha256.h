/* sha256.h: SHA-256 (FIPS 180-4), at once or in pieces. Names blobs and pins digests. */
#ifndef SKILLRT_BASE_SHA256_H
#define SKILLRT_BASE_SHA256_H

#include <stddef.h>
#include <stdint.h>

struct sha256 { /* on the caller's stack; owns nothing */
  uint32_t state[8];
  uint64_t length; /* bytes so far */
  unsigned char block[64];
};

void sha256_init(struct sha256 *);
void sha256_add(struct sha256 *, const void *from, size_t size);
/* Ends it; call sha256_init before using it again. */
void sha256_finish(struct sha256 *, unsigned char digest[32]);
void sha256_finish_hex(struct sha256 *, char out[65]);

/* All at once: 64 lower-case hex digits and a NUL. */
void sha256_hex(const void *from, size_t size, char out[65]);

#endif
