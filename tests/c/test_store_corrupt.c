/* test_store_corrupt.c: damaged, cut, spliced and newer journals; edited views; wrong blobs.
 *
 * A small journal is written once; each test damages a copy of it and opens that. Either it
 * is refused and nothing was changed, or what was read is a prefix that ends with a batch. */
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "store/journal_format.h"
#include "support/faulty_sys.h"
#include "support/store_kit.h"

static const char segment_name[] = "run/journal/00000001.sj";

struct sample {
  char *bytes;
  size_t length;
  size_t ends[64]; /* where each line ends, the first being the segment's own */
  int lines;
};

static void sample_lines(struct sample *a) {
  a->lines = 0;
  for (size_t i = 0; i < a->length; i++)
    if (a->bytes[i] == '\n') a->ends[a->lines++] = i + 1;
}

/* A run of `count` batches: 1, 2, 3, 1, 2, 3 ... payloads; not closed. */
static void sample_make(struct scratch *s, struct sample *a, const char *run_id, int count) {
  struct kit k;
  kit_init(&k, s);
  k.options.run_id = run_id;
  CHECK(kit_open(&k, STORE_CREATE));
  for (int i = 0, next = 0; i < count; next += 1 + i++ % 3)
    CHECK(kit_put(&k, next, 1 + i % 3));
  a->bytes = scratch_read(s, segment_name, &a->length); /* before the close says "closed" */
  sample_lines(a);
  kit_close(&k);
  scratch_empty(s);
}

/* A run directory with these bytes as its journal. */
static void plant(struct scratch *s, const void *bytes, size_t length) {
  scratch_empty(s);
  mkdir(scratch_path(s, "run"), 0700);
  mkdir(scratch_path(s, "run/journal"), 0700);
  scratch_write(s, segment_name, bytes, length);
}

/* Opens what was planted: the number of payloads, or minus the error's code. When refused,
 * nothing may have changed but the lock file, which a first process leaves. */
static int attempt(struct scratch *s, struct kit *k) {
  unsigned long before = scratch_print(s, "run/journal");
  kit_init(k, s);
  if (kit_open(k, STORE_RESUME)) {
    int count = kit_count(k);
    CHECK(k->report.records == (uint64_t)count);
    CHECK(kit_put(k, count, 1) && kit_count(k) == count + 1);
    kit_close(k);
    return count;
  }
  CHECK(scratch_print(s, "run/journal") == before);
  CHECK(scratch_count(s, "run", "journal.cut-") == 0);
  CHECK(k->error.code != ERROR_CORRUPT || strstr(k->error.text, ".sj: offset "));
  CHECK(k->error.code != ERROR_CORRUPT || strstr(k->error.text, "record "));
  return -(int)k->error.code;
}

/* Payloads in the complete batches of the first `length` bytes: 1, 3, 6, 7, 9, 12 ... */
static int whole_payloads(const struct sample *a, size_t length) {
  int whole = 0;
  for (int line = 1, batch = 0; line < a->lines; batch++) {
    line += 1 + batch % 3;
    if (a->ends[line - 1] > length) break;
    whole = line - 1;
  }
  return whole;
}

static void test_torn(struct scratch *s, const struct sample *a) {
  struct kit k;
  TEST("a journal cut at any byte is a torn tail: cut, kept, and the run goes on (F41)") {
    for (size_t length = a->ends[0]; length <= a->length; length++) {
      plant(s, a->bytes, length);
      int whole = whole_payloads(a, length);
      CHECK(attempt(s, &k) == whole);
      CHECK(k.report.unclean);
      size_t good = a->ends[whole], kept = 0;
      CHECK(k.report.cut_bytes == length - good);
      if (length == good) continue;
      char name[160];
      snprintf(name, sizeof name, "run/%s", k.report.cut_file);
      char *cut = scratch_read(s, name, &kept);
      CHECK(cut && kept == length - good && memcmp(cut, a->bytes + good, kept) == 0);
      free(cut);
    }
  }
  TEST("a first line that is not whole is refused: no crash leaves one") {
    for (size_t length = 0; length < a->ends[0]; length += 7) {
      plant(s, a->bytes, length);
      CHECK(attempt(s, &k) == -ERROR_CORRUPT);
    }
  }
  TEST("a tail of zeros, as a file system may leave, is a torn tail") {
    char *longer = calloc(1, a->length + 5000);
    memcpy(longer, a->bytes, a->length);
    plant(s, longer, a->length + 5000);
    CHECK(attempt(s, &k) == whole_payloads(a, a->length));
    CHECK(k.report.cut_bytes == 5000);
    free(longer);
  }
}

