/* sha256_instruction.c: blocks of SHA-256 by the processor's own instructions: SHA-NI on x86-64,
 * SHA2 on ARMv8. Knows one compression round after the other, nothing of what is hashed. */
#include "base/sha256_blocks.h"

#include <stdatomic.h>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>

/* SHA is bit 29 of EBX in leaf 7; SSE4.1 bit 19 and SSSE3 bit 9 of ECX in leaf 1. */
static bool ask_processor(void) {
  unsigned a, b, c, d;
  if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & 1u << 19) || !(c & 1u << 9)) return false;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & 1u << 29) != 0;
}

/* Four rounds with the words in `w`. */
#define ROUNDS(i, w)                                                                               \
  do {                                                                                             \
    __m128i sum = _mm_add_epi32(w, _mm_loadu_si128((const __m128i *)(sha256_round + (i))));        \
    cdgh = _mm_sha256rnds2_epu32(cdgh, abef, sum);                                                 \
    abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(sum, 0x0e));                        \
  } while (0)

/* The next four words, in the place of the first of the sixteen before them. */
#define WORDS(w0, w1, w2, w3)                                                                      \
  w0 = _mm_sha256msg2_epu32(                                                                       \
      _mm_add_epi32(_mm_sha256msg1_epu32(w0, w1), _mm_alignr_epi8(w3, w2, 4)), w3)

__attribute__((target("sha,sse4.1,ssse3"))) void
sha256_blocks_instruction(uint32_t state[8], const unsigned char *from, size_t count) {
  const __m128i order = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
  __m128i dcba = _mm_loadu_si128((const __m128i *)state);
  __m128i hgfe = _mm_loadu_si128((const __m128i *)(state + 4));
  __m128i cdab = _mm_shuffle_epi32(dcba, 0xb1), efgh = _mm_shuffle_epi32(hgfe, 0x1b);
  __m128i abef = _mm_alignr_epi8(cdab, efgh, 8), cdgh = _mm_blend_epi16(efgh, cdab, 0xf0);
  for (; count > 0; count--, from += 64) {
    __m128i abef_before = abef, cdgh_before = cdgh, w[4];
    for (int i = 0; i < 4; i++)
      w[i] = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(from + 16 * i)), order);
    for (int i = 0; i < 16; i += 4)
      ROUNDS(i, w[i / 4]);
    for (int i = 16; i < 64; i += 16) {
      WORDS(w[0], w[1], w[2], w[3]);
      ROUNDS(i, w[0]);
      WORDS(w[1], w[2], w[3], w[0]);
      ROUNDS(i + 4, w[1]);
      WORDS(w[2], w[3], w[0], w[1]);
      ROUNDS(i + 8, w[2]);
      WORDS(w[3], w[0], w[1], w[2]);
      ROUNDS(i + 12, w[3]);
    }
    abef = _mm_add_epi32(abef, abef_before);
    cdgh = _mm_add_epi32(cdgh, cdgh_before);
  }
  __m128i feba = _mm_shuffle_epi32(abef, 0x1b), dchg = _mm_shuffle_epi32(cdgh, 0xb1);
  _mm_storeu_si128((__m128i *)state, _mm_blend_epi16(feba, dchg, 0xf0));
  _mm_storeu_si128((__m128i *)(state + 4), _mm_alignr_epi8(dchg, feba, 8));
}

#elif defined(__aarch64__)
#include <arm_neon.h>
#include <sys/auxv.h>

static bool ask_processor(void) {
  return (getauxval(AT_HWCAP) & (1UL << 6)) != 0; /* HWCAP_SHA2 */
}

__attribute__((target("+crypto"))) void
sha256_blocks_instruction(uint32_t state[8], const unsigned char *from, size_t count) {
  uint32x4_t abcd = vld1q_u32(state), efgh = vld1q_u32(state + 4);
  for (; count > 0; count--, from += 64) {
    uint32x4_t abcd_before = abcd, efgh_before = efgh, w[4];
    for (int i = 0; i < 4; i++)
      w[i] = vreinterpretq_u32_u8(vrev32q_u8(vld1q_u8(from + 16 * i)));
    for (int i = 0; i < 16; i++) {
      uint32x4_t sum = vaddq_u32(w[i % 4], vld1q_u32(sha256_round + 4 * i)), abcd_now = abcd;
      if (i < 12)
        w[i % 4] = vsha256su1q_u32(vsha256su0q_u32(w[i % 4], w[(i + 1) % 4]), w[(i + 2) % 4],
                                   w[(i + 3) % 4]);
      abcd = vsha256hq_u32(abcd, efgh, sum);
      efgh = vsha256h2q_u32(efgh, abcd_now, sum);
    }
    abcd = vaddq_u32(abcd, abcd_before);
    efgh = vaddq_u32(efgh, efgh_before);
  }
  vst1q_u32(state, abcd);
  vst1q_u32(state + 4, efgh);
}

#else
static bool ask_processor(void) {
  return false;
}

void sha256_blocks_instruction(uint32_t state[8], const unsigned char *from, size_t count) {
  sha256_blocks_portable(state, from, count);
}
#endif

/* cpuid is slow where the machine is a guest. */
bool sha256_has_instruction(void) {
  static atomic_int known; /* 0: not asked yet; 1: no; 2: yes */
  int have = atomic_load_explicit(&known, memory_order_relaxed);
  if (have == 0) {
    have = ask_processor() ? 2 : 1;
    atomic_store_explicit(&known, have, memory_order_relaxed);
  }
  return have == 2;
}
