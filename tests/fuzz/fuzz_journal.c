/* fuzz_journal.c: any bytes as a run's only journal file. Opening never crashes; what is
 * accepted is read twice alike, is a prefix of the input's own lines, and takes a batch.
 * A first byte chooses whether the input is taken as it is or with every line's crc and chain
 * put right, so that the fuzzer gets behind the checksums. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/crc32c.h"
#include "store/journal_format.h"
#include "support/store_kit.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { INPUT_MAX = 64 << 10 };

static const char segment_name[] = "run/journal/00000001.sj";

/* Writes the crc (and, where asked, the chain) anew into everything that looks like a line. */
static void mend(char *bytes, size_t size, bool chain) {
  uint32_t crc = 0;
  for (size_t at = 0; size - at >= JOURNAL_FRAME;) {
    char digits[9];
    memcpy(digits, bytes + at + 49, 8);
    digits[8] = '\0';
    size_t length = strtoul(digits, NULL, 16);
    if (memcmp(bytes + at, "J1 ", 3) != 0 || length > size - at - JOURNAL_FRAME) return;
    snprintf(digits, sizeof digits, "%08x", crc);
    if (chain) memcpy(bytes + at + 40, digits, 8);
    crc = crc32c(0, bytes + at + 11, JOURNAL_FRAME - 11 + length);
    snprintf(digits, sizeof digits, "%08x", crc);
    memcpy(bytes + at + 3, digits, 8);
    at += JOURNAL_FRAME + length;
  }
}

struct seen {
  uint32_t print;
  uint64_t count, seq;
};

static bool see(void *data, const struct record *record, struct error *e) {
  struct seen *seen = data;
  (void)e;
  if (record->seq <= seen->seq) abort();
  seen->seq = record->seq;
  seen->count++;
  seen->print = crc32c(seen->print, record->payload.data, record->payload.length);
  return true;
}

static struct seen look(struct kit *k) {
  struct seen seen = {0};
  if (!k->store->ops->read(k->store, 0, see, &seen, &k->error)) abort();
  return seen;
}

static void probe(struct scratch *s, const void *bytes, size_t size) {
  struct kit k;
  struct seen first = {0}, again;
  kit_init(&k, s);
  k.options.durability = DURABILITY_PROCESS;
  scratch_write(s, segment_name, bytes, size);
  bool readable = kit_open(&k, STORE_READ);
  if (readable) {
    first = look(&k);
    if (first.count != k.report.records) abort();
    kit_close(&k);
  }
  if (kit_open(&k, STORE_RESUME) != readable) abort();
  if (!readable) {
    if (k.error.code != ERROR_CORRUPT && k.error.code != ERROR_NEWER) abort();
    return;
  }
  again = look(&k);
  if (again.print != first.print || again.count != first.count) abort();
  if (!kit_put(&k, 1, 2)) abort();
  kit_close(&k);
  if (!kit_open(&k, STORE_RESUME) || k.report.unclean) abort();
  if (look(&k).count != first.count + 2) abort();
  kit_close(&k);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct scratch s;
  if (size < 1 || size > INPUT_MAX) return 0;
  char *bytes = malloc(size);
  if (!bytes) abort();
  memcpy(bytes, data + 1, size - 1);
  if (data[0] & 1) mend(bytes, size - 1, data[0] & 2);
  scratch_make(&s);
  mkdir(scratch_path(&s, "run"), 0700);
  mkdir(scratch_path(&s, "run/journal"), 0700);
  probe(&s, bytes, size - 1);
  scratch_remove(&s);
  free(bytes);
  return 0;
}
