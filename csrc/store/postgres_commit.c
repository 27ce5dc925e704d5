/* postgres_commit.c: the connection to a database that all runs of this process share, and how
 * their batches are committed: all that are ready in one statement and one commit.
 *
 * No thread of its own: whoever waits for a batch first commits all that are there, and the others
 * wait for that. Meanwhile the next batches come. If the answer to a commit is lost, a look at the
 * key of each row decides: it is this batch, it is missing, or it is another process's. Called by
 * postgres.c and postgres_inbox.c. */
#include "store/postgres.h"

#include <arpa/inet.h>
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "store/blob.h"

enum { GROUP_MAX = 1024 };
enum { GROUP_BYTES = 64 << 20, ARRAYS_MAX = 512 << 20, SETTING = 8 };
enum { BLOBS = 16, SMALL_BLOB = 64 << 10 };

struct kept_blob {
  char digest[65]; /* "": none */
  struct buffer value;
};

struct commits {
  struct commits *next;
  size_t users;
  const struct sys *sys;
  struct url url;
  char setting[SETTING]; /* "": the server's own */
  struct link link;
  struct kept_blob blobs[BLOBS]; /* the last ones: many runs have the same files */
  size_t next_blob;
  struct buffer arrays;         /* the parameters of a statement */
  struct put *group[GROUP_MAX]; /* the batches of a statement */
  pthread_mutex_t mutex;        /* of the fields below */
  pthread_cond_t changed;
  unsigned depth; /* how many times over a thread uses the connection: what is read may need more */
  pthread_t user; /* which one */
  size_t asking;  /* how many wait for it, for other things than a commit */
  struct put *first, **last; /* batches that wait, in the order of their appends */
};

static pthread_mutex_t all_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct commits *all;

/* ---- the connection ---- */

static struct commits *make(const struct sys *sys, const struct url *url, const char *setting,
                            struct error *e) {
  struct commits *c = sys_alloc(sys, sizeof *c);
  if (!c) {
    error_set(e, ERROR_MEMORY, "%s: out of memory", url->whole);
    return NULL;
  }
  c->sys = sys;
  c->url = *url;
  url_drop_run(&c->url);
  strncpy(c->setting, setting, sizeof c->setting - 1);
  link_init(&c->link, sys, &c->url);
  c->link.commit = c->setting[0] ? c->setting : NULL;
  buffer_init(&c->arrays, sys, ARRAYS_MAX);
  for (size_t i = 0; i < BLOBS; i++)
    buffer_init(&c->blobs[i].value, sys, SMALL_BLOB);
  pthread_mutex_init(&c->mutex, NULL);
  pthread_cond_init(&c->changed, NULL);
  c->last = &c->first;
  return c;
}

bool commits_take(const struct sys *sys, const struct url *url, const char *setting,
                  struct commits **to, struct error *e) {
  pthread_mutex_lock(&all_mutex);
  struct commits *c = all;
  while (c && (strcmp(c->url.database, url->database) != 0 || strcmp(c->setting, setting) != 0))
    c = c->next;
  if (!c && (c = make(sys, url, setting, e))) {
    c->next = all;
    all = c;
  }
  if (c) c->users++;
  pthread_mutex_unlock(&all_mutex);
  *to = c;
  return c != NULL;
}

void commits_release(struct commits *c) {
  if (!c) return;
  pthread_mutex_lock(&all_mutex);
  bool last = --c->users == 0;
  struct commits **at = &all;
  while (last && *at != c)
    at = &(*at)->next;
  if (last) *at = c->next;
  pthread_mutex_unlock(&all_mutex);
  if (!last) return;
  link_close(&c->link);
  for (size_t i = 0; i < BLOBS; i++)
    buffer_clear(&c->blobs[i].value);
  buffer_clear(&c->arrays);
  pthread_cond_destroy(&c->changed);
  pthread_mutex_destroy(&c->mutex);
  sys_free(c->sys, c, sizeof *c);
}

void commits_leave(struct commits *c) {
  pthread_mutex_lock(&c->mutex);
  if (--c->depth == 0) {
    c->link.url = &c->url;
    pthread_cond_broadcast(&c->changed);
  }
  pthread_mutex_unlock(&c->mutex);
}

struct link *commits_enter(struct commits *c, const struct url *url, struct error *e) {
  pthread_mutex_lock(&c->mutex);
  c->asking++;
  while (c->depth > 0 && !pthread_equal(c->user, pthread_self()))
    pthread_cond_wait(&c->changed, &c->mutex);
  c->asking--;
  c->user = pthread_self();
  c->depth++;
  pthread_mutex_unlock(&c->mutex);
  c->link.url = url;
  if (link_open(&c->link, e)) return &c->link;
  commits_leave(c);
  return NULL;
}

