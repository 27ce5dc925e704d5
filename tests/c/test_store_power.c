/* test_store_power.c: the power fails at every call to the disk, and of what was not synced any
 * part is left: any sectors, any names, any length. 100,000 of such states are looked at each time
 * (20,000 under ASan), or SKILLRT_POWER_STATES. The disk is one in memory (support/ram_disk.h).
 *
 * The run holds all that was promised: records whose sync had returned, blobs and files of steps
 * that were kept before. It is resumed, also by a process that is killed at it. */
#include <errno.h>
#include <stdlib.h>

#include "base/below.h"
#include "support/ram_disk.h"
#include "support/store_kit.h"

enum { BATCHES = 10, STATES = 100000, SLOW_STATES = 20000 };

struct promises {
  bool created;
  int appended, records, blobs, files; /* handed to append; the rest was promised */
};

struct tally {
  long states, lost, refused, left_open;
};

static struct span value_of(int i, char text[64], char digest[65]) {
  int length = snprintf(text, 64, "the large value number %d", i);
  sha256_hex(text, (size_t)length, digest);
  return (struct span){text, (size_t)length};
}

static const char *file_of(int i, char name[64]) {
  snprintf(name, 64, i % 2 ? "out/deep/%d.md" : "out-%d.md", i);
  return name;
}

static bool step(struct kit *k, struct promises *p, int i) {
  char text[64], digest[65], name[64], state[512];
  struct span value = value_of(i, text, digest);
  if (!kit_blob(k, digest, value)) return false;
  p->blobs = i + 1;
  if (!below_replace(k->sys, k->path, file_of(i, name), value, 0600, true, &k->error)) return false;
  p->files = i + 1;
  int size = 1 + i % 12;
  p->appended += size;
  if (!kit_append(k, p->appended - size, size, APPEND_WHOLE) || !kit_sync(k)) return false;
  p->records = p->appended;
  kit_state(state, (unsigned long)k->store->ops->seq(k->store), "x");
  return i % 3 != 1 || (kit_view(k, "context/a.json", "{}\n") && kit_view(k, "state.json", state));
}

static void tell(struct kit *k, struct promises *p) {
  *p = (struct promises){0};
  k->options.segment_bytes = 900;
  if (!kit_open(k, STORE_CREATE)) return;
  p->created = true;
  for (int i = 0; i < BATCHES; i++) {
    if (!step(k, p, i)) return;
    if (i == BATCHES / 2) {
      kit_close(k);
      if (!kit_open(k, STORE_RESUME)) return;
    }
  }
}

/* Blobs and files that were promised are there, whole. */
static bool kept(struct kit *k, const struct promises *p) {
  struct buffer found;
  char text[64], digest[65], name[64];
  bool good = true;
  buffer_init(&found, k->sys, 1000);
  for (int i = 0; i < p->blobs && good; i++) {
    value_of(i, text, digest);
    good = k->store->ops->blob_get(k->store, digest, &found, &k->error);
    buffer_reset(&found);
  }
  for (int i = 0; i < p->files && good; i++) {
    value_of(i, text, digest);
    good = below_read(k->sys, k->path, file_of(i, name), &found, &k->error) &&
           strcmp(found.data, text) == 0;
    buffer_reset(&found);
  }
  buffer_clear(&found);
  return good;
}

/* Opens what the cut left and goes on with it. */
static bool survives(struct kit *k, const struct promises *p, struct tally *tally) {
  tally->states++;
  if (!kit_open(k, STORE_RESUME)) {
    if (!p->created && k->error.code == ERROR_MISSING) return true; /* nobody was told of it */
    tally->refused++;
    return false;
  }
  int count = kit_count(k);
  bool good = count >= p->records && count <= p->appended && kept(k, p) && kit_put(k, count, 2) &&
              kit_count(k) == count + 2;
  kit_close(k);
  if (good) good = kit_open(k, STORE_RESUME) && !k->report.unclean && kit_count(k) == count + 2;
  kit_close(k);
  tally->lost += !good;
  return good;
}

static int boot_after(const struct sys *sys, char to[SYS_BOOT]) {
  (void)sys;
  return snprintf(to, SYS_BOOT, "boot-1") < 0 ? -EIO : 0;
}

