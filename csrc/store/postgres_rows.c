/* postgres_rows.c: reads and checks the rows of a journal, each a batch of lines.
 *
 * The same checks as in a directory: every line's form, checksum and number, and the chain from one
 * to the next. Changes nothing. Called by postgres.c and postgres_move.c. */
#include "store/postgres.h"

#include <inttypes.h>
#include <string.h>

enum { PORTION = 256, BACK = 8, BACK_MOST = 512 };

#define RESTORE "nothing was changed; put the table skillrt.journal back from a backup"

/* A row as it was read. */
struct row {
  struct bundle bundle;
  uint64_t first;    /* the number of its first line */
  uint32_t previous; /* the crc of the line before it */
  uint32_t crc;
  uint64_t payload, newest; /* 0: none */
  uint64_t records;         /* of its own */
  bool closed;
  struct header header;
};

static bool corrupt(const struct link *l, const struct row *row, uint64_t record, const char *why,
                    struct error *e) {
  return error_set(e, ERROR_CORRUPT, "%s: batch %" PRIu32 ", record %" PRIu64 ": %s; " RESTORE,
                   l->url->whole, row->bundle.batch, record, why);
}

/* The columns batch, segment, seq, records, lines. */
static void take_row(const PGresult *result, int at, struct row *to) {
  *to = (struct row){.bundle = {.batch = (uint32_t)cell_number(result, at, 0),
                                .segment = (uint32_t)cell_number(result, at, 1),
                                .seq = (uint64_t)cell_number(result, at, 2),
                                .records = (uint64_t)cell_number(result, at, 3),
                                .lines = cell_bytes(result, at, 4)}};
}

static bool ends_so(struct span payload, struct span ending) {
  return ending.length > 0 && payload.length >= ending.length &&
         memcmp(payload.data + payload.length - ending.length, ending.data, ending.length) == 0;
}

/* A record of the store is alone in its batch. */
static const char *own_problem(struct row *row, const struct journal_line *line, char *run_id) {
  if (line->seq != row->first || line->mark != JOURNAL_LAST) return "not a batch of its own";
  row->closed = journal_closed(line->payload, &row->header);
  if (row->closed) return NULL;
  return journal_segment_check(line->payload, run_id, row->bundle.segment, line->previous) ==
                 JOURNAL_HEADER_GOOD
             ? NULL
             : "not a record that the journal itself writes here";
}

static const char *line_problem(struct row *row, const struct journal_line *line, uint64_t seq,
                                bool is_first, bool is_last, char *run_id) {
  if (is_first) {
    row->first = line->seq;
    row->previous = line->previous;
  } else if (line->seq != seq + 1 || line->previous != row->crc) {
    return "valid, but not written behind the record before it";
  }
  if (line->batch != row->bundle.batch || (line->mark == JOURNAL_LAST) != is_last)
    return "valid, but of another batch";
  if (journal_own(line->payload)) return own_problem(row, line, run_id);
  row->payload = line->seq;
  row->records++;
  return NULL;
}

/* Reads the lines of a row and fills in what they say. */
static bool check_row(const struct link *l, struct row *row, char *run_id, struct span ending,
                      struct error *e) {
  struct span rest = row->bundle.lines;
  struct journal_line line;
  uint64_t seq = 0;
  size_t size;
  if (rest.length == 0) return corrupt(l, row, row->bundle.seq, "no record", e);
  for (bool is_first = true; rest.length > 0; is_first = false) {
    if (journal_line_read(rest.data, rest.length, &line, &size) != JOURNAL_WHOLE)
      return corrupt(l, row, is_first ? row->bundle.seq : seq + 1, "no valid record", e);
    const char *why = line_problem(row, &line, seq, is_first, size == rest.length, run_id);
    if (why) return corrupt(l, row, line.seq, why, e);
    if (ends_so(line.payload, ending)) row->newest = line.seq;
    seq = line.seq;
    row->crc = line.crc;
    rest = (struct span){rest.data + size, rest.length - size};
  }
  return seq == row->bundle.seq || corrupt(l, row, seq, "its row says another number", e);
}

/* Whether a checked row is the successor of another. */
static bool check_chain(const struct link *l, const struct row *before, const struct row *row,
                        struct error *e) {
  if (row->bundle.batch != before->bundle.batch + 1)
    return corrupt(l, row, row->first, "a batch before it is missing", e);
  if (row->previous != before->crc || row->first != before->bundle.seq + 1)
    return corrupt(l, row, row->first, "valid, but not written behind the record before it", e);
  return row->bundle.records == before->bundle.records + row->records ||
         corrupt(l, row, row->first, "its row says another number of records", e);
}

static bool check_begin(const struct link *l, const struct row *row, struct error *e) {
  return (row->first == 0 && row->previous == 0) ||
         corrupt(l, row, row->first, "not the beginning of a journal", e);
}

/* ---- the end ---- */

static const char backwards[] = "select batch, segment, seq, records, lines from skillrt.journal"
                                " where run = $1 and batch < $2 order by batch desc limit $3";

