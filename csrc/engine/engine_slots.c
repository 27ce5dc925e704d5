/* engine_slots.c: the table of calls and functions under way, by number, in O(1).
 *
 * Slots are reused, some of them with their buffers, so that a run allocates only when more calls
 * are under way than ever before; memory above that is returned. Knows nothing of a slot's states;
 * called by engine*.c. */
#include "engine/engine_inside.h"

#include <assert.h>

enum { SLOTS_MAX = 1 << 16, FREE_MAX = 1 << 10, KEPT_MAX = 1 << 20 };

void slots_init(struct slots *s, const struct sys *sys) {
  *s = (struct slots){.sys = sys};
}

static void slot_free(const struct slots *s, struct slot *slot) {
  buffer_clear(&slot->body);
  buffer_clear(&slot->extra);
  task_clear(&slot->task);
  sys_free(s->sys, slot, sizeof *slot);
}

void slots_clear(struct slots *s) {
  assert(s->count == 0);
  for (struct slot *slot; (slot = s->free);) {
    s->free = slot->next;
    slot_free(s, slot);
  }
  if (s->table) sys_free(s->sys, s->table, s->capacity * sizeof *s->table);
  slots_init(s, s->sys);
}

static size_t home(const struct slots *s, uint64_t number) {
  return (size_t)((number * UINT64_C(0x9E3779B97F4A7C15)) >> 32) & (s->capacity - 1);
}

struct slot *slots_find(const struct slots *s, uint64_t number) {
  if (s->capacity == 0) return NULL;
  for (size_t i = home(s, number); s->table[i]; i = (i + 1) & (s->capacity - 1))
    if (s->table[i]->number == number) return s->table[i];
  return NULL;
}

static void table_put(struct slots *s, struct slot *slot) {
  size_t i = home(s, slot->number);
  while (s->table[i])
    i = (i + 1) & (s->capacity - 1);
  s->table[i] = slot;
}

/* Grows the table so that it is at most half full and a search finds an empty entry soon. */
static bool table_reserve(struct slots *s, struct error *error) {
  if ((s->count + 1) * 2 <= s->capacity) return true;
  struct slots wider = {.sys = s->sys, .capacity = s->capacity ? s->capacity * 2 : 16};
  wider.table = sys_alloc(s->sys, wider.capacity * sizeof *wider.table);
  if (!wider.table) return error_set(error, ERROR_MEMORY, "engine: no memory for one more call");
  for (size_t i = 0; i < s->capacity; i++)
    if (s->table[i]) table_put(&wider, s->table[i]);
  if (s->table) sys_free(s->sys, s->table, s->capacity * sizeof *s->table);
  s->table = wider.table;
  s->capacity = wider.capacity;
  return true;
}

static size_t slot_holds(const struct slot *slot) {
  return slot->body.capacity + slot->extra.capacity;
}

static struct slot *slot_again(struct slots *s) {
  struct slot *slot = s->free;
  s->free = slot->next;
  s->free_count--;
  s->kept -= slot_holds(slot);
  return slot;
}

static struct slot *slot_new(struct slots *s, struct error *error) {
  struct slot *slot = sys_alloc(s->sys, sizeof *slot);
  if (!slot) {
    error_set(error, ERROR_MEMORY, "engine: no memory for one more call");
    return NULL;
  }
  task_init(&slot->task, s->sys);
  buffer_init(&slot->body, s->sys, 0); /* the maximum is the task's */
  buffer_init(&slot->extra, s->sys, 0);
  return slot;
}

struct slot *slots_take(struct slots *s, uint64_t number, struct error *error) {
  assert(!slots_find(s, number));
  if (s->count >= SLOTS_MAX) {
    error_set(error, ERROR_LIMIT, "engine: more than %d calls at once", (int)SLOTS_MAX);
    return NULL;
  }
  if (!table_reserve(s, error)) return NULL;
  struct slot *slot = s->free ? slot_again(s) : slot_new(s, error);
  if (!slot) return NULL;
  slot->number = number;
  slot->function = slot->answered = slot->unwanted = false;
  table_put(s, slot);
  s->count++;
  return slot;
}

/* Removes the slot, and moves slots that a collision had displaced back, so that a search for one
 * of them does not end at the new empty entry. */
static void table_drop(struct slots *s, const struct slot *slot) {
  size_t mask = s->capacity - 1, hole = home(s, slot->number);
  while (s->table[hole] != slot)
    hole = (hole + 1) & mask;
  for (size_t i = (hole + 1) & mask; s->table[i]; i = (i + 1) & mask) {
    size_t wanted = home(s, s->table[i]->number);
    if (((i - wanted) & mask) >= ((i - hole) & mask)) {
      s->table[hole] = s->table[i];
      hole = i;
    }
  }
  s->table[hole] = NULL;
}

void slots_release(struct slots *s, struct slot *slot) {
  table_drop(s, slot);
  s->count--;
  if (s->free_count >= FREE_MAX) {
    slot_free(s, slot);
    return;
  }
  task_clear(&slot->task);
  if (slot_holds(slot) > KEPT_MAX - s->kept) {
    buffer_clear(&slot->body);
    buffer_clear(&slot->extra);
  }
  slot->state = SLOT_FREE;
  slot->next = s->free;
  s->free = slot;
  s->free_count++;
  s->kept += slot_holds(slot);
}

void slot_queue_push(struct slot_queue *q, struct slot *slot) {
  slot->next = NULL;
  slot->previous = q->last;
  if (q->last)
    q->last->next = slot;
  else
    q->first = slot;
  q->last = slot;
}

void slot_queue_remove(struct slot_queue *q, struct slot *slot) {
  if (slot->previous)
    slot->previous->next = slot->next;
  else
    q->first = slot->next;
  if (slot->next)
    slot->next->previous = slot->previous;
  else
    q->last = slot->previous;
  slot->next = slot->previous = NULL;
}

struct slot *slot_queue_pop(struct slot_queue *q) {
  struct slot *slot = q->first;
  if (slot) slot_queue_remove(q, slot);
  return slot;
}
