/* postgres_kind.c: the entry point of the module skillrt/postgres.so.
 *
 * store.c loads the module with the first URL of PostgreSQL, because libpq costs time and memory.
 */
#include "store/postgres.h"

store_kind_function skillrt_store_kind;

__attribute__((visibility("default"))) const struct kind *skillrt_store_kind(void) {
  static const struct kind kind = {.open = postgres_open,
                                   .holder = postgres_holder,
                                   .inbox = postgres_inbox,
                                   .list = postgres_list,
                                   .exists = postgres_exists,
                                   .watch = postgres_watch,
                                   .prepare = postgres_prepare,
                                   .retire = postgres_retire,
                                   .label = postgres_label,
                                   .pause = postgres_pause,
                                   .claims = postgres_claims,
                                   .hold = postgres_hold,
                                   .leave = postgres_leave,
                                   .departed = postgres_departed,
                                   .send = postgres_send,
                                   .receive = postgres_receive};
  return &kind;
}
