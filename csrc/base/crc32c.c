/* crc32c.c: CRC-32C by instruction (SSE4.2, ARMv8 CRC), chosen at run time, or by eight tables.
 * Knows nothing of journals. Called by the store. */
#include "base/crc32c.h"

#include <string.h>

#if defined(__x86_64__)
#include <nmmintrin.h>
#elif defined(__aarch64__)
#include <arm_acle.h>
#include <sys/auxv.h>
#endif

/* A checksum is linear, so a whole table follows from the entries of the eight single bits. */
#define ENTRY(i, a, b, c, d, e, f, g, h)                                                           \
  (((i)&1 ? (a) : 0) ^ ((i)&2 ? (b) : 0) ^ ((i)&4 ? (c) : 0) ^ ((i)&8 ? (d) : 0) ^                 \
   ((i)&16 ? (e) : 0) ^ ((i)&32 ? (f) : 0) ^ ((i)&64 ? (g) : 0) ^ ((i)&128 ? (h) : 0))
#define ENTRIES4(i, ...)                                                                           \
  ENTRY(i, __VA_ARGS__), ENTRY((i) + 1, __VA_ARGS__), ENTRY((i) + 2, __VA_ARGS__),                 \
      ENTRY((i) + 3, __VA_ARGS__)
#define ENTRIES16(i, ...)                                                                          \
  ENTRIES4(i, __VA_ARGS__), ENTRIES4((i) + 4, __VA_ARGS__), ENTRIES4((i) + 8, __VA_ARGS__),        \
      ENTRIES4((i) + 12, __VA_ARGS__)
#define ENTRIES64(i, ...)                                                                          \
  ENTRIES16(i, __VA_ARGS__), ENTRIES16((i) + 16, __VA_ARGS__), ENTRIES16((i) + 32, __VA_ARGS__),   \
      ENTRIES16((i) + 48, __VA_ARGS__)
#define ROW(...)                                                                                   \
  {                                                                                                \
    ENTRIES64(0, __VA_ARGS__), ENTRIES64(64, __VA_ARGS__), ENTRIES64(128, __VA_ARGS__),            \
        ENTRIES64(192, __VA_ARGS__)                                                                \
  }

/* clang-format off */
static const uint32_t crc32c_table[8][256] = { /* row k: a byte followed by k zero bytes */
    ROW(0xf26b8303u, 0xe13b70f7u, 0xc79a971fu, 0x8ad958cfu, 0x105ec76fu, 0x20bd8edeu, 0x417b1dbcu, 0x82f63b78u),
    ROW(0x13a29877u, 0x274530eeu, 0x4e8a61dcu, 0x9d14c3b8u, 0x3fc5f181u, 0x7f8be302u, 0xff17c604u, 0xfbc3faf9u),
    ROW(0xa541927eu, 0x4f6f520du, 0x9edea41au, 0x38513ec5u, 0x70a27d8au, 0xe144fb14u, 0xc76580d9u, 0x8b277743u),
    ROW(0xdd45aab8u, 0xbf672381u, 0x7b2231f3u, 0xf64463e6u, 0xe964b13du, 0xd725148bu, 0xaba65fe7u, 0x52a0c93fu),
    ROW(0x38116facu, 0x7022df58u, 0xe045beb0u, 0xc5670b91u, 0x8f2261d3u, 0x1ba8b557u, 0x37516aaeu, 0x6ea2d55cu),
    ROW(0xef306b19u, 0xdb8ca0c3u, 0xb2f53777u, 0x6006181fu, 0xc00c303eu, 0x85f4168du, 0x0e045bebu, 0x1c08b7d6u),
    ROW(0x68032cc8u, 0xd0065990u, 0xa5e0c5d1u, 0x4e2dfd53u, 0x9c5bfaa6u, 0x3d5b83bdu, 0x7ab7077au, 0xf56e0ef4u),
    ROW(0x493c7d27u, 0x9278fa4eu, 0x211d826du, 0x423b04dau, 0x847609b4u, 0x0d006599u, 0x1a00cb32u, 0x34019664u),
};
/* clang-format on */

static uint64_t crc32c_load8(const unsigned char *from) {
  uint64_t word = 0;
  for (int i = 7; i >= 0; i--)
    word = word << 8 | from[i];
  return word;
}

uint32_t crc32c_portable(uint32_t before, const void *from, size_t size) {
  const unsigned char *at = from;
  uint32_t crc = ~before;
  for (; size >= 8; at += 8, size -= 8) {
    uint64_t word = crc32c_load8(at) ^ crc;
    crc = 0;
    for (int i = 0; i < 8; i++)
      crc ^= crc32c_table[7 - i][word >> (8 * i) & 0xFF];
  }
  for (; size > 0; at++, size--)
    crc = crc >> 8 ^ crc32c_table[0][(crc ^ *at) & 0xFF];
  return ~crc;
}

#if defined(__x86_64__)
static inline int crc32c_has_instruction(void) {
  return __builtin_cpu_supports("sse4.2");
}

__attribute__((target("sse4.2"))) static uint32_t
crc32c_instruction(uint32_t before, const void *from, size_t size) {
  const unsigned char *at = from;
  uint64_t crc = ~before;
  for (; size >= 8; at += 8, size -= 8) {
    uint64_t word;
    memcpy(&word, at, 8);
    crc = _mm_crc32_u64(crc, word);
  }
  uint32_t rest = (uint32_t)crc;
  for (; size > 0; at++, size--)
    rest = _mm_crc32_u8(rest, *at);
  return ~rest;
}
#elif defined(__aarch64__)
static inline int crc32c_has_instruction(void) {
  return (getauxval(AT_HWCAP) & (1UL << 7)) != 0; /* HWCAP_CRC32 */
}

__attribute__((target("+crc"))) static uint32_t crc32c_instruction(uint32_t before,
                                                                   const void *from, size_t size) {
  const unsigned char *at = from;
  uint32_t crc = ~before;
  for (; size >= 8; at += 8, size -= 8) {
    uint64_t word;
    memcpy(&word, at, 8);
    crc = __crc32cd(crc, word);
  }
  for (; size > 0; at++, size--)
    crc = __crc32cb(crc, *at);
  return ~crc;
}
#else
static inline int crc32c_has_instruction(void) {
  return 0;
}
static uint32_t crc32c_instruction(uint32_t before, const void *from, size_t size) {
  return crc32c_portable(before, from, size);
}
#endif

uint32_t crc32c(uint32_t before, const void *from, size_t size) {
  return crc32c_has_instruction() ? crc32c_instruction(before, from, size)
                                  : crc32c_portable(before, from, size);
}