static void test_torn_end(struct scratch *s, const struct sample *a) {
  struct kit k;
  TEST("a reader passes over a torn tail without a word or a change") {
    plant(s, a->bytes, a->length - 3);
    unsigned long before = scratch_print(s, "run");
    kit_init(&k, s);
    CHECK(kit_open(&k, STORE_READ));
    CHECK(kit_count(&k) == whole_payloads(a, a->length - 3));
    CHECK(k.report.cut_bytes == 0);
    kit_close(&k);
    CHECK(scratch_print(s, "run") == before);
  }
  TEST("in a torn batch, lines of the same batch behind the bad place do not make it corruption") {
    char *bytes = malloc(a->length);
    memcpy(bytes, a->bytes, a->length);
    int whole = whole_payloads(a, a->length - 1); /* the last batch has three lines */
    memset(bytes + a->ends[whole] + 10, 0, 40);
    plant(s, bytes, a->length);
    CHECK(attempt(s, &k) == whole);
    free(bytes);
  }
  TEST("whichever call fails while a torn run is opened: an error, and nothing lost but the tail") {
    size_t length = a->length - 3;
    int whole = whole_payloads(a, length), failed = 0;
    bool met = true;
    struct faulty *f = faulty_new(sys_real());
    for (uint64_t n = 1; met; n++) {
      plant(s, a->bytes, length);
      kit_init(&k, s);
      k.sys = faulty_sys(f);
      faulty_reset(f);
      faulty_fail(f, FAULTY_FILES, n, EIO, FAULTY_ONCE);
      bool open = kit_open(&k, STORE_RESUME);
      met = faulty_count(f, FAULTY_FILES) >= n;
      faulty_reset(f);
      CHECK(open ? kit_count(&k) == whole && kit_put(&k, whole, 1) : k.error.code == ERROR_SYSTEM);
      failed += !open;
      kit_close(&k);
      k.sys = sys_real();
      CHECK(kit_open(&k, STORE_RESUME) && kit_count(&k) == whole + open);
      kit_close(&k);
    }
    CHECK(failed > 20 && faulty_open_files(f) == 0);
    faulty_free(f);
  }
  TEST("an unclean stop is followed by a new segment, again and again") {
    plant(s, a->bytes, a->length);
    attempt(s, &k);
    CHECK(scratch_count(s, "run/journal", "0000") == 2);
    attempt(s, &k); /* that one was closed */
    CHECK(scratch_count(s, "run/journal", "0000") == 2 && !k.report.unclean);
  }
}

static void test_flips(struct scratch *s, const struct sample *a) {
  struct kit k;
  char *bytes = malloc(a->length);
  TEST("a flipped bit at any byte is refused, or a torn tail where it hits the last batch") {
    int last = whole_payloads(a, a->length - 1); /* payloads before the last batch */
    int cut = 0, refused = 0;
    for (size_t i = 0; i < a->length; i++)
      for (int bit = i % 2; bit < 8; bit += 2) {
        memcpy(bytes, a->bytes, a->length);
        bytes[i] = (char)(bytes[i] ^ (1 << bit));
        plant(s, bytes, a->length);
        int found = attempt(s, &k);
        bool in_last = i >= a->ends[last];
        CHECK(found == (in_last ? last : -ERROR_CORRUPT));
        if (in_last)
          cut++;
        else
          refused++;
      }
    CHECK(cut > 100 && refused > 100);
  }
  TEST("the message says file, offset and record (F48)") {
    memcpy(bytes, a->bytes, a->length);
    bytes[a->ends[2] + 60] ^= 1;
    plant(s, bytes, a->length);
    attempt(s, &k);
    char want[64];
    snprintf(want, sizeof want, "/00000001.sj: offset %zu, record 3: ", a->ends[2]);
    CHECK(strstr(k.error.text, want) && strstr(k.error.text, "nothing was changed"));
  }
  free(bytes);
}

static void test_salvage(struct scratch *s, const struct sample *a) {
  TEST("what stands before a bad place is handed out all the same, and nothing is changed (F41)") {
    struct kit k;
    kit_init(&k, s);
    for (int line = 0; line < a->lines; line++) {
      plant(s, a->bytes, a->length);
      size_t length;
      char *bytes = scratch_read(s, segment_name, &length);
      bytes[a->ends[line] - 5] ^= 1;
      scratch_write(s, segment_name, bytes, length);
      free(bytes);
      unsigned long before = scratch_print(s, "run");
      struct kit_list list = {0};
      store_salvage(k.sys, k.path, kit_each, &list);
      CHECK(!list.wrong && list.count == (line ? line - 1 : 0));
      CHECK(scratch_print(s, "run") == before);
    }
  }
}

static void test_flipped_segments(struct scratch *s) {
  struct kit k;
  TEST("a flipped bit in a run of several segments is refused, wherever it is before the end") {
    kit_init(&k, s);
    scratch_empty(s);
    k.options.segment_bytes = 300;
    CHECK(kit_open(&k, STORE_CREATE));
    for (int i = 0; i < 6; i++)
      CHECK(kit_put(&k, i, 1));
    kit_close(&k);
    int count = scratch_count(s, "run/journal", "0000");
    CHECK(count >= 3);
    for (int segment = 1; segment <= count; segment++) {
      char name[64];
      size_t length;
      snprintf(name, sizeof name, "run/journal/%08d.sj", segment);
      char *own = scratch_read(s, name, &length);
      size_t end = segment < count ? length : 100; /* the last one's first line only */
      for (size_t i = 0; i < end; i += 3) {
        own[i] ^= 4;
        scratch_write(s, name, own, length);
        CHECK(!kit_open(&k, STORE_RESUME) && k.error.code == ERROR_CORRUPT);
        own[i] ^= 4;
      }
      scratch_write(s, name, own, length);
      free(own);
    }
    CHECK(kit_open(&k, STORE_RESUME) && kit_count(&k) == 6);
    kit_close(&k);
  }
}

