/* test_postgres_suite.c: the suite for every store, on PostgreSQL; and the same random operations
 * on a directory and on PostgreSQL beside each other, which must answer alike. */
#include "support/postgres.h"
#include "support/store_suite.h"

enum { SEEDS = 4, PAIRS = 3, OPERATIONS = 80 };

static void test_suite(struct scratch *s, const struct server *server) {
  TEST("PostgreSQL keeps what every store promises") {
    for (uint32_t i = 0; i < SEEDS; i++) {
      char name[32], batches[512], inbox[512];
      snprintf(name, sizeof name, "batches-%u", i);
      strcpy(batches, server_run(server, name));
      snprintf(name, sizeof name, "inbox-%u", i);
      strcpy(inbox, server_run(server, name));
      struct subject one = {"PostgreSQL", batches, server->database, true};
      struct subject other = {"PostgreSQL", inbox, server->database, true};
      suite_batches(s, &one, 1 + i * 7919);
      suite_inbox(s, &other, 2 + i * 7919);
    }
  }
}

/* ---- beside each other ---- */

struct pair {
  struct kit kits[2];
  const char *urls[2], *places[2];
  int count; /* payloads */
  char values[16];
};

/* What an operation came to, in words that are the same for both. */
static void same(const char *operation, bool one, bool other, const struct pair *p) {
  bool alike = one == other && (one || p->kits[0].error.code == p->kits[1].error.code);
  if (!alike)
    printf("# %s: %d %s, %d %s\n", operation, one, p->kits[0].error.text, other,
           p->kits[1].error.text);
  CHECK(alike);
}

static void open_both(struct pair *p, enum store_open mode) {
  bool good[2];
  for (int i = 0; i < 2; i++) {
    struct kit *k = &p->kits[i];
    kit_close(k);
    k->options.mode = mode;
    error_clear(&k->error);
    good[i] = store_open(k->sys, p->urls[i], &k->options, &k->store, &k->report, &k->error);
  }
  same("open", good[0], good[1], p);
  if (good[0] && good[1]) {
    CHECK(p->kits[0].report.records == p->kits[1].report.records);
    CHECK(p->kits[0].report.unclean == p->kits[1].report.unclean);
    CHECK_STR(p->kits[1].report.run_id, p->kits[0].report.run_id);
  }
}

static void append_both(struct pair *p) {
  static const char *const statuses[] = {"", "paused", "failed"};
  int count = (int)draw(5), bad = (int)draw(20);
  const char *status = statuses[draw(3)];
  int64_t due = draw(2) ? 7000 : 0;
  bool good[2];
  for (int i = 0; i < 2; i++) {
    struct kit *k = &p->kits[i];
    struct batch batch;
    char text[64];
    batch_init(&batch, k->sys);
    for (int n = 0; n < count; n++) {
      snprintf(text, sizeof text, bad == n ? "{\n%d}" : "{\"n\":%d}", p->count + n);
      CHECK(batch_add(&batch, text, strlen(text), NULL));
    }
    snprintf(batch.header.status, sizeof batch.header.status, "%s", status);
    batch.header.due = due;
    snprintf(batch.header.about, sizeof batch.header.about, "{\"n\":%d}", p->count);
    error_clear(&k->error);
    good[i] =
        k->store && k->store->ops->append(k->store, &batch, APPEND_WHOLE, &k->error) && kit_sync(k);
    batch_clear(&batch);
  }
  same("append", good[0], good[1], p);
  if (good[0]) p->count += count;
}

static void read_both(struct pair *p) {
  for (int i = 0; i < 2; i++)
    if (p->kits[i].store) CHECK(kit_count(&p->kits[i]) == p->count);
}

static void blob_both(struct pair *p) {
  char text[32], digest[65];
  bool good[2];
  struct buffer got[2];
  int length = snprintf(text, sizeof text, "%s%u", p->values, draw(20));
  sha256_hex(text, (size_t)length, digest);
  bool puts = draw(2), lies = puts && draw(8) == 0; /* the value is not the digest's */
  struct span value = {text, (size_t)length - lies};
  for (int i = 0; i < 2; i++) {
    struct kit *k = &p->kits[i];
    buffer_init(&got[i], k->sys, 100);
    error_clear(&k->error);
    good[i] = k->store && (puts ? kit_blob(k, digest, value)
                                : k->store->ops->blob_get(k->store, digest, &got[i], &k->error));
  }
  same("blob", good[0], good[1], p);
  CHECK(!(lies && (good[0] || good[1])));
  CHECK(got[0].length == got[1].length);
  for (int i = 0; i < 2; i++)
    buffer_clear(&got[i]);
}

