/* test_json.c: the JSON reader on texts it must take (and what it makes of them) and texts it
 * must refuse (and what it says). What it takes is written again and compared. */
#include "support/check.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"

/* ---- the reader's tokens, written again as compact JSON ---- */

static void put_string(struct buffer *to, const struct json_reader *r) {
  char text[1024];
  size_t length = r->string.length;
  if (length > sizeof text) return;
  if (r->escaped)
    length = json_unescape(r->string, text);
  else
    memcpy(text, r->string.data, length);
  buffer_byte(to, '"', NULL);
  for (const char *at = text, *end = text + length; at < end;) {
    const char *stop = json_scan(at, end);
    buffer_append(to, at, (size_t)(stop - at), NULL);
    char escape[6];
    if (stop < end) buffer_append(to, escape, json_escape(*stop, escape), NULL);
    at = stop + 1;
  }
  buffer_byte(to, '"', NULL);
}

static void put_token(struct buffer *to, const struct json_reader *r, enum json_token token) {
  char number[JSON_DOUBLE_ROOM];
  switch (token) {
  case JSON_NULL:
    buffer_string(to, "null", NULL);
    break;
  case JSON_TRUE:
    buffer_string(to, "true", NULL);
    break;
  case JSON_FALSE:
    buffer_string(to, "false", NULL);
    break;
  case JSON_INTEGER:
    buffer_append(to, number, json_write_integer(r->integer, number), NULL);
    break;
  case JSON_DOUBLE:
    buffer_append(to, number, json_write_double(r->number, number), NULL);
    break;
  default:
    put_string(to, r);
  }
}

/* False with `e` filled, or the text written again in `to`. */
static bool reread(const char *text, size_t length, unsigned depth, struct buffer *to,
                   struct error *e) {
  char *exact = malloc(length ? length : 1); /* so that ASan sees a read beyond the end */
  if (!exact) return false;
  memcpy(exact, text, length);
  struct json_reader r;
  json_reader_init(&r, (struct span){exact, length}, depth);
  enum json_token token;
  char last = '[';
  buffer_reset(to);
  while ((token = json_next(&r)) != JSON_END && token != JSON_ERROR) {
    bool close = token == JSON_ARRAY_END || token == JSON_OBJECT_END;
    if (!close && !strchr("[{:", last)) buffer_byte(to, ',', NULL);
    if (token == JSON_ARRAY || token == JSON_OBJECT)
      buffer_byte(to, token == JSON_ARRAY ? '[' : '{', NULL);
    else if (close)
      buffer_byte(to, token == JSON_ARRAY_END ? ']' : '}', NULL);
    else
      put_token(to, &r, token);
    if (token == JSON_KEY) buffer_byte(to, ':', NULL);
    last = to->data[to->length - 1];
    if (token != JSON_KEY && last == '"') last = 'x';
  }
  bool good = token == JSON_END;
  if (!good) {
    json_reader_error(&r, "x.json", e);
    CHECK(json_next(&r) == JSON_ERROR);
  }
  free(exact);
  return good;
}

/* ---- texts ---- */

struct taken {
  const char *text, *again; /* NULL: the same bytes */
};

static const struct taken structures[] = {
    {"[]", NULL},
    {"{}", NULL},
    {"[[],{}]", NULL},
    {"null", NULL},
    {"true", NULL},
    {"false", NULL},
    {"\"\"", NULL},
    {"0", NULL},
    {" \t\r\n[ \t\r\n] \n", "[]"},
    {"[1 , 2\n,3 ]", "[1,2,3]"},
    {"{ \"a\" : 1 , \"b\" : [ ] }", "{\"a\":1,\"b\":[]}"},
    {"{\"\":0}", NULL},
    {"{\"a\":{\"b\":{\"c\":[{\"d\":null}]}}}", NULL},
    {"[null,1,\"1\",{}]", NULL},
    {"{\"a\":[{},{\"x\":[]}],\"b\":false}", NULL},
};

