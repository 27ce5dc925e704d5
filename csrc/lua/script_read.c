/* script_read.c: see script_read.h. Knows ends of payloads, not what is in them. */
#include "lua/script_read.h"

#include <string.h>

#include "lua/ask.h"

struct reading {
  struct question question;
  struct span ending; /* of a record that makes those before it needless; empty: none does */
  uint64_t newest;    /* the seq of the last such record, or 0 */
  uint64_t count;
};

/* The string stays where it is: the policy keeps it in its field. */
static int ending_body(lua_State *L) {
  int self;
  struct question *question = ask_begin(L, &self);
  if (lua_getfield(L, self, "newest") == LUA_TSTRING)
    question->bytes.data = lua_tolstring(L, -1, &question->bytes.length);
  return 0;
}

static int record_body(lua_State *L) {
  int self;
  struct question *question = ask_begin(L, &self);
  lua_pushlstring(L, question->bytes.data, question->bytes.length);
  lua_pushinteger(L, (lua_Integer)question->number);
  lua_call(L, 3, 0);
  return 0;
}

static bool find_newest(void *data, const struct record *record, struct error *error) {
  struct reading *reading = data;
  struct span payload = record->payload, ending = reading->ending;
  (void)error;
  if (payload.length >= ending.length &&
      memcmp(payload.data + payload.length - ending.length, ending.data, ending.length) == 0)
    reading->newest = record->seq;
  return true;
}

static bool tell_record(void *data, const struct record *record, struct error *error) {
  struct reading *reading = data;
  reading->count++;
  if (record->seq < reading->newest) return true;
  reading->question.bytes = record->payload;
  reading->question.number = record->seq;
  return ask(&reading->question, record_body, error);
}

bool script_read(struct script *script, uint64_t *records, struct error *error) {
  struct store *store = script->store;
  struct reading reading = {.question = {.script = script, .method = "record"}};
  if (!ask(&reading.question, ending_body, error)) return false;
  reading.ending = reading.question.bytes;
  if (reading.ending.length && !store->ops->read(store, find_newest, &reading, error)) return false;
  if (!store->ops->read(store, tell_record, &reading, error)) return false;
  *records = reading.count;
  return true;
}
