/* sha256.c: SHA-256, its blocks in plain C or by instruction, chosen at run time.
 * Knows nothing of blobs. Called by the store and the JSON face. */
#include "base/sha256.h"

#include <string.h>

#include "base/sha256_blocks.h"

/* clang-format off */
const uint32_t sha256_round[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};
/* clang-format on */

static uint32_t sha256_turn(uint32_t word, int by) {
  return word >> by | word << (32 - by);
}

static uint32_t sha256_load(const unsigned char *from) {
  uint32_t word;
  memcpy(&word, from, sizeof word);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
  word = __builtin_bswap32(word);
#endif
  return word;
}

/* A round leaves its eight words in place: the next one names them one further on. */
#define ROUND(a, b, c, d, e, f, g, h, i)                                                           \
  do {                                                                                             \
    uint32_t t = h + (sha256_turn(e, 6) ^ sha256_turn(e, 11) ^ sha256_turn(e, 25)) +               \
                 (g ^ (e & (f ^ g))) + sha256_round[(i)] + w[(i)&15];                              \
    d += t;                                                                                        \
    h = t + (sha256_turn(a, 2) ^ sha256_turn(a, 13) ^ sha256_turn(a, 22)) +                        \
        ((a & b) | (c & (a | b)));                                                                 \
  } while (0)

#define EIGHT_ROUNDS(i)                                                                            \
  do {                                                                                             \
    ROUND(a, b, c, d, e, f, g, h, (i));                                                            \
    ROUND(h, a, b, c, d, e, f, g, (i) + 1);                                                        \
    ROUND(g, h, a, b, c, d, e, f, (i) + 2);                                                        \
    ROUND(f, g, h, a, b, c, d, e, (i) + 3);                                                        \
    ROUND(e, f, g, h, a, b, c, d, (i) + 4);                                                        \
    ROUND(d, e, f, g, h, a, b, c, (i) + 5);                                                        \
    ROUND(c, d, e, f, g, h, a, b, (i) + 6);                                                        \
    ROUND(b, c, d, e, f, g, h, a, (i) + 7);                                                        \
  } while (0)

/* The word sixteen rounds on, in the place of the one it follows from. */
static inline void sha256_next_word(uint32_t w[16], int i) {
  uint32_t one = w[(i + 1) & 15], fourteen = w[(i + 14) & 15];
  w[i] += (sha256_turn(one, 7) ^ sha256_turn(one, 18) ^ one >> 3) + w[(i + 9) & 15] +
          (sha256_turn(fourteen, 17) ^ sha256_turn(fourteen, 19) ^ fourteen >> 10);
}

static void sha256_block(uint32_t state[8], const unsigned char *block) {
  uint32_t w[16];
  uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
  uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
  for (int i = 0; i < 16; i++)
    w[i] = sha256_load(block + 4 * i);
  EIGHT_ROUNDS(0);
  EIGHT_ROUNDS(8);
  for (int round = 16; round < 64; round += 16) {
    for (int i = 0; i < 16; i++)
      sha256_next_word(w, i);
    EIGHT_ROUNDS(round);
    EIGHT_ROUNDS(round + 8);
  }
  state[0] += a, state[1] += b, state[2] += c, state[3] += d;
  state[4] += e, state[5] += f, state[6] += g, state[7] += h;
}

void sha256_blocks_portable(uint32_t state[8], const unsigned char *from, size_t count) {
  for (; count > 0; count--, from += 64)
    sha256_block(state, from);
}

static void sha256_blocks(uint32_t state[8], const unsigned char *from, size_t count) {
  if (sha256_has_instruction())
    sha256_blocks_instruction(state, from, count);
  else
    sha256_blocks_portable(state, from, count);
}

void sha256_init(struct sha256 *s) {
  /* fractions of the square roots of the first primes */
  *s = (struct sha256){.state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f,
                                 0x9b05688c, 0x1f83d9ab, 0x5be0cd19}};
}

void sha256_add(struct sha256 *s, const void *from, size_t size) {
  const unsigned char *at = from;
  size_t used = s->length % 64;
  s->length += size;
  if (used) {
    size_t part = 64 - used < size ? 64 - used : size;
    memcpy(s->block + used, at, part);
    at += part, size -= part;
    if (used + part < 64) return;
    sha256_blocks(s->state, s->block, 1);
  }
  sha256_blocks(s->state, at, size / 64);
  at += size / 64 * 64, size %= 64;
  if (size) memcpy(s->block, at, size);
}

void sha256_finish(struct sha256 *s, unsigned char digest[32]) {
  uint64_t bits = s->length * 8;
  size_t used = s->length % 64;
  s->block[used++] = 0x80;
  if (used > 56) {
    memset(s->block + used, 0, 64 - used);
    sha256_blocks(s->state, s->block, 1);
    used = 0;
  }
  memset(s->block + used, 0, 56 - used);
  for (int i = 0; i < 8; i++)
    s->block[56 + i] = (unsigned char)(bits >> (56 - 8 * i));
  sha256_blocks(s->state, s->block, 1);
  for (int i = 0; i < 32; i++)
    digest[i] = (unsigned char)(s->state[i / 4] >> (24 - 8 * (i % 4)));
}

void sha256_finish_hex(struct sha256 *s, char out[65]) {
  unsigned char digest[32];
  sha256_finish(s, digest);
  for (int i = 0; i < 32; i++) {
    out[2 * i] = "0123456789abcdef"[digest[i] >> 4];
    out[2 * i + 1] = "0123456789abcdef"[digest[i] & 15];
  }
  out[64] = '\0';
}

void sha256_hex(const void *from, size_t size, char out[65]) {
  struct sha256 s;
  sha256_init(&s);
  sha256_add(&s, from, size);
  sha256_finish_hex(&s, out);
}