static const struct taken strings[] = {
    {"\"plain\"", NULL},
    {"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\\"\\\\/\\b\\f\\n\\r\\t\""},
    {"\"\\u0000\"", NULL},
    {"\"\\u001F\"", "\"\\u001f\""},
    {"\"\\u0022\\u005c\"", "\"\\\"\\\\\""},
    {"\"\\u0061\\u30af\\u00e9\"", "\"a\xE3\x82\xAF\xC3\xA9\""},
    {"\"\\uD834\\uDD1E\"", "\"\xF0\x9D\x84\x9E\""},
    {"\"\\ud800\\udc00\\uDBFF\\uDFFF\"", "\"\xF0\x90\x80\x80\xF4\x8F\xBF\xBF\""},
    {"\"\\uFFFF\\uFFFE\\uFDD0\"", "\"\xEF\xBF\xBF\xEF\xBF\xBE\xEF\xB7\x90\""},
    {"\"\x7F\"", NULL},
    {"\"\xC2\x80\xDF\xBF\"", NULL},
    {"\"\xE0\xA0\x80\xED\x9F\xBF\xEE\x80\x80\xEF\xBF\xBF\"", NULL},
    {"\"\xF0\x90\x80\x80\xF4\x8F\xBF\xBF\"", NULL},
    {"\"\xE2\x80\xA8\xE2\x80\xA9\xEF\xBB\xBF\"", NULL},
    {"\"a long plain string that needs more than one word of sixteen bytes\"", NULL},
    {"\"0123456789abcde\\n0123456789abcdef\xC3\xA9"
     "0123456\"",
     NULL},
    {"{\"\\u006b\":\"/* no comment */\"}", "{\"k\":\"/* no comment */\"}"},
    {"\"\\uD800\"", "\"\xEF\xBF\xBD\""}, /* half a pair */
    {"\"\\uDFFF\"", "\"\xEF\xBF\xBD\""},
    {"\"\\uD800x\"", "\"\xEF\xBF\xBDx\""},
    {"\"\\uD800\\n\"", "\"\xEF\xBF\xBD\\n\""},
    {"\"\\uD800\\u0041\"", "\"\xEF\xBF\xBD"
                           "A\""},
    {"\"\\uD83D\\uD83D\\uDE00\"", "\"\xEF\xBF\xBD\xF0\x9F\x98\x80\""},
    {"\"\\uDC00\\uD800\"", "\"\xEF\xBF\xBD\xEF\xBF\xBD\""},
};

static const struct taken numbers[] = {
    {"-0", "-0.0"},
    {"-0.0", NULL},
    {"0.0", NULL},
    {"-1", NULL},
    {"9223372036854775807", NULL},
    {"-9223372036854775808", NULL},
    {"9223372036854775808", "9.223372036854776e18"},
    {"-9223372036854775809", "-9.223372036854776e18"},
    {"18446744073709551616", "1.8446744073709552e19"},
    {"9007199254740993", NULL},
    {"1.0", NULL},
    {"1e0", "1.0"},
    {"1E+2", "100.0"},
    {"0e1", "0.0"},
    {"0e+99999999999999999999", "0.0"},
    {"-0e-1", "-0.0"},
    {"1e-2", "0.01"},
    {"0.1", NULL},
    {"0.3", NULL},
    {"0.30000000000000004", NULL},
    {"123456789012345680.0", "1.2345678901234568e17"},
    {"12345678901234568.0", NULL},
    {"1e22", NULL},
    {"1e23", NULL},
    {"9007199254740993.0", "9007199254740992.0"},
    {"9007199254740995.0", "9007199254740996.0"},
    {"1.7976931348623157e308", NULL},
    {"1.7976931348623158e308", "1.7976931348623157e308"},
    {"2.2250738585072014e-308", NULL},
    {"2.2250738585072011e-308", "2.225073858507201e-308"},
    {"5e-324", NULL},
    {"2.4703282292062328e-324", "5e-324"},
    {"2.4703282292062327e-324", "0.0"},
    {"1e-400", "0.0"},
    {"0.00001", NULL},
    {"0.000001", "1e-6"},
    {"123.456e-789", "0.0"},
    {"100000000000000000000000000000000000000000000000000e-50", "1.0"},
    {"0.000000000000000000000000000000000000000000000000000000000000000000000000000000000001e84",
     "1.0"},
    {"1.00000000000000011102230246251565404236316680908203125", "1.0"},
    {"1.00000000000000011102230246251565404236316680908203126", "1.0000000000000002"},
    {"1.00000000000000033306690738754696212708950042724609375", "1.0000000000000004"},
};

struct refused {
  const char *text;
  const char *says; /* the end of the message */
};