static const struct kept_blob *kept_blob(const struct commits *c, const char *digest) {
  for (size_t i = 0; i < BLOBS; i++)
    if (c->blobs[i].digest[0] && strcmp(c->blobs[i].digest, digest) == 0) return &c->blobs[i];
  return NULL;
}

static void keep_blob(struct commits *c, const char *digest, struct span value) {
  struct kept_blob *blob = &c->blobs[c->next_blob];
  if (value.length > SMALL_BLOB) return;
  buffer_reset(&blob->value);
  blob->digest[0] = '\0';
  if (!buffer_append(&blob->value, value.data, value.length, NULL)) return;
  snprintf(blob->digest, sizeof blob->digest, "%s", digest);
  c->next_blob = (c->next_blob + 1) % BLOBS;
}

bool commits_blob(struct commits *c, const struct url *url, const char *digest, struct buffer *to,
                  struct error *e) {
  size_t from = to->length;
  struct link *l = commits_enter(c, url, e);
  if (!l) return false;
  const struct kept_blob *blob = kept_blob(c, digest);
  bool good = blob ? buffer_append(to, blob->value.data, blob->value.length, e)
                   : blob_find(l, digest, to, e);
  if (good && !blob) keep_blob(c, digest, (struct span){to->data + from, to->length - from});
  commits_leave(c);
  return good;
}

/* False with `*again`: the connection was cut. */
static bool add_blob(struct commits *c, const struct url *url, const char *digest,
                     struct span value, bool *again, struct error *e) {
  struct link *l = commits_enter(c, url, e);
  bool good = l && blob_keep(l, digest, value, e);
  *again = l && !good && link_broken(l);
  if (l) commits_leave(c);
  return good;
}

bool commits_add_blobs(struct commits *c, const struct url *url, const struct batch *batch,
                       struct error *e) {
  int64_t until = link_until(c->sys);
  struct span value;
  char digest[65];
  bool again;
  for (size_t at = 0; batch_next_blob(batch, &at, digest, &value);) {
    if (!blob_check(digest, value, e)) return false;
    while (!add_blob(c, url, digest, value, &again, e))
      if (!again || c->sys->mono_ns(c->sys) > until) return false;
  }
  return true;
}

/* ---- one statement ---- */

#define PUT(more)                                                                                  \
  "insert into skillrt.journal (run, batch, segment, seq, records, lines)"                         \
  " select rows.* from " more "unnest($1::text[], $2::int[], $3::int[], $4::bigint[],"             \
  " $5::bigint[], $6::bytea[]) as rows on conflict do nothing returning run, batch"

static const char put_rows[] = PUT("");
static const char put_lazily[] = LAZILY PUT("quick, ");

/* One row: without arrays it takes the server less. */
static const char put_row[] =
    "insert into skillrt.journal (run, batch, segment, seq, records, lines)"
    " values ($1, $2, $3, $4, $5, $6) on conflict do nothing returning run, batch";

static void add_int(struct buffer *to, uint32_t value) {
  value = htonl(value);
  buffer_append(to, &value, sizeof value, NULL);
}

static void add_big(struct buffer *to, uint64_t value) {
  add_int(to, (uint32_t)(value >> 32));
  add_int(to, (uint32_t)value);
}

static void add_bytes(struct buffer *to, struct span bytes) {
  add_int(to, (uint32_t)bytes.length);
  buffer_append(to, bytes.data, bytes.length, NULL);
}

enum { COLUMNS = 6, ARRAY_HEAD = 20, ROW_HEAD = 48 };
enum { TEXT_TYPE = 25, INT_TYPE = 23, BIG_TYPE = 20, BYTES_TYPE = 17 };

static void add_cell(struct buffer *to, const struct put *put, int column) {
  switch (column) {
  case 0:
    add_bytes(to, (struct span){put->url->run, strlen(put->url->run)});
    break;
  case 1:
  case 2:
    add_int(to, 4);
    add_int(to, column == 1 ? put->batch : put->segment);
    break;
  case 3:
  case 4:
    add_int(to, 8);
    add_big(to, column == 3 ? put->seq : put->records);
    break;
  default:
    add_bytes(to, put->lines);
  }
}