#define HERE                                                                                       \
  "($3::int = 0 or exists (select 1 from skillrt.run where run = $1 and status <> 'moved'))"

/* The first row, which says which run it is, and those of the end, the last one first. */
static const char both_ends[] =
    "select batch, segment, seq, records, lines from skillrt.journal where run = $1 and batch = 0"
    " and " HERE " union all (select batch, segment, seq, records, lines from skillrt.journal"
    " where run = $1 and " HERE " order by batch desc limit $2)";

struct backward {
  struct rows_look *look;
  struct rows_end *end;
  struct row later; /* the one read before, without its lines */
  bool begun, done;
};

static void take_end(struct backward *b, const struct row *row) {
  struct rows_end *end = b->end;
  if (!b->begun)
    *end = (struct rows_end){
        .chain = {.seq = row->bundle.seq, .batch = row->bundle.batch, .crc = row->crc},
        .segment = row->bundle.segment,
        .records = row->bundle.records,
        .closed = row->closed,
        .header = row->header};
  if (end->payload == 0) end->payload = row->payload;
  if (b->look->newest == 0) b->look->newest = row->newest;
  b->later = *row;
  b->begun = true;
  bool found = b->look->ending.length == 0 || b->look->newest > 0;
  b->done = row->bundle.batch == 0 || (end->payload > 0 && found && b->look->run_id[0]);
}

static bool go_back(struct link *l, struct backward *b, const PGresult *result, int from,
                    struct error *e) {
  for (int i = from; i < PQntuples(result) && !b->done; i++) {
    struct row row;
    take_row(result, i, &row);
    if (!check_row(l, &row, b->look->run_id, b->look->ending, e)) return false;
    if (b->begun && !check_chain(l, &row, &b->later, e)) return false;
    if (row.bundle.batch == 0 && !check_begin(l, &row, e)) return false;
    take_end(b, &row);
  }
  return true;
}

static bool check_first(struct link *l, const PGresult *result, struct rows_look *look,
                        struct error *e) {
  struct row row;
  if (PQntuples(result) == 0)
    return error_set(e, ERROR_MISSING, "%s: contains no run", l->url->whole);
  take_row(result, 0, &row);
  if (row.bundle.batch != 0)
    return error_set(e, ERROR_CORRUPT, "%s: its first batch is missing; " RESTORE, l->url->whole);
  return check_row(l, &row, look->run_id, (struct span){"", 0}, e) && check_begin(l, &row, e);
}

static PGresult *copy_of(const struct link *l, const PGresult *result, struct error *e) {
  PGresult *copy = PQcopyResult(result, PG_COPYRES_TUPLES);
  if (!copy) error_set(e, ERROR_MEMORY, "%s: out of memory", l->url->whole);
  return copy;
}

static PGresult *read_both_ends(struct link *l, const char *run, const struct rows_look *look,
                                struct error *e) {
  struct value values[] = {TEXT(run), NUMBER(BACK), NUMBER(look->present)};
  struct claim *claim = look->claim;
  if (claim && claim->rows) return copy_of(l, claim->rows, e);
  PGresult *result = link_ask(l, both_ends, 3, values, e);
  if (!claim || !result) return result;
  claim->rows = result;
  claim->link = l;
  claim->opened = l->opened;
  return copy_of(l, result, e);
}

bool rows_end(struct link *l, const char *run, struct rows_look *look, struct rows_end *end,
              struct error *e) {
  struct backward b = {.look = look, .end = end};
  *end = (struct rows_end){.segment = 0};
  look->newest = 0;
  PQclear(look->all);
  look->all = NULL;
  PGresult *result = read_both_ends(l, run, look, e);
  bool good = result && check_first(l, result, look, e) && go_back(l, &b, result, 1, e);
  for (int64_t limit = BACK * 4; good && !b.done; limit = limit < BACK_MOST ? limit * 4 : limit) {
    struct value values[] = {TEXT(run), NUMBER(b.later.bundle.batch), NUMBER(limit)};
    PQclear(result);
    result = link_ask(l, backwards, 3, values, e);
    good = result && go_back(l, &b, result, 0, e);
    if (good && PQntuples(result) == 0)
      good = error_set(e, ERROR_CORRUPT, "%s: batches of its journal are missing; " RESTORE,
                       l->url->whole);
  }
  int last = good ? PQntuples(result) - 1 : 0; /* of both_ends, the first row stands there, too */
  if (look->keeps && last > 0 && cell_number(result, 0, 0) == 0 &&
      cell_number(result, last, 0) == 0)
    look->all = result;
  else
    PQclear(result);
  return good;
}

/* ---- from a record on ---- */

