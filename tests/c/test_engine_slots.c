/* test_engine_slots.c: what is under way, by number: found whatever the numbers, and given back.
 * Looks inside the engine, as a fault here would show itself outside by chance only. */
#include <stdint.h>

#include "engine/engine_inside.h"
#include "support/check.h"
#include "support/fake_sys.h"

enum { MANY = 4000 };

static struct fake_sys world;
static struct slots slots;
static struct slot *held[MANY];
static uint64_t numbers[MANY];
static struct error error;

static void setup(void) {
  fake_sys_init(&world);
  slots_init(&slots, &world.sys);
}

static void teardown(void) {
  slots_clear(&slots);
  CHECK(world.live == 0);
}

static uint64_t seed;
static uint64_t random_number(void) {
  seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return seed >> 33;
}

static bool all_found(int count) {
  for (int i = 0; i < count; i++)
    if (slots_find(&slots, numbers[i]) != held[i]) return false;
  return true;
}

static void hold(struct slot *slot, size_t bytes) {
  static char filling[1 << 20];
  slot->body.maximum = slot->extra.maximum = sizeof filling;
  buffer_reset(&slot->body);
  buffer_reset(&slot->extra);
  CHECK(buffer_append(&slot->body, filling, bytes, &error));
  CHECK(buffer_append(&slot->extra, filling, bytes, &error));
}

static void table(void) {
  TEST("a number is found until it is released, and others whatever came and went") {
    setup();
    seed = 7;
    int count = 0;
    bool good = true;
    for (int round = 0; round < 60000; round++) {
      bool take = count == 0 || (count < MANY && random_number() % 5 < 3);
      if (take) {
        uint64_t number = random_number() % (1 << 20) * 4096; /* they crowd each other */
        if (slots_find(&slots, number)) continue;
        numbers[count] = number;
        held[count] = slots_take(&slots, number, &error);
        good = good && held[count] && held[count]->number == number;
        count++;
      } else {
        int gone = (int)(random_number() % (uint64_t)count);
        slots_release(&slots, held[gone]);
        good = good && !slots_find(&slots, numbers[gone]);
        count--;
        numbers[gone] = numbers[count];
        held[gone] = held[count];
      }
      good = good && slots.count == (size_t)count;
      if (round % 500 == 0) good = good && all_found(count);
    }
    CHECK(good && all_found(count));
    while (count > 0)
      slots_release(&slots, held[--count]);
    teardown();
  }
  TEST("a slot that is used again knows nothing of who had it") {
    setup();
    struct slot *slot = slots_take(&slots, 1, &error);
    slot->answered = true;
    CHECK(task_set(&slot->task, &slot->task.target, "http://here", &error));
    slots_release(&slots, slot);
    CHECK(slots_take(&slots, 2, &error) == slot);
    CHECK(!slot->answered && !slot->task.target);
    slots_release(&slots, slot);
    teardown();
  }
}

static void memory(void) {
  TEST("the buffers of a slot are used again: a reply like the one before allocates nothing") {
    setup();
    for (int i = 0; i < 1000; i++) {
      struct slot *slot = slots_take(&slots, (uint64_t)i, &error);
      size_t before = world.allocations;
      hold(slot, 9000);
      CHECK(i == 0 || world.allocations == before);
      slots_release(&slots, slot);
    }
    teardown();
  }
  TEST("what a wide moment took is given back: 1,024 slots are kept, and 1 MiB of their buffers") {
    setup();
    size_t before = world.live;
    for (int i = 0; i < MANY; i++) {
      held[i] = slots_take(&slots, (uint64_t)i, &error);
      hold(held[i], 10000);
    }
    size_t wide = world.live;
    for (int i = 0; i < MANY; i++)
      slots_release(&slots, held[i]);
    CHECK(wide - before > (size_t)MANY * 20000);
    size_t table_bytes = slots.capacity * sizeof *slots.table;
    CHECK(world.live - before <= (1 << 20) + 1024 * sizeof(struct slot) + table_bytes);
    CHECK(world.live - before >= (1 << 20) - 40000 + 1024 * sizeof(struct slot) + table_bytes);
    teardown();
  }
}

static struct slot links[3];

static bool queue_is(const struct slot_queue *q, const char *wanted) {
  const struct slot *before = NULL;
  const struct slot *at = q->first;
  for (; *wanted; wanted++, before = at, at = at->next)
    if (at != &links[*wanted - 'a'] || at->previous != before) return false;
  return !at && q->last == before;
}

static void queues(void) {
  static const struct {
    int gone;
    const char *left;
  } cases[] = {{0, "bc"}, {1, "ac"}, {2, "ab"}};
  TEST("a queue keeps its order whichever leaves it") {
    for (int i = 0; i < 3; i++) {
      struct slot_queue q = {0};
      for (int k = 0; k < 3; k++)
        slot_queue_push(&q, &links[k]);
      CHECK(queue_is(&q, "abc"));
      slot_queue_remove(&q, &links[cases[i].gone]);
      CHECK(queue_is(&q, cases[i].left));
      slot_queue_push(&q, &links[cases[i].gone]);
      CHECK(slot_queue_pop(&q) == &links[cases[i].left[0] - 'a']);
      CHECK(slot_queue_pop(&q) && slot_queue_pop(&q) && !slot_queue_pop(&q));
      CHECK(queue_is(&q, ""));
    }
  }
}

int main(void) {
  table();
  memory();
  queues();
  return check_finish();
}