static size_t line_end(const struct sample *a, int line) {
  return line ? a->ends[line - 1] : 0;
}

/* The planted journal made of lines [from[i], to[i]) of samples, one piece after the other. */
static int spliced(struct scratch *s, struct kit *k, int pieces, const struct sample *const *of,
                   const int *from, const int *to) {
  char bytes[16384];
  size_t length = 0;
  for (int i = 0; i < pieces; i++) {
    size_t begin = line_end(of[i], from[i]), size = line_end(of[i], to[i]) - begin;
    memcpy(bytes + length, of[i]->bytes + begin, size);
    length += size;
  }
  plant(s, bytes, length);
  return attempt(s, k);
}

static void test_splices(struct scratch *s, const struct sample *a, const struct sample *b) {
  struct kit k;
  int n = a->lines;
  TEST("a removed line is refused, wherever it was before the last batch") {
    for (int line = 0; line < n - 3; line++)
      CHECK(spliced(s, &k, 2, (const struct sample *[]){a, a}, (int[]){0, line + 1},
                    (int[]){line, n}) == -ERROR_CORRUPT ||
            line == 0);
    CHECK(spliced(s, &k, 1, (const struct sample *[]){a}, (int[]){1}, (int[]){n}) ==
          -ERROR_CORRUPT);
  }
  TEST("two swapped lines are refused") {
    for (int line = 0; line + 2 < n; line++)
      CHECK(spliced(s, &k, 4, (const struct sample *[]){a, a, a, a},
                    (int[]){0, line + 1, line, line + 2},
                    (int[]){line, line + 2, line + 1, n}) == -ERROR_CORRUPT ||
            line == 0);
  }
  TEST("a repeated line is refused") {
    for (int line = 1; line < n; line++)
      CHECK(spliced(s, &k, 2, (const struct sample *[]){a, a}, (int[]){0, line - 1},
                    (int[]){line, n}) == -ERROR_CORRUPT ||
            line == 1);
  }
  TEST("lines of another run are refused, also at the end") {
    for (int line = 1; line < n; line++)
      CHECK(spliced(s, &k, 2, (const struct sample *[]){a, b}, (int[]){0, line},
                    (int[]){line, n}) == -ERROR_CORRUPT);
  }
}

static void test_strangers(struct scratch *s, const struct sample *a, const struct sample *b) {
  struct kit k;
  int n = a->lines;
  TEST("a segment of another run is refused") {
    plant(s, a->bytes, a->length);
    attempt(s, &k); /* makes segment 2 */
    size_t length;
    char *own = scratch_read(s, "run/journal/00000002.sj", &length);
    plant(s, b->bytes, b->length);
    scratch_write(s, "run/journal/00000002.sj", own, length);
    CHECK(attempt(s, &k) == -ERROR_CORRUPT);
    free(own);
  }
  TEST("a newer format is refused as newer, not as corrupt") {
    char bytes[512], payload[] = "{\"t\":\"journal\",\"format\":2,\"run\":\"r1\",\"more\":[]}";
    struct journal_line line = {.mark = JOURNAL_LAST, .payload = {payload, sizeof payload - 1}};
    plant(s, bytes, journal_line_write(bytes, &line));
    CHECK(attempt(s, &k) == -ERROR_NEWER);
    CHECK(strstr(k.error.text, "format 2") && strstr(k.error.text, "newer"));
  }
  TEST("a record of the store's own type that it does not know is refused") {
    char bytes[16384], payload[] = "{\"t\":\"journal\",\"other\":1}";
    uint32_t crc = (uint32_t)strtoul(a->bytes + a->ends[n - 2] + 3, NULL, 16);
    struct journal_line line = {
        .seq = (uint64_t)n, .batch = 7, .mark = JOURNAL_LAST, .previous = crc};
    line.payload = (struct span){payload, sizeof payload - 1};
    memcpy(bytes, a->bytes, a->length);
    size_t size = journal_line_write(bytes + a->length, &line);
    plant(s, bytes, a->length + size);
    CHECK(attempt(s, &k) == -ERROR_CORRUPT);
  }
}

int main(void) {
  struct scratch s;
  struct sample a, b;
  scratch_make(&s);
  TEST("the samples can be made") {
    sample_make(&s, &a, "r1", 6);
    sample_make(&s, &b, "r2", 6);
    CHECK(a.lines == 13 && a.lines == b.lines);
  }
  test_torn(&s, &a);
  test_torn_end(&s, &a);
  test_flips(&s, &a);
  test_salvage(&s, &a);
  test_flipped_segments(&s);
  test_splices(&s, &a, &b);
  test_strangers(&s, &a, &b);
  free(a.bytes);
  free(b.bytes);
  scratch_remove(&s);
  return check_finish();
}
