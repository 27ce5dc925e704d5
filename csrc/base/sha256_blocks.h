/* sha256_blocks.h: the inside of SHA-256, whole blocks of 64 bytes at a time, in plain C and by the
 * processor's instructions. Included by sha256*.c and a test that compares the two. */
#ifndef SKILLRT_BASE_SHA256_BLOCKS_H
#define SKILLRT_BASE_SHA256_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

extern const uint32_t sha256_round[64]; /* fractions of the cube roots of the first primes */

void sha256_blocks_portable(uint32_t state[8], const unsigned char *from, size_t count);
/* Asked once, at the first hash: whether this processor has the instructions. */
bool sha256_has_instruction(void);
/* Only where it has. */
void sha256_blocks_instruction(uint32_t state[8], const unsigned char *from, size_t count);

#endif
