/* image.h: the memory of a simulated process: one piece, of which a copy is kept once all modules
 * are loaded, and, for the processes of one point, a second one once their skill is drawn. A
 * process begins with that copy and is forgotten with all it took, wherever it was killed.
 *
 * A fork would do the same, and costs more than the run itself: each page that is written to is
 * copied by the kernel. Everything that a run allocates lies here: Lua's memory and that of struct
 * sys. */
#ifndef SKILLRT_SIM_IMAGE_H
#define SKILLRT_SIM_IMAGE_H

#include <stdbool.h>
#include <stddef.h>

enum { IMAGES = 3 };

/* Of several processes at once each has one; that of `which` is meant from now on. */
void image_use(unsigned which);
unsigned image_now(void);
void image_open(size_t size);
/* As realloc with sizes; new_size 0 frees. Aborts where the piece is full. */
void *image_alloc(void *block, size_t old_size, size_t new_size);
void image_keep(void);    /* what is there now is what each process begins with */
void image_draw(void);    /* ... and what those of this point begin with */
void image_forget(void);  /* the point is over, for all pieces */
bool image_restore(void); /* a process begins; whether with what was drawn for its point */

#endif