/* The repair is killed at its n-th call, then made anew in the same boot. */
static void repair(struct kit *k, uint64_t n) {
  struct faulty *f = faulty_new(k->sys);
  const struct sys *world = k->sys;
  struct sys dying = *faulty_sys(f);
  dying.boot = boot_after; /* as ram_disk.c names it */
  k->sys = &dying;
  faulty_kill(f, FAULTY_DISK, n, true);
  if (kit_open(k, STORE_RESUME)) kit_close(k);
  k->sys = world;
  faulty_free(f);
}

static void kit_on(struct kit *k, const struct sys *sys) {
  *k = (struct kit){.sys = sys};
  k->options.run_id = "r1";
  snprintf(k->path, sizeof k->path, "/run");
}

static void look(const struct ram_disk *cut, const struct promises *p, uint64_t seed,
                 struct tally *tally) {
  struct ram_disk *disk = ram_disk_cut(cut, seed);
  struct kit k;
  kit_on(&k, ram_disk_sys(disk));
  if (seed % 4 == 0) repair(&k, seed / 4 % 24 + 1);
  if (!survives(&k, p, tally) && tally->lost + tally->refused < 4)
    printf("# seed %lu: %d to %d records, %d blobs, %d files promised: %s\n", (unsigned long)seed,
           p->records, p->appended, p->blobs, p->files, k.error.text);
  if (ram_disk_open_files(disk) > 0) tally->left_open++;
  ram_disk_free(disk);
}

/* One story for each point, cut in many ways; whether that point was reached. */
static bool cut_at(uint64_t n, long ways, struct tally *tally) {
  struct ram_disk *disk = ram_disk_new();
  struct faulty *f = faulty_new(ram_disk_sys(disk));
  struct kit k;
  struct promises p;
  kit_on(&k, faulty_sys(f));
  faulty_kill(f, FAULTY_DISK, n, n % 2);
  tell(&k, &p);
  kit_close(&k);
  bool killed = faulty_killed(f);
  for (long way = 0; way < ways; way++)
    look(disk, &p, n * 100000 + (uint64_t)way, tally);
  faulty_free(f);
  ram_disk_free(disk);
  return killed;
}

static void test_settled(void) {
  TEST("a blob that a process left which did not care is durable when it is put again") {
    struct ram_disk *disk = ram_disk_new(), *left;
    struct kit k;
    char text[64], digest[65];
    struct span value = value_of(1, text, digest);
    struct buffer found;
    kit_on(&k, ram_disk_sys(disk));
    k.options.durability = DURABILITY_PROCESS;
    CHECK(kit_open(&k, STORE_CREATE) && kit_put(&k, 0, 1));
    CHECK(kit_blob(&k, digest, value));
    kit_close(&k);
    k.options.durability = DURABILITY_POWER;
    CHECK(kit_open(&k, STORE_RESUME));
    CHECK(kit_blob(&k, digest, value) && kit_put(&k, 1, 1));
    left = ram_disk_cut_strict(disk);
    kit_close(&k);
    kit_on(&k, ram_disk_sys(left));
    buffer_init(&found, k.sys, 100);
    CHECK(kit_open(&k, STORE_RESUME) && kit_count(&k) == 2);
    CHECK(k.store->ops->blob_get(k.store, digest, &found, &k.error));
    buffer_clear(&found);
    kit_close(&k);
    ram_disk_free(left);
    ram_disk_free(disk);
  }
}

static long states_wanted(void) {
  const char *asked = getenv("SKILLRT_POWER_STATES");
  if (asked) return atol(asked);
  const char *mode = getenv("SKILLRT_MODE");
  return mode && strcmp(mode, "asan") == 0 ? SLOW_STATES : STATES;
}

int main(void) {
  struct tally tally = {0};
  long states = states_wanted(), points = 0;
  TEST("whatever a power cut leaves of what was not synced, all that was promised is there (F41)") {
    while (cut_at((uint64_t)points + 1, 0, &tally))
      points++;
    for (long n = 1; n <= points + 1; n++)
      cut_at((uint64_t)n, states / points + 1, &tally);
    CHECK(points > 150 && tally.states >= states);
    CHECK(tally.lost == 0 && tally.refused == 0 && tally.left_open == 0);
  }
  test_settled();
  printf("%ld states, %ld lost, %ld refused\n", tally.states, tally.lost, tally.refused);
  return check_finish();
}