static const struct refused refusals[] = {
    {"", "line 1, column 1 (byte 0): expected a value, found the end"},
    {"  \n ", "line 2, column 2 (byte 4): expected a value, found the end"},
    {"[", "expected a value or ']', found the end"},
    {"[1", "expected ',' or ']', found the end"},
    {"[1,", "expected a value, found the end"},
    {"[1,]", "column 4 (byte 3): expected a value, found ']'"},
    {"[,1]", "expected a value, found ','"},
    {"[1,,2]", "expected a value, found ','"},
    {"[1 2]", "expected ',' or ']', found '2'"},
    {"[1}", "expected ',' or ']', found '}'"},
    {"]", "expected a value, found ']'"},
    {"[]]", "expected the end of the text, found ']'"},
    {"[][]", "expected the end of the text, found '['"},
    {"1 x", "expected the end of the text, found 'x'"},
    {"{}\x01", "expected the end of the text, found byte 0x01"},
    {"{", "expected a key or '}', found the end"},
    {"{\"a\"", "expected ':', found the end"},
    {"{\"a\"}", "expected ':', found '}'"},
    {"{\"a\" 1}", "expected ':', found '1'"},
    {"{\"a\":}", "expected a value, found '}'"},
    {"{\"a\":1", "expected ',' or '}', found the end"},
    {"{\"a\":1,}", "expected a key, found '}'"},
    {"{\"a\":1 \"b\":2}", "expected ',' or '}', found '\"'"},
    {"{\"a\":1]", "expected ',' or '}', found ']'"},
    {"{a:1}", "expected a key or '}', found 'a'"},
    {"{1:1}", "expected a key or '}', found '1'"},
    {"{'a':1}", "expected a key or '}', found '''"},
    {"{null:1}", "expected a key or '}', found 'n'"},
    {"['a']", "expected a value, found '''"},
    {"[1,\n // no\n2]", "line 2, column 2 (byte 5): expected a value, found '/'"},
    {"/* no */ 1", "expected a value, found '/'"},
    {"nul", "expected a value, found 'n'"},
    {"True", "expected a value, found 'T'"},
    {"NaN", "expected a value, found 'N'"},
    {"Infinity", "expected a value, found 'I'"},
    {"-Infinity", "expected a digit, found 'I'"},
    {"undefined", "expected a value, found 'u'"},
    {"truefalse", "expected the end of the text, found 'f'"},
    {"+1", "expected a value, found '+'"},
    {".5", "expected a value, found '.'"},
    {"-", "expected a digit, found the end"},
    {"--1", "expected a digit, found '-'"},
    {"01", "a number that begins with 0"},
    {"-01", "a number that begins with 0"},
    {"00000000000000000000000", "a number that begins with 0"},
    {"1.", "expected a digit behind the point, found the end"},
    {"1.e1", "expected a digit behind the point, found 'e'"},
    {"1e", "expected a digit in the exponent, found the end"},
    {"1e+", "expected a digit in the exponent, found the end"},
    {"1e1.5", "expected the end of the text, found '.'"},
    {"0x10", "expected the end of the text, found 'x'"},
    {"1_000", "expected the end of the text, found '_'"},
    {"\xEF\xBC\x91", "expected a value, found byte 0xEF"},
    {"\xEF\xBB\xBF{}", "expected a value, found byte 0xEF"},
    {"1e309", "a number too large for a double"},
    {"-1e999999999999999999999", "a number too large for a double"},
    {"1.7976931348623159e308", "a number too large for a double"},
    {"\"", "column 1 (byte 0): a string that does not end"},
    {"\"a", "a string that does not end"},
    {"\"a\\\"", "a string that does not end"},
    {"\"\n\"", "a control character in a string (write it \\u00..)"},
    {"\"a\tb\"", "a control character in a string (write it \\u00..)"},
    {"\"\\x41\"", "unknown escape in a string (a backslash is written \\\\)"},
    {"\"\\'\"", "unknown escape in a string (a backslash is written \\\\)"},
    {"\"\\", "unknown escape in a string (a backslash is written \\\\)"},
    {"\"\\u12\"", "\\u needs four hex digits"},
    {"\"\\u12G4\"", "\\u needs four hex digits"},
    {"\"\\u 123\"", "\\u needs four hex digits"},
    {"\"\\U0041\"", "unknown escape in a string (a backslash is written \\\\)"},
    {"\"\\uD800\\uDC0", "\\u needs four hex digits"},
    {"\"\x80\"", "a string that is not valid UTF-8"},
    {"\"\xC0\x80\"", "a string that is not valid UTF-8"},
    {"\"\xC1\xBF\"", "a string that is not valid UTF-8"},
    {"\"\xC3\"", "a string that is not valid UTF-8"},
    {"\"\xE0\x80\x80\"", "a string that is not valid UTF-8"},
    {"\"\xE0\x9F\xBF\"", "a string that is not valid UTF-8"},
    {"\"\xED\xA0\x80\"", "a string that is not valid UTF-8"},
    {"\"\xED\xBF\xBF\"", "a string that is not valid UTF-8"},
    {"\"\xE2\x82\"", "a string that is not valid UTF-8"},
    {"\"\xF0\x8F\xBF\xBF\"", "a string that is not valid UTF-8"},
    {"\"\xF4\x90\x80\x80\"", "a string that is not valid UTF-8"},
    {"\"\xF5\x80\x80\x80\"", "a string that is not valid UTF-8"},
    {"\"\xF0\x9D\x84\"", "a string that is not valid UTF-8"},
    {"\"\xFE\"", "a string that is not valid UTF-8"},
    {"\"0123456789abcdef \xFF\"", "column 19 (byte 18): a string that is not valid UTF-8"},
    {"\"\xE5\x89\x8D\" x", "column 5 (byte 6): expected the end of the text, found 'x'"},
};

