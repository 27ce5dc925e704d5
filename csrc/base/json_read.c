/* json_read.c: pulls tokens from JSON text and checks the whole grammar on the way.
 * Allocates nothing, keeps no keys, knows no Lua. Called by the Lua face and by tests. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"

enum reader_state {
  STATE_VALUE,     /* a value must come */
  STATE_FIRST,     /* behind '[': a value or ']' */
  STATE_FIRST_KEY, /* behind '{': a key or '}' */
  STATE_NEXT,      /* behind a value inside a container */
  STATE_DONE,      /* behind the outermost value */
  STATE_FAILED
};

void json_reader_init(struct json_reader *r, struct span text, unsigned depth_max) {
  assert(depth_max >= 1 && depth_max <= JSON_DEPTH_MAX);
  r->text = r->at = r->token = text.data;
  r->end = text.data + text.length;
  r->expected = r->problem = NULL;
  r->depth = 0;
  r->depth_max = depth_max;
  r->state = STATE_VALUE;
  r->in_object = r->too_deep = r->escaped = false;
}

static enum json_token reader_expected(struct json_reader *r, const char *at, const char *what) {
  r->token = at;
  r->expected = what;
  r->state = STATE_FAILED;
  return JSON_ERROR;
}

static enum json_token reader_problem(struct json_reader *r, const char *at, const char *what) {
  r->token = at;
  r->problem = what;
  r->state = STATE_FAILED;
  return JSON_ERROR;
}