static void list_both(struct pair *p) {
  struct listed found[2];
  bool is_held[2];
  for (int i = 0; i < 2; i++) {
    struct place place = {p->urls[i], p->places[i]};
    char line[STORE_HOLDER];
    found[i] = list(&place);
    CHECK(store_exists(sys_real(), p->urls[i]));
    is_held[i] = store_holder(sys_real(), p->urls[i], line);
    CHECK(is_held[i] || !found[i].run.is_held);
  }
  CHECK(found[0].count == 1 && found[1].count == 1);
  CHECK(is_held[0] == is_held[1]);
  if (is_held[0]) return; /* its header is listed from the close on, or earlier */
  CHECK_STR(found[1].run.header.status, found[0].run.header.status);
  CHECK(found[0].run.header.due == found[1].run.header.due);
  CHECK_STR(found[1].run.header.about, found[0].run.header.about);
}

static void operate(struct pair *p) {
  switch (draw(8)) {
  case 0:
    open_both(p, STORE_RESUME);
    break;
  case 1:
    open_both(p, STORE_CREATE);
    if (!p->kits[0].store) open_both(p, STORE_RESUME);
    break;
  case 2:
    open_both(p, STORE_READ);
    read_both(p);
    append_both(p);
    open_both(p, STORE_RESUME);
    break;
  case 3:
    blob_both(p);
    break;
  case 4:
    read_both(p);
    list_both(p);
    break;
  case 5:
    kit_close(&p->kits[0]);
    kit_close(&p->kits[1]);
    list_both(p);
    open_both(p, STORE_RESUME);
    break;
  default:
    append_both(p);
  }
}

static void test_beside(struct scratch *s, const struct server *server) {
  TEST("a directory and PostgreSQL answer the same operations alike") {
    for (uint32_t i = 0; i < PAIRS; i++) {
      struct pair p = {.count = 0};
      char name[32], url[512];
      seed = 20261128 + i;
      scratch_empty(s);
      snprintf(name, sizeof name, "beside-%u", i);
      snprintf(p.values, sizeof p.values, "value %u.", i); /* a database shares them among runs */
      strcpy(url, server_run(server, name));
      kit_init(&p.kits[0], s);
      kit_init(&p.kits[1], s);
      p.urls[0] = p.kits[0].path;
      p.places[0] = s->path;
      p.urls[1] = url;
      p.places[1] = server->database;
      open_both(&p, STORE_CREATE);
      append_both(&p);
      while (p.count == 0)
        append_both(&p);
      for (int n = 0; n < OPERATIONS; n++)
        operate(&p);
      read_both(&p);
      kit_close(&p.kits[0]);
      kit_close(&p.kits[1]);
    }
  }
}

/* ---- moves ---- */

static void test_move(struct scratch *s, const struct server *server) {
  TEST("a run moves to a database and back; a damaged one stays where it is") {
    struct kit k;
    struct error e = {0};
    char url[512], back[PATH_MAX];
    size_t length;
    scratch_empty(s);
    kit_init(&k, s);
    CHECK(kit_open(&k, STORE_CREATE) && kit_put(&k, 0, 3) && kit_put(&k, 3, 2));
    kit_close(&k);
    strcpy(url, server_run(server, "moves"));
    snprintf(back, sizeof back, "%.4000s/back", s->path);
    char *bytes = scratch_read(s, "run/journal/00000001.sj", &length);
    CHECK(store_move(k.sys, k.path, url, url, NULL, 0, &e));
    CHECK(!store_exists(k.sys, k.path) && store_exists(k.sys, url));
    CHECK(store_move(k.sys, url, back, back, NULL, 0, &e));
    CHECK(store_exists(k.sys, back) && !store_exists(k.sys, url));
    size_t again;
    char *moved = scratch_read(s, "back/journal/00000001.sj", &again);
    CHECK(bytes && moved && length == again && memcmp(bytes, moved, length) == 0);
    moved[length / 2] ^= 1;
    scratch_write(s, "back/journal/00000001.sj", moved, length);
    CHECK(!store_move(k.sys, back, url, url, NULL, 0, &e) && e.code == ERROR_CORRUPT);
    CHECK(store_exists(k.sys, back) && !store_exists(k.sys, url));
    scratch_write(s, "back/journal/00000001.sj", bytes, length);
    error_clear(&e);
    CHECK(store_move(k.sys, back, url, url, NULL, 0, &e) && store_exists(k.sys, url));
    free(bytes);
    free(moved);
  }
}

int main(void) {
  struct scratch s;
  struct server server;
  if (!server_start(&server, "")) return server_none();
  scratch_make(&s);
  test_suite(&s, &server);
  test_beside(&s, &server);
  test_move(&s, &server);
  scratch_remove(&s);
  server_stop(&server);
  return check_finish();
}