/* The columns of a group as arrays, in the server's own form; false: out of memory. */
static bool write_arrays(struct commits *c, struct put **group, size_t count,
                         size_t ends[COLUMNS]) {
  static const uint32_t types[COLUMNS] = {TEXT_TYPE, INT_TYPE, INT_TYPE,
                                          BIG_TYPE,  BIG_TYPE, BYTES_TYPE};
  size_t size = COLUMNS * ARRAY_HEAD;
  for (size_t i = 0; i < count; i++)
    size += ROW_HEAD + JOURNAL_RUN_ID + group[i]->lines.length;
  buffer_reset(&c->arrays);
  if (!buffer_room(&c->arrays, size, NULL)) return false;
  for (int column = 0; column < COLUMNS; column++) {
    add_int(&c->arrays, 1); /* dimensions */
    add_int(&c->arrays, 0); /* no nulls */
    add_int(&c->arrays, types[column]);
    add_int(&c->arrays, (uint32_t)count);
    add_int(&c->arrays, 1); /* the first index */
    for (size_t i = 0; i < count; i++)
      add_cell(&c->arrays, group[i], column);
    ends[column] = c->arrays.length;
  }
  return true;
}

/* Those whose rows were added; the server names them in the order of the group. */
static void mark_added(struct put **group, size_t count, const PGresult *result) {
  int row = 0, rows = PQntuples(result);
  for (size_t i = 0; i < count && row < rows; i++)
    if (cell_number(result, row, 1) == group[i]->batch &&
        strcmp(PQgetvalue(result, row, 0), group[i]->url->run) == 0) {
      group[i]->outcome = OUTCOME_OURS;
      row++;
    }
}

static PGresult *send_row(struct commits *c, const struct put *put, struct error *e) {
  struct value values[COLUMNS] = {TEXT(put->url->run), NUMBER(put->batch),   NUMBER(put->segment),
                                  NUMBER(put->seq),    NUMBER(put->records), BYTES(put->lines)};
  return link_ask(&c->link, put_row, COLUMNS, values, e);
}

static PGresult *send_rows(struct commits *c, struct put **group, size_t count, bool is_lazy,
                           struct error *e) {
  size_t ends[COLUMNS], from = 0;
  struct value values[COLUMNS];
  if (!write_arrays(c, group, count, ends)) {
    error_set(e, ERROR_MEMORY, "%s: out of memory", c->url.whole);
    return NULL;
  }
  for (int i = 0; i < COLUMNS; from = ends[i++])
    values[i] = BYTES(((struct span){c->arrays.data + from, ends[i] - from}));
  return link_ask(&c->link, is_lazy ? put_lazily : put_rows, COLUMNS, values, e);
}

/* False: it was refused, or nobody knows. */
static bool send_group(struct commits *c, struct put **group, size_t count, struct error *e) {
  bool is_lazy = true;
  for (size_t i = 0; i < count; i++)
    is_lazy = is_lazy && group[i]->is_lazy;
  PGresult *result =
      count == 1 && !is_lazy ? send_row(c, group[0], e) : send_rows(c, group, count, is_lazy, e);
  if (result) mark_added(group, count, result);
  PQclear(result);
  return result != NULL;
}

/* ---- settling ---- */

/* The row of a batch; NULL: it is not known. */
static PGresult *ask_row(struct link *l, const char *run, uint32_t batch, struct error *e) {
  struct value values[] = {TEXT(run), NUMBER(batch)};
  return link_ask(l, "select segment, lines from skillrt.journal where run = $1 and batch = $2", 2,
                  values, e);
}

int commits_has(struct link *l, const char *run, uint32_t batch, uint32_t crc, struct error *e) {
  PGresult *result = ask_row(l, run, batch, e);
  if (!result) return -1;
  struct span rest = PQntuples(result) == 1 ? cell_bytes(result, 0, 1) : (struct span){"", 0};
  struct journal_line line = {.crc = ~crc};
  for (size_t size;
       rest.length > 0 && journal_line_read(rest.data, rest.length, &line, &size) == JOURNAL_WHOLE;)
    rest = (struct span){rest.data + size, rest.length - size};
  PQclear(result);
  return line.crc == crc;
}

/* Called where the batch's row is missing: is the batch before it still there? */
static enum outcome look_before_place(struct commits *c, const struct put *put, struct error *e) {
  if (put->batch == 0) return OUTCOME_NOBODYS;
  int there = commits_has(&c->link, put->url->run, put->batch - 1, put->before, e);
  return there < 0 ? OUTCOME_UNKNOWN : there ? OUTCOME_NOBODYS : OUTCOME_GONE;
}

/* Called where the batch may be written: such a standby may also lack that the run was begun, or
 * taken by this process. */
static enum outcome look_at_owner(struct commits *c, const struct put *put, struct error *e) {
  int rows = run_is_held(&c->link, put->url->run, put->owner, put->taking, e);
  return rows < 0 ? OUTCOME_UNKNOWN : rows == 1 ? OUTCOME_NOBODYS : OUTCOME_GONE;
}

