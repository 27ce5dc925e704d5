/* bind_json.h: JSON for Lua. Outside bind_json*.c only bind_json() is of interest; the rest
 * is what its two halves (bind_json_encode.c, bind_json_decode.c) offer to it. */
#ifndef SKILLRT_LUA_BIND_JSON_H
#define SKILLRT_LUA_BIND_JSON_H

#include <lua.h>

#include "base/buffer.h"
#include "base/error.h"

/* Pushes the module table, the same one every time in a Lua state:
 *   encode(value, options?)  -> text | nil, message, code    options: sorted (true), indent,
 *   decode(text, options?)   -> value | nil, message, code            depth, size, name
 *   digest(value, options?)  -> sha256 of the sorted compact text, in hex | nil, message, code
 *   array(table?) -> the table, marked as an array
 *   is_array(value) -> would it be written as an array: marked as one, or with an item 1
 *   null, empty_array, array_mt, empty_array_mt */
int bind_json(lua_State *L);

/* The lower upvalues of encode, decode and digest. */
enum json_upvalue {
  JSON_ARRAY_MT = 1,   /* metatable: an array whatever it holds */
  JSON_EMPTY_ARRAY_MT, /* metatable: an array if empty */
  JSON_TARGET_NAME,    /* "__json_target" */
  JSON_PAIRS_NAME,     /* "__pairs" */
  JSON_ENCODER,        /* userdata: struct encoder, kept between calls */
  JSON_UPVALUES = JSON_ENCODER
};

enum { JSON_SIZE_DEFAULT = 64 << 20 };

struct json_options {
  bool sorted;      /* keys in byte order */
  int indent;       /* spaces a level; 0: compact */
  unsigned depth;   /* containers inside each other, at most */
  size_t size;      /* bytes of text, at most */
  const char *name; /* what messages begin with */
};

/* What says "this is an array" in a Lua state: our metatables, and those of a loaded lua-cjson
 * that has some (looked up when first needed). */
struct json_marks {
  const void *array_mt, *empty_array_mt;
  const void *cjson_array_mt, *cjson_empty_array_mt, *cjson_empty_array;
  bool cjson_known;
};
enum json_mark { JSON_MARK_NONE, JSON_MARK_EMPTY_ARRAY, JSON_MARK_ARRAY };

/* Its address is the light userdata `empty_array`. */
extern const char json_empty_array;

void json_marks_init(lua_State *L, struct json_marks *);
bool json_is_empty_array(lua_State *L, struct json_marks *, const void *light);
/* Finds the table to write for the one at `*index`: itself, or the one a proxy stands for (its
 * metatable's __json_target, a table or a function of the proxy that gives one and may raise), then
 * left on the stack. NULL, or what cannot be encoded here. Uses up to 34 slots of the stack. */
const char *json_resolve(lua_State *L, struct json_marks *, int *index, enum json_mark *);

/* Pushes the value of `text`. False: nothing pushed, `error` filled. May raise on no memory. */
bool json_decode(lua_State *L, struct span text, const struct json_options *, struct error *);

struct encoder; /* lives in a userdata, frees itself */
void encoder_push(lua_State *L);
/* Pushes the closure's encoder, or a new one where that is in use; leave it on the stack. */
struct encoder *encoder_take(lua_State *L);
/* The text of the value at `index`, valid until encoder_give_back. False: `error` filled. */
bool encoder_run(struct encoder *, lua_State *L, int index, const struct json_options *,
                 struct span *text, struct error *);
void encoder_give_back(struct encoder *);

#endif
