/* json.h: strict JSON (RFC 8259), exact in both directions.
 *
 * Reading is pulling tokens from borrowed text; writing is turning one string or number
 * into bytes. Nothing here allocates or knows Lua. The whole grammar is checked, strict
 * UTF-8 included; only duplicate keys are left to the caller, who alone keeps the keys. The escape
 * of half a surrogate pair, whose meaning the RFC leaves open, is U+FFFD.
 *
 * Numbers: without '.', 'e' and 'E' a number is an integer if int64 holds it. Otherwise
 * ("-0" and wider ones too) it is the nearest double; one beyond the doubles is an error. */
#ifndef SKILLRT_BASE_JSON_H
#define SKILLRT_BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"

enum { JSON_DEPTH_DEFAULT = 128, JSON_DEPTH_MAX = 1024 };

enum json_token {
  JSON_ERROR, /* and for ever after; json_reader_error tells */
  JSON_END,   /* the one value is complete and nothing follows it */
  JSON_NULL,
  JSON_FALSE,
  JSON_TRUE,
  JSON_INTEGER, /* reader->integer */
  JSON_DOUBLE,  /* reader->number, finite */
  JSON_STRING,  /* reader->string, reader->escaped */
  JSON_KEY,     /* the same; its value is the next token */
  JSON_ARRAY,
  JSON_ARRAY_END,
  JSON_OBJECT,
  JSON_OBJECT_END
};

struct json_reader {
  /* the last token's value */
  struct span string; /* between the quotes; borrowed from the text */
  bool escaped;       /* it holds escapes: json_unescape gives its meaning */
  int64_t integer;
  double number;
  const char *token; /* where the token begins */

  /* the reader's own */
  const char *text, *at, *end;
  const char *expected, *problem; /* why it failed: one of the two */
  unsigned depth, depth_max;
  unsigned char state;
  bool in_object, too_deep;
  uint64_t objects[JSON_DEPTH_MAX / 64]; /* bit d: the container at depth d is an object */
};

/* `depth_max`: how many containers may be open at once; at most JSON_DEPTH_MAX. */
void json_reader_init(struct json_reader *, struct span text, unsigned depth_max);
enum json_token json_next(struct json_reader *);
/* After JSON_ERROR: "<object>: line 3, column 7: expected ',' or ']', found 'x'". False. */
bool json_reader_error(const struct json_reader *, const char *object, struct error *);
/* The caller's own complaint about the last token, at its place. False. */
bool json_reader_complain(const struct json_reader *, const char *object, const char *problem,
                          struct error *);

/* What an escaped token means. `to` has room for `raw.length` bytes; gives the length. */
size_t json_unescape(struct span raw, char *to);

/* The first byte that cannot stand in a JSON string as it is: a quote, a backslash, a control
 * character or the beginning of something that is not UTF-8; `end` if there is none. */
const char *json_scan(const char *at, const char *end);
/* The escape of a quote, backslash or control character: its length, 0 for any other byte. */
size_t json_escape(char byte, char to[6]);

enum { JSON_INTEGER_ROOM = 20, JSON_DOUBLE_ROOM = 32 };
size_t json_write_integer(int64_t, char to[JSON_INTEGER_ROOM]);
/* The shortest text that reads back as the same double, always with '.' or 'e' so that it
 * stays a double: 1.0, -0.0, 0.1, 1e300. 0 for infinities and NaN, which JSON cannot say. */
size_t json_write_double(double, char to[JSON_DOUBLE_ROOM]);

/* The double nearest to 0.d1d2d3... times a power of ten, as the reader sees a number:
 * its text matches the grammar and ends at `end`. False if it is beyond the doubles. */
bool json_read_double(const char *at, const char *end, double *to);

#endif
