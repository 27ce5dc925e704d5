/* fake_sys.c: see fake_sys.h. Used from one thread. */
#include "support/fake_sys.h"

static void *counted(const struct sys *sys, void *block, size_t old_size, size_t new_size) {
  struct fake_sys *f = sys->self;
  if (new_size > old_size) {
    f->allocations++;
    if (f->fail_at && f->allocations >= f->fail_at && f->allocations - f->fail_at < f->fail_count)
      return NULL;
  }
  void *got = sys_real()->alloc(sys_real(), block, old_size, new_size);
  if (got || new_size == 0) f->live += new_size - old_size;
  if (f->live > f->peak) f->peak = f->live;
  return got;
}

static int64_t clock_ns(const struct sys *sys) {
  const struct fake_sys *f = sys->self;
  return f->clock_stands ? f->now_ns : sys_real()->mono_ns(sys_real());
}

void fake_sys_init(struct fake_sys *f) {
  *f = (struct fake_sys){.sys = *sys_real(), .fail_count = 1};
  f->sys.self = f;
  f->sys.alloc = counted;
  f->sys.mono_ns = clock_ns;
}
