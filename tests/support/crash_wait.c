/* crash_wait.c: what happens while a run can do nothing but wait: the world goes on, or a fake
 * program answers, or time passes. Called by crash.c. */
#include <assert.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#include "support/clock.h"
#include "support/crash.h"

enum { SOON_MS = 5 };

static void wait_for(struct skillrt *run) {
  struct pollfd readable = {.fd = skillrt_fd(run), .events = POLLIN};
  int timeout = skillrt_timeout_ms(run);
  if (timeout < 0 || timeout > 1000) timeout = 1000;
  poll(&readable, 1, timeout);
}

static void nothing(uv_work_t *work) {
  (void)work;
}

static void after_nothing(uv_work_t *work, int status) {
  (void)work, (void)status;
}

/* Until all that was on libuv's pool, which has one thread here, is done. */
static void drain_pool(void) {
  uv_loop_t loop;
  uv_work_t work;
  int failed = uv_loop_init(&loop);
  assert(!failed);
  failed = uv_queue_work(&loop, &work, nothing, after_nothing);
  assert(!failed);
  uv_run(&loop, UV_RUN_DEFAULT);
  failed = uv_loop_close(&loop);
  assert(!failed);
}

static void pass(struct crash *c, int64_t ms) {
  clock_skip(ms);
  faulty_clock_skip(c->faulty, ms);
}

static int arrivals_left(const struct crash *c) {
  int left = 0;
  for (int i = 0; c->arrivals && c->arrivals[i]; i++)
    left += !(c->arrived & 1u << i);
  return left;
}

/* Puts the n-th of those that have not come into the inbox, whole. */
static void arrive(struct crash *c, int n) {
  char aside[700], there[700];
  int i = 0;
  while (c->arrived & 1u << i || n-- > 0)
    i++;
  c->arrived |= 1u << i;
  snprintf(aside, sizeof aside, "%s/inbox/.%d", c->directory, i);
  snprintf(there, sizeof there, "%s/inbox/%d.json", c->directory, i);
  int fd = open(aside, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) return; /* there is no inbox any more: the run is over */
  ssize_t written = write(fd, c->arrivals[i], strlen(c->arrivals[i]));
  close(fd);
  int failed = rename(aside, there);
  assert(written > 0 && !failed);
}

/* The run can do nothing, not even hear of a sync. */
static void answer_or_pass(struct crash *c, int running, int left) {
  int may_pass = c->jumped < c->jumps;
  int choice = c->choose(c->chooser, running + left + may_pass);
  if (choice < running) {
    programs_answer(&c->programs, choice);
  } else if (choice < running + left) {
    arrive(c, choice - running);
  } else {
    c->jumped++;
    pass(c, c->jump_ms);
  }
}

void crash_wait(struct crash *c, struct skillrt *run) {
  struct pollfd readable = {.fd = skillrt_fd(run), .events = POLLIN};
  if (!c->choose) {
    wait_for(run);
    return;
  }
  drain_pool();
  if (poll(&readable, 1, 0) > 0) return;
  programs_hear(&c->programs);
  int timeout = skillrt_timeout_ms(run), running = programs_running(&c->programs);
  int left = arrivals_left(c);
  if (running + left > 0 && (timeout < 0 || timeout > SOON_MS))
    answer_or_pass(c, running, left);
  else if (timeout >= 0) {
    c->waited_ms += timeout;
    pass(c, timeout);
  } else
    wait_for(run); /* nobody will come: it hangs */
}
