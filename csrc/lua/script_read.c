/* script_read.c: see script_read.h. Knows payloads as bytes only. */
#include "lua/script_read.h"

#include "lua/ask.h"

static int record_body(lua_State *L) {
  int self;
  struct question *question = ask_begin(L, &self);
  lua_pushlstring(L, question->bytes.data, question->bytes.length);
  lua_pushinteger(L, (lua_Integer)question->number);
  lua_call(L, 3, 0);
  return 0;
}

static bool tell_record(void *data, const struct record *record, struct error *error) {
  struct question *question = data;
  question->bytes = record->payload;
  question->number = record->seq;
  return ask(question, record_body, error);
}

/* A record with the ending that the policy named makes those before it needless. */
bool script_read(struct script *script, uint64_t *records, struct error *error) {
  struct store *store = script->store;
  struct question question = {.script = script, .method = "record"};
  *records = store->report.records;
  return store->ops->read(store, store->report.newest, tell_record, &question, error);
}
