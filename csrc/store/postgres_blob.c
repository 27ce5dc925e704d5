/* postgres_blob.c: large values in a database: a row each, by digest. Called by postgres_commit.c
 * and postgres_move.c. */
#include "store/postgres.h"

#include <string.h>

#include "base/sha256.h"
#include "store/blob.h"

bool blob_keep(struct link *l, const char *digest, struct span value, struct error *e) {
  struct value values[] = {TEXT(digest), BYTES(value)};
  return link_do(l,
                 "insert into skillrt.blob (digest, value) values ($1, $2) on conflict do nothing",
                 2, values, e) >= 0;
}

bool blob_find(struct link *l, const char *digest, struct buffer *to, struct error *e) {
  char found[65];
  if (!blob_digest_valid(digest))
    return error_set(e, ERROR_INVALID, "blob \"%.80s\": a name is 64 lower-case hex digits",
                     digest);
  PGresult *result = link_ask(l, "select value from skillrt.blob where digest = $1", 1,
                              (struct value[]){TEXT(digest)}, e);
  if (!result) return false;
  bool there = PQntuples(result) == 1;
  struct span value = there ? cell_bytes(result, 0, 0) : (struct span){"", 0};
  sha256_hex(value.data, value.length, found);
  bool good = there && strcmp(found, digest) == 0;
  if (good)
    good = buffer_append(to, value.data, value.length, e);
  else
    error_set(e, ERROR_CORRUPT, "%s: blob %s: %s", l->url->whole, digest,
              there ? "its content was changed" : "is missing, but the journal names it");
  PQclear(result);
  return good;
}
