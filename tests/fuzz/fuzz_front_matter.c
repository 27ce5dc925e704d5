/* fuzz_front_matter.c: libFuzzer feeds texts to the readers of skill documents (lua_host.h).
 * Reading must never raise, and every finding has a place (tests/support/document_probe.lua). */
#include "lua_host.h"

static const char driver[] = "return require 'tests.support.document_probe'\n";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  return lua_host_feed(driver, data, size);
}