/* Finds the batch of a record by bisection: a record's number is at least that of its batch. */
static bool find_batch(struct link *l, const char *run, const struct rows_end *end, uint64_t seq,
                       uint32_t *batch, struct error *e) {
  uint32_t low = 0, high = seq < end->chain.batch ? (uint32_t)seq : end->chain.batch;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    struct value values[] = {TEXT(run), NUMBER(middle)};
    PGresult *result =
        link_ask(l, "select seq from skillrt.journal where run = $1 and batch = $2", 2, values, e);
    if (!result) return false;
    bool there = PQntuples(result) == 1;
    bool before = there && (uint64_t)cell_number(result, 0, 0) < seq;
    PQclear(result);
    if (!there)
      return error_set(e, ERROR_CORRUPT, "%s: batch %" PRIu32 " is missing; " RESTORE,
                       l->url->whole, middle);
    if (before)
      low = middle + 1;
    else
      high = middle;
  }
  *batch = low;
  return true;
}

struct forward {
  uint64_t from;
  bool (*each)(void *, const struct record *, struct error *);
  void *data;
  struct receiver *to;
  struct row before;
  bool begun;
  char run_id[JOURNAL_RUN_ID + 1];
};

static bool tell_row(struct forward *f, const struct row *row, struct error *e) {
  struct span rest = row->bundle.lines;
  struct journal_line line;
  size_t size;
  if (f->to) return f->to->bundle(f->to, &row->bundle, e);
  for (; rest.length > 0; rest = (struct span){rest.data + size, rest.length - size}) {
    journal_line_read(rest.data, rest.length, &line, &size);
    struct record record = {.seq = line.seq, .batch = line.batch, .payload = line.payload};
    if (line.seq < f->from || journal_own(line.payload)) continue;
    if (!f->each(f->data, &record, e)) return false;
  }
  return true;
}

static bool go_on(const struct link *l, struct forward *f, const PGresult *result, int at,
                  struct error *e) {
  struct row row;
  take_row(result, at, &row);
  if (!check_row(l, &row, f->run_id, (struct span){"", 0}, e)) return false;
  if (f->begun ? !check_chain(l, &f->before, &row, e)
               : row.bundle.batch == 0 && !check_begin(l, &row, e))
    return false;
  f->before = row;
  f->begun = true;
  return tell_row(f, &row, e);
}

bool rows_give(const struct link *l, const PGresult *all, uint64_t from,
               bool (*each)(void *, const struct record *, struct error *), void *data,
               struct error *e) {
  struct forward f = {.from = from, .each = each, .data = data};
  for (int i = PQntuples(all) - 1; i > 0; i--)
    if (!go_on(l, &f, all, i, e)) return false;
  return true;
}

bool rows_read(struct link *l, const char *run, const struct rows_end *end, uint64_t from,
               bool (*each)(void *, const struct record *, struct error *), void *data,
               struct receiver *to, struct error *e) {
  struct forward f = {.from = from, .each = each, .data = data, .to = to};
  uint32_t batch = 0;
  if (from > end->chain.seq) return true;
  if (from > 0 && !find_batch(l, run, end, from, &batch, e)) return false;
  while (batch <= end->chain.batch) {
    struct value values[] = {TEXT(run), NUMBER(batch), NUMBER(end->chain.batch), NUMBER(PORTION)};
    PGresult *result = link_ask(l,
                                "select batch, segment, seq, records, lines from skillrt.journal"
                                " where run = $1 and batch >= $2 and batch <= $3"
                                " order by batch limit $4",
                                4, values, e);
    bool good = result != NULL;
    for (int i = 0; good && i < PQntuples(result); i++)
      good = go_on(l, &f, result, i, e);
    if (good && (PQntuples(result) == 0 || f.before.bundle.batch < batch))
      good = error_set(e, ERROR_CORRUPT, "%s: batch %" PRIu32 " is missing; " RESTORE,
                       l->url->whole, batch);
    PQclear(result);
    if (!good) return false;
    batch = f.before.bundle.batch + 1;
  }
  return true;
}

struct one {
  struct buffer *to;
  uint64_t seq;
  bool found;
};

static bool take_one(void *data, const struct record *record, struct error *e) {
  struct one *one = data;
  if (record->seq != one->seq) return error_set(e, ERROR_NONE, "enough");
  one->found = true;
  return buffer_append(one->to, record->payload.data, record->payload.length, e) &&
         error_set(e, ERROR_NONE, "enough");
}

bool rows_record(struct link *l, const char *run, const struct rows_end *end, uint64_t seq,
                 struct buffer *to, struct error *e) {
  struct one one = {.to = to, .seq = seq};
  struct rows_end until = *end;
  struct error why = {0};
  if (seq > end->chain.seq)
    return error_set(e, ERROR_MISSING,
                     "%s: record %" PRIu64 " is not there, %" PRIu64 " is the last", l->url->whole,
                     seq, end->chain.seq);
  if (!find_batch(l, run, end, seq, &until.chain.batch, e)) return false;
  if (!rows_read(l, run, &until, seq, take_one, &one, NULL, &why) && why.code != ERROR_NONE) {
    if (e) *e = why;
    return false;
  }
  return one.found || error_set(e, ERROR_MISSING, "%s: record %" PRIu64 " is the store's own",
                                l->url->whole, seq);
}