static inline const char *reader_space(const char *at, const char *end) {
  while (at < end && (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t'))
    at++;
  return at;
}

static bool reader_hex4(const char *at, const char *end, unsigned *code) {
  if (end - at < 4) return false;
  unsigned value = 0;
  for (int i = 0; i < 4; i++) {
    unsigned c = (unsigned char)at[i];
    unsigned digit = c - '0' <= 9 ? c - '0' : (c | 0x20) - 'a' <= 5 ? (c | 0x20) - 'a' + 10 : 16;
    if (digit > 15) return false;
    value = value << 4 | digit;
  }
  *code = value;
  return true;
}

/* Checks the escape at `at`; gives what follows it, or NULL with the reader failed. */
static const char *reader_escape(struct json_reader *r, const char *at) {
  const char *end = r->end;
  if (end - at >= 2 && at[1] != '\0' && strchr("\"\\/bfnrt", at[1])) return at + 2;
  unsigned code;
  if (end - at < 2 || at[1] != 'u') {
    reader_problem(r, at, "unknown escape in a string (a backslash is written \\\\)");
    return NULL;
  }
  if (!reader_hex4(at + 2, end, &code)) {
    reader_problem(r, at, "\\u needs four hex digits");
    return NULL;
  }
  return at + 6; /* of a surrogate, too: json_unescape joins it with its other half */
}

/* A string from its opening quote on. */
static bool reader_string(struct json_reader *r, const char *at) {
  const char *from = at + 1;
  r->token = at;
  r->escaped = false;
  at = from;
  for (;;) {
    at = json_scan(at, r->end);
    if (at == r->end) return reader_problem(r, r->token, "a string that does not end");
    if (*at == '"') break;
    if (*at != '\\') {
      bool control = (unsigned char)*at < 0x20;
      return reader_problem(r, at,
                            control ? "a control character in a string (write it \\u00..)"
                                    : "a string that is not valid UTF-8");
    }
    r->escaped = true;
    at = reader_escape(r, at);
    if (!at) return false;
  }
  r->string = (struct span){from, (size_t)(at - from)};
  r->at = at + 1;
  return true;
}

static inline bool reader_is_digit(const char *at, const char *end) {
  return at < end && (unsigned char)(*at - '0') <= 9;
}

static inline void reader_after_value(struct json_reader *r) {
  r->state = r->depth ? STATE_NEXT : STATE_DONE;
}

/* The rest of a number behind its whole part: it is a double. */
static enum json_token reader_double(struct json_reader *r, const char *at) {
  const char *end = r->end;
  if (at < end && *at == '.') {
    if (!reader_is_digit(++at, end)) return reader_expected(r, at, "a digit behind the point");
    while (reader_is_digit(at, end))
      at++;
  }
  if (at < end && (*at | 0x20) == 'e') {
    at++;
    if (at < end && (*at == '+' || *at == '-')) at++;
    if (!reader_is_digit(at, end)) return reader_expected(r, at, "a digit in the exponent");
    while (reader_is_digit(at, end))
      at++;
  }
  if (!json_read_double(r->token, at, &r->number))
    return reader_problem(r, r->token, "a number too large for a double");
  r->at = at;
  reader_after_value(r);
  return JSON_DOUBLE;
}

static enum json_token reader_number(struct json_reader *r, const char *at) {
  const char *end = r->end;
  r->token = at;
  bool negative = *at == '-';
  at += negative;
  if (!reader_is_digit(at, end)) return reader_expected(r, at, "a digit");
  const char *digits = at;
  uint64_t value = 0;
  while (reader_is_digit(at, end) && at - digits < 19)
    value = value * 10 + (uint64_t)(*at++ - '0');
  if (*digits == '0' && at - digits > 1)
    return reader_problem(r, r->token, "a number that begins with 0");
  bool wide = reader_is_digit(at, end);
  while (reader_is_digit(at, end))
    at++;
  if (wide || value > (uint64_t)INT64_MAX + negative || (negative && value == 0) ||
      (at < end && (*at == '.' || (*at | 0x20) == 'e')))
    return reader_double(r, at);
  r->integer = negative ? (int64_t)(0 - value) : (int64_t)value;
  r->at = at;
  reader_after_value(r);
  return JSON_INTEGER;
}

static enum json_token reader_literal(struct json_reader *r, const char *at, const char *word,
                                      enum json_token token) {
  size_t length = strlen(word);
  if ((size_t)(r->end - at) < length || memcmp(at, word, length) != 0)
    return reader_expected(r, at, "a value");
  r->token = at;
  r->at = at + length;
  reader_after_value(r);
  return token;
}

static enum json_token reader_open(struct json_reader *r, const char *at, bool object) {
  if (r->depth == r->depth_max) {
    r->too_deep = true;
    return reader_problem(r, at, "nested too deep");
  }
  uint64_t *word = &r->objects[r->depth / 64], bit = UINT64_C(1) << r->depth % 64;
  *word = object ? *word | bit : *word & ~bit;
  r->depth++;
  r->in_object = object;
  r->state = object ? STATE_FIRST_KEY : STATE_FIRST;
  r->token = at;
  r->at = at + 1;
  return object ? JSON_OBJECT : JSON_ARRAY;
}

static enum json_token reader_close(struct json_reader *r, const char *at) {
  enum json_token token = r->in_object ? JSON_OBJECT_END : JSON_ARRAY_END;
  r->depth--;
  if (r->depth) r->in_object = r->objects[(r->depth - 1) / 64] >> (r->depth - 1) % 64 & 1;
  r->token = at;
  r->at = at + 1;
  reader_after_value(r);
  return token;
}

static enum json_token reader_value(struct json_reader *r, const char *at) {
  if (at == r->end) return reader_expected(r, at, "a value");
  switch (*at) {
  case '"':
    if (!reader_string(r, at)) return JSON_ERROR;
    reader_after_value(r);
    return JSON_STRING;
  case '{':
    return reader_open(r, at, true);
  case '[':
    return reader_open(r, at, false);
  case 'n':
    return reader_literal(r, at, "null", JSON_NULL);
  case 't':
    return reader_literal(r, at, "true", JSON_TRUE);
  case 'f':
    return reader_literal(r, at, "false", JSON_FALSE);
  default:
    if (*at == '-' || (*at >= '0' && *at <= '9')) return reader_number(r, at);
    return reader_expected(r, at, "a value");
  }
}

/* A key and its colon. */
static enum json_token reader_key(struct json_reader *r, const char *at, const char *expected) {
  if (at == r->end || *at != '"') return reader_expected(r, at, expected);
  if (!reader_string(r, at)) return JSON_ERROR;
  at = reader_space(r->at, r->end);
  if (at == r->end || *at != ':') return reader_expected(r, at, "':'");
  r->at = at + 1;
  r->state = STATE_VALUE;
  return JSON_KEY;
}

enum json_token json_next(struct json_reader *r) {
  const char *end = r->end, *at = reader_space(r->at, end);
  char byte = at < end ? *at : '\0';
  switch ((enum reader_state)r->state) {
  case STATE_VALUE:
    return reader_value(r, at);
  case STATE_FIRST:
    if (byte == ']') return reader_close(r, at);
    return at == end ? reader_expected(r, at, "a value or ']'") : reader_value(r, at);
  case STATE_FIRST_KEY:
    if (byte == '}') return reader_close(r, at);
    return reader_key(r, at, "a key or '}'");
  case STATE_NEXT:
    if (byte == ',') {
      at = reader_space(at + 1, end);
      return r->in_object ? reader_key(r, at, "a key") : reader_value(r, at);
    }
    if (byte == (r->in_object ? '}' : ']')) return reader_close(r, at);
    return reader_expected(r, at, r->in_object ? "',' or '}'" : "',' or ']'");
  case STATE_DONE:
    return at == end ? JSON_END : reader_expected(r, at, "the end of the text");
  case STATE_FAILED:
    break;
  }
  return JSON_ERROR;
}

static bool reader_tell(const struct json_reader *r, enum error_code code, const char *object,
                        const char *problem, const char *found, struct error *e) {
  size_t line = 1, column = 1;
  for (const char *at = r->text; at < r->token; at++) {
    if (*at == '\n')
      line++, column = 1;
    else if (((unsigned char)*at & 0xC0) != 0x80) /* characters, not bytes */
      column++;
  }
  return error_set(e, code, "%s: line %zu, column %zu (byte %zu): %s%s", object, line, column,
                   (size_t)(r->token - r->text), problem, found);
}

bool json_reader_complain(const struct json_reader *r, const char *object, const char *problem,
                          struct error *e) {
  return reader_tell(r, ERROR_INVALID, object, problem, "", e);
}

bool json_reader_error(const struct json_reader *r, const char *object, struct error *e) {
  assert(r->state == STATE_FAILED);
  if (r->problem)
    return reader_tell(r, r->too_deep ? ERROR_LIMIT : ERROR_INVALID, object, r->problem, "", e);
  char problem[80], found[40];
  snprintf(problem, sizeof problem, "expected %s, found ", r->expected);
  if (r->token == r->end)
    snprintf(found, sizeof found, "the end");
  else if (*r->token > 0x20 && *r->token < 0x7F)
    snprintf(found, sizeof found, "'%c'", *r->token);
  else
    snprintf(found, sizeof found, "byte 0x%02X", (unsigned)(unsigned char)*r->token);
  return reader_tell(r, ERROR_INVALID, object, problem, found, e);
}
