/* image.c: see image.h. */
#include "sim/image.h"

#include <assert.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { ALIGN = 16, CLASSES = 64 + 32, SMALL = 64 * ALIGN, PAGE = 4096 };

/* At the bottom of the piece, so that it is restored with the rest. */
struct head {
  size_t used;
  void *unused[CLASSES]; /* blocks given back, by size: each begins with the next */
};

static struct piece {
  struct head *head;
  char *kept;
  size_t kept_size, room;
  char **written; /* pages of what is kept */
  size_t written_count;
  char *drawn; /* of a point: the first of those pages, then what lies behind what is kept */
  size_t drawn_count, drawn_used;
  bool is_drawn;
} pieces[IMAGES], *now = pieces;

#define image (now->head)

void image_use(unsigned which) {
  now = &pieces[which];
}

unsigned image_now(void) {
  return (unsigned)(now - pieces);
}

void image_open(size_t size) {
  image =
      mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  assert(image != MAP_FAILED);
  now->room = size;
  image->used = (sizeof *image + ALIGN - 1) / ALIGN * ALIGN;
}

/* Blocks of one class have one size: multiples of 16 bytes, then powers of two. */
static size_t class_of(size_t size, size_t *whole) {
  if (size <= SMALL) {
    size_t n = size ? (size + ALIGN - 1) / ALIGN : 1;
    *whole = n * ALIGN;
    return n - 1;
  }
  size_t class = SMALL / ALIGN;
  for (*whole = (size_t)SMALL * 2; *whole < size; *whole *= 2)
    class ++;
  return class;
}

void *image_alloc(void *block, size_t old_size, size_t new_size) {
  size_t old_whole = 0, old_class = block ? class_of(old_size, &old_whole) : 0;
  size_t whole, class = class_of(new_size, &whole);
  if (block && new_size && whole == old_whole) return block;
  void *to = NULL;
  if (new_size) {
    to = image->unused[class];
    if (to) {
      memcpy(&image->unused[class], to, sizeof to);
    } else {
      assert(image->used + whole <= now->room && "the image is full");
      to = (char *)image + image->used;
      image->used += whole;
    }
  }
  if (block) {
    if (to) memcpy(to, block, old_size < new_size ? old_size : new_size);
    memcpy(block, &image->unused[old_class], sizeof block);
    image->unused[old_class] = block;
  }
  return to;
}

/* A process writes to few of the pages: one that none has written to yet is protected. */
static void is_written(int number, siginfo_t *info, void *context) {
  char *at = info->si_addr;
  (void)context;
  for (struct piece *p = pieces; p < pieces + IMAGES; p++) {
    char *bottom = (char *)p->head;
    if (!bottom || at < bottom || at >= bottom + p->kept_size) continue;
    at = bottom + (at - bottom) / PAGE * PAGE;
    mprotect(at, PAGE, PROT_READ | PROT_WRITE);
    p->written[p->written_count++] = at;
    return;
  }
  signal(number, SIG_DFL); /* it is a fault, and comes again */
}

void image_keep(void) {
  memset(image->unused, 0,
         sizeof image->unused); /* a process takes new blocks behind what is kept */
  now->kept_size = (image->used + PAGE - 1) / PAGE * PAGE;
  now->kept =
      mmap(NULL, now->kept_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  now->drawn = mmap(NULL, now->room, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  now->written = calloc(now->kept_size / PAGE, sizeof *now->written);
  assert(now->kept != MAP_FAILED && now->drawn != MAP_FAILED && now->written);
  memcpy(now->kept, image, now->kept_size);
  struct sigaction action = {.sa_sigaction = is_written, .sa_flags = SA_SIGINFO};
  sigaction(SIGSEGV, &action, NULL);
  mprotect(image, now->kept_size, PROT_READ);
}

static char *behind(void) {
  return (char *)image + now->kept_size;
}

static size_t behind_size(void) {
  return now->drawn_used > now->kept_size ? now->drawn_used - now->kept_size : 0;
}

void image_draw(void) {
  now->is_drawn = true;
  now->drawn_count = now->written_count;
  now->drawn_used = image->used;
  for (size_t i = 0; i < now->drawn_count; i++)
    memcpy(now->drawn + i * PAGE, now->written[i], PAGE);
  memcpy(now->drawn + now->kept_size, behind(), behind_size());
}

bool image_restore(void) {
  size_t drawn = now->is_drawn ? now->drawn_count : 0;
  for (size_t i = 0; i < now->written_count; i++)
    memcpy(now->written[i],
           i < drawn ? now->drawn + i * PAGE : now->kept + (now->written[i] - (char *)image), PAGE);
  if (now->is_drawn) memcpy(behind(), now->drawn + now->kept_size, behind_size());
  return now->is_drawn;
}

void image_forget(void) {
  for (struct piece *p = pieces; p < pieces + IMAGES; p++)
    p->is_drawn = false;
}
