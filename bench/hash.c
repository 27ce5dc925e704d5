/* hash.c: how fast SHA-256 is, in plain C and by the processor's instructions, each for itself.
 *
 * Prints megabytes a second of CPU time for both; 0 for instructions that are not there. Takes the
 * files of the core as they are; bench/rows/reading.lua shows it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/sha256_blocks.h"

#include "base/sha256.c"
#include "base/sha256_instruction.c"

enum { BYTES = 16 << 20, ROUNDS = 5 };

typedef void blocks(uint32_t state[8], const unsigned char *from, size_t count);

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static double best(blocks *hash, const unsigned char *bytes) {
  double least = 1e9;
  for (int i = 0; i < ROUNDS; i++) {
    uint32_t state[8] = {0};
    double start = seconds();
    hash(state, bytes, BYTES / 64);
    double took = seconds() - start;
    if (took < least) least = took;
  }
  return BYTES / 1e6 / least;
}

int main(void) {
  unsigned char *bytes = malloc(BYTES);
  if (!bytes) return 1;
  memset(bytes, 7, BYTES);
  printf("%.0f %.0f\n", best(sha256_blocks_portable, bytes),
         sha256_has_instruction() ? best(sha256_blocks_instruction, bytes) : 0);
  free(bytes);
  return 0;
}