/* Finds out which process wrote the row with the batch's key. */
static enum outcome look_at_place(struct commits *c, const struct put *put, struct error *e) {
  PGresult *result = ask_row(&c->link, put->url->run, put->batch, e);
  if (!result) return OUTCOME_UNKNOWN;
  enum outcome outcome = OUTCOME_NOBODYS;
  if (PQntuples(result) == 1) {
    struct span lines = cell_bytes(result, 0, 1);
    bool ours = cell_number(result, 0, 0) == put->segment && lines.length == put->lines.length &&
                memcmp(lines.data, put->lines.data, lines.length) == 0;
    outcome = ours ? OUTCOME_OURS : OUTCOME_ANOTHERS;
  }
  PQclear(result);
  if (outcome == OUTCOME_NOBODYS) outcome = look_before_place(c, put, e);
  return outcome == OUTCOME_NOBODYS ? look_at_owner(c, put, e) : outcome;
}

/* Looks at the places of those whose last batch another connection committed, or whose key is
 * taken: the server may have lost what was committed. Those that remain are to be sent (again). */
static void look_at_places(struct commits *c, struct put **group, size_t count, struct error *e) {
  for (size_t i = 0; i < count && !link_broken(&c->link); i++) {
    if (group[i]->connection == c->link.opened) continue;
    enum outcome outcome = look_at_place(c, group[i], e);
    if (outcome == OUTCOME_UNKNOWN && link_broken(&c->link)) return;
    group[i]->outcome = outcome;
    group[i]->connection = c->link.opened;
    if (outcome == OUTCOME_UNKNOWN) group[i]->why = *e;
  }
}

/* How many are left; they come first. */
static size_t unsettled(struct put **group, size_t count) {
  size_t left = 0;
  for (size_t i = 0; i < count; i++) {
    struct put *put = group[i];
    group[i] = group[left];
    group[left] = put;
    left += put->outcome == OUTCOME_NOBODYS;
  }
  return left;
}

static void give_up(struct put **group, size_t count, const struct error *why) {
  for (size_t i = 0; i < count; i++) {
    group[i]->outcome = OUTCOME_UNKNOWN;
    group[i]->why = *why;
  }
}

/* Tries until it is known of each batch whether it is committed. */
static void settle(struct commits *c, struct put **group, size_t count, int64_t until) {
  struct error why = {0};
  while (count > 0) {
    if (link_broken(&c->link) && !link_open_until(&c->link, until, &why))
      return give_up(group, count, &why);
    look_at_places(c, group, count, &why);
    count = unsettled(group, count);
    if (count == 0) return;
    bool sent = !link_broken(&c->link) && send_group(c, group, count, &why);
    if (!sent && !link_broken(&c->link)) { /* refused: one of them may be why */
      if (count == 1) give_up(group, count, &why);
      for (size_t i = 0; count > 1 && i < count; i++)
        settle(c, &group[i], 1, until);
      return;
    }
    count = unsettled(group, count);
    for (size_t i = 0; i < count; i++)
      group[i]->connection = 0;
    if (count > 0 && c->sys->mono_ns(c->sys) > until) return give_up(group, count, &why);
  }
}

/* ---- batches ---- */

void commits_put(struct commits *c, struct put *put) {
  assert(put->state == PUT_IDLE); /* a store syncs each batch before the next one */
  put->state = PUT_WAITS;
  put->outcome = OUTCOME_NOBODYS;
  put->next = NULL;
  error_clear(&put->why);
  pthread_mutex_lock(&c->mutex);
  *c->last = put;
  c->last = &put->next;
  pthread_mutex_unlock(&c->mutex);
}

/* Commits what waits; the caller holds the mutex, which is free meanwhile. */
static void commit(struct commits *c) {
  size_t count = 0, bytes = 0;
  for (; c->first && count < GROUP_MAX && bytes < GROUP_BYTES; c->first = c->first->next) {
    c->group[count++] = c->first;
    bytes += c->first->lines.length;
  }
  if (!c->first) c->last = &c->first;
  c->user = pthread_self();
  c->depth = 1;
  pthread_mutex_unlock(&c->mutex);
  settle(c, c->group, count, link_until(c->sys));
  pthread_mutex_lock(&c->mutex);
  for (size_t i = 0; i < count; i++)
    c->group[i]->state = PUT_SETTLED;
  c->depth = 0;
  pthread_cond_broadcast(&c->changed);
}

bool commits_wait(struct commits *c, struct put *put) {
  pthread_mutex_lock(&c->mutex);
  bool was_put = put->state != PUT_IDLE;
  while (put->state == PUT_WAITS)
    if (c->depth > 0 || c->asking)
      pthread_cond_wait(&c->changed, &c->mutex);
    else
      commit(c);
  put->state = PUT_IDLE;
  pthread_mutex_unlock(&c->mutex);
  return was_put;
}
