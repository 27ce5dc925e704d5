/* postgres_move.c: moves a run out of PostgreSQL or into it, in one transaction.
 * Called by move.c through struct kind. */
#include "store/postgres.h"

#include <string.h>

#include "store/blob.h"

/* The status of a run that is being moved, or was, says so; `stood` is the one before while it is
 * being moved. */
bool postgres_leave(const struct sys *sys, const char *at, enum leaving leaving,
                    const struct departure *departure, struct error *e) {
  static const char *const statements[] = {
      "update skillrt.run set status = stood, stood = null, away_to = null"
      " where run = $1 and status = 'moved' and stood is not null",
      "update skillrt.run set status = 'moved', stood = status, away_to = $2"
      " where run = $1 and status <> 'moved' and owner is null",
      "update skillrt.run set stood = null where run = $1 and status = 'moved'"};
  struct url url;
  struct link l;
  if (!url_read(at, true, &url, e)) return false;
  struct value values[] = {TEXT(url.run), TEXT(departure ? departure->known_as : "")};
  link_init(&l, sys, &url);
  int rows = link_open(&l, e)
                 ? link_do(&l, statements[leaving], leaving == LEAVING_NOW ? 2 : 1, values, e)
                 : -1;
  link_close(&l);
  return rows == 1 ||
         (rows == 0 && error_set(e, ERROR_MISSING, "%s: contains no run that could move", at));
}

bool postgres_departed(const struct sys *sys, const char *at, struct departure *to,
                       struct error *e) {
  struct url url;
  struct link l;
  *to = (struct departure){.ended = false};
  if (!url_read(at, true, &url, e)) return false;
  link_init(&l, sys, &url);
  PGresult *result = link_open(&l, e)
                         ? link_ask(&l,
                                    "select id, coalesce(away_to, ''), stood is null"
                                    " from skillrt.run where run = $1 and status = 'moved'",
                                    1, (struct value[]){TEXT(url.run)}, e)
                         : NULL;
  if (result && PQntuples(result) == 1) {
    cell_text(result, 0, 0, to->run_id, sizeof to->run_id);
    cell_text(result, 0, 1, to->known_as, sizeof to->known_as);
    to->ended = cell_number(result, 0, 2);
  }
  bool good = result != NULL;
  PQclear(result);
  link_close(&l);
  return good;
}

bool postgres_send(const struct sys *sys, const char *at, struct receiver *to, struct error *e) {
  char run_id[JOURNAL_RUN_ID + 1] = "";
  struct rows_look look = {.run_id = run_id};
  struct rows_end end;
  struct url url;
  struct link l;
  if (!url_read(at, true, &url, e)) return false;
  link_init(&l, sys, &url);
  bool good = link_open(&l, e) && rows_end(&l, url.run, &look, &end, e) &&
              rows_read(&l, url.run, &end, 0, NULL, NULL, to, e);
  link_close(&l);
  return good;
}

/* ---- here ---- */

struct rows {
  struct receiver receiver; /* first: a receiver is cast to this */
  const struct sys *sys;
  struct url url;
  struct link link;
  struct header header; /* of the last batch, where that says "closed" */
};

/* Fills the columns that lists show. */
static void note_header(struct rows *r, struct span lines) {
  struct journal_line line;
  size_t size;
  r->header = (struct header){.due = 0};
  if (journal_line_read(lines.data, lines.length, &line, &size) == JOURNAL_WHOLE)
    journal_closed(line.payload, &r->header);
}

static bool take_bundle(struct receiver *receiver, const struct bundle *bundle, struct error *e) {
  struct rows *r = (struct rows *)receiver;
  struct value values[] = {TEXT(r->url.run),    NUMBER(bundle->batch),   NUMBER(bundle->segment),
                           NUMBER(bundle->seq), NUMBER(bundle->records), BYTES(bundle->lines)};
  note_header(r, bundle->lines);
  return link_do(&r->link,
                 "insert into skillrt.journal (run, batch, segment, seq, records, lines)"
                 " values ($1, $2, $3, $4, $5, $6)",
                 6, values, e) == 1;
}

static bool take_blob(struct receiver *receiver, const char *digest, struct span value,
                      struct error *e) {
  struct rows *r = (struct rows *)receiver;
  return blob_check(digest, value, e) && blob_keep(&r->link, digest, value, e);
}

static bool take_end(struct receiver *receiver, struct error *e) {
  struct rows *r = (struct rows *)receiver;
  bool stands = r->header.status[0] != '\0';
  struct value values[] = {TEXT(r->url.run), TEXT(stands ? r->header.status : "executing"),
                           NUMBER(r->header.due), TEXT(r->header.about)};
  return link_do(&r->link,
                 "update skillrt.run set status = $2, due = $3, about = $4 where run = $1", 4,
                 values, e) == 1 &&
         link_do(&r->link, "commit", 0, NULL, e) >= 0;
}

static void take_close(struct receiver *receiver) {
  struct rows *r = (struct rows *)receiver;
  link_close(&r->link); /* the database drops what was not committed */
  sys_free(r->sys, r, sizeof *r);
}

/* A run that was moved away from here and comes back replaces the rows that it left. Where it went
 * is forgotten before: it would be taken for a run that has arrived and gone on. */
static bool begin(struct rows *r, const char *run_id, struct error *e) {
  struct value values[] = {TEXT(r->url.run), TEXT(run_id)};
  if (!link_open(&r->link, e) ||
      link_do(&r->link,
              "update skillrt.run set away_to = null where run = $1 and id = $2"
              " and status = 'moved' and stood is null",
              2, values, e) < 0 ||
      link_do(&r->link, "begin", 0, NULL, e) < 0 ||
      link_do(&r->link,
              "with old as (delete from skillrt.run where run = $1 and id = $2"
              " and status = 'moved' and stood is null returning run)"
              " delete from skillrt.journal j using old where j.run = old.run",
              2, values, e) < 0)
    return false;
  int rows =
      link_do(&r->link, "insert into skillrt.run (run, id) values ($1, $2) on conflict do nothing",
              2, values, e);
  return rows == 1 ||
         (rows == 0 &&
          error_set(e, ERROR_EXISTS, "%s: holds a run already; choose another name", r->url.whole));
}

bool postgres_receive(const struct sys *sys, const char *at, const char *run_id,
                      struct receiver **to, struct error *e) {
  struct rows *r = sys_alloc(sys, sizeof *r);
  if (!r) return error_set(e, ERROR_MEMORY, "%.200s: out of memory", at);
  r->receiver = (struct receiver){take_bundle, take_blob, take_end, take_close};
  r->sys = sys;
  link_init(&r->link, sys, &r->url);
  if (url_read(at, true, &r->url, e) && begin(r, run_id, e)) {
    *to = &r->receiver;
    return true;
  }
  take_close(&r->receiver);
  return false;
}