static void test_taken(const char *name, const struct taken *list, size_t count) {
  struct buffer again;
  buffer_init(&again, sys_real(), 1 << 20);
  TEST(name) {
    for (size_t i = 0; i < count; i++) {
      struct error e = {.text = ""};
      CHECK(reread(list[i].text, strlen(list[i].text), 128, &again, &e));
      CHECK_STR(e.text, "");
      CHECK_STR(again.data, list[i].again ? list[i].again : list[i].text);
    }
  }
  buffer_clear(&again);
}

static void test_refused(void) {
  struct buffer again;
  buffer_init(&again, sys_real(), 1 << 20);
  TEST("malformed texts are refused with their place and what was expected") {
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
      struct error e = {.text = ""};
      CHECK(!reread(refusals[i].text, strlen(refusals[i].text), 128, &again, &e));
      CHECK(e.code == ERROR_INVALID);
      CHECK(strncmp(e.text, "x.json: line ", 13) == 0);
      size_t length = strlen(e.text), end = strlen(refusals[i].says);
      CHECK_STR(end <= length ? e.text + length - end : e.text, refusals[i].says);
    }
  }
  TEST("NUL bytes are refused everywhere") {
    struct error e;
    CHECK(!reread("\0", 1, 9, &again, &e));
    CHECK(!reread("1\0", 2, 9, &again, &e));
    CHECK(!reread("[\0]", 3, 9, &again, &e));
    CHECK(!reread("\"\0\"", 3, 9, &again, &e));
    CHECK(!reread("\"\\\0\"", 4, 9, &again, &e));
    CHECK(!reread("{\"a\"\0:1}", 8, 9, &again, &e));
  }
  TEST("every beginning of a text is refused, and says so at its end") {
    static const char text[] =
        "{\"a\": [1, -2.5e+3, true, null, \"\\ud834\\udd1e\xC3\xA9\"], \"b\": {}}";
    for (size_t length = 0; length < sizeof text - 1; length++) {
      struct error e;
      CHECK(!reread(text, length, 128, &again, &e) && e.code == ERROR_INVALID);
    }
    CHECK(reread(text, sizeof text - 1, 128, &again, NULL));
  }
  TEST("nesting up to the limit is taken, one more is refused") {
    char deep[2 * JSON_DEPTH_MAX + 2];
    static const unsigned limits[] = {1, 2, 63, 64, 65, 128, JSON_DEPTH_MAX};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
      unsigned n = limits[i];
      struct error e;
      memset(deep, '[', n + 1);
      memset(deep + n, ']', n + 1);
      CHECK(reread(deep, 2 * n, n, &again, &e));
      deep[n] = '[';
      CHECK(!reread(deep, 2 * n + 1, n, &again, &e) && e.code == ERROR_LIMIT);
      CHECK(strstr(e.text, "nested too deep") != NULL);
    }
  }
  TEST("the reader remembers what each of many open containers is") {
    char deep[2000];
    size_t length = 0;
    for (int i = 0; i < 200; i++)
      length += (size_t)snprintf(deep + length, 8, "%s", i % 3 == 0 ? "{\"a\":" : "[");
    deep[length++] = '0';
    for (int i = 199; i >= 0; i--)
      deep[length++] = i % 3 == 0 ? '}' : ']';
    struct error e;
    CHECK(reread(deep, length, 200, &again, &e));
    CHECK(again.length == length && memcmp(again.data, deep, length) == 0);
    for (size_t at = length - 200; at < length; at++) {
      deep[at] = (char)(deep[at] == '}' ? ']' : '}');
      CHECK(!reread(deep, length, 200, &again, &e));
      deep[at] = (char)(deep[at] == '}' ? ']' : '}');
    }
  }
  TEST("a character cut by the end of the text is not read beyond it") {
    static const char text[] = "0123456789abcdef\xF0\x9D\x84\x9E";
    const char *end = text + sizeof text - 1;
    CHECK(json_scan(text, end) == end);
    for (int cut = 1; cut < 4; cut++)
      CHECK(json_scan(text, end - cut) == text + 16);
  }
  buffer_clear(&again);
}

int main(void) {
  test_taken("well-formed structures are taken", structures,
             sizeof structures / sizeof *structures);
  test_taken("strings are taken with their meaning", strings, sizeof strings / sizeof *strings);
  test_taken("numbers are exact: int64 stays whole, others are the nearest double", numbers,
             sizeof numbers / sizeof *numbers);
  test_refused();
  return check_finish();
}
