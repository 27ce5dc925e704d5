/* edit.c: see edit.h.
 *
 * libedit does it. It is loaded with the first line that is asked for, where it is installed: the
 * program needs it neither to be built nor to run. Without it the kernel edits: it erases a
 * character, a word or the line. libedit asks us for each character, so that the loop keeps
 * running, and a signal or the time of a question ends the line. Called by bind_terminal.c. */
#include "lua/edit.h"

#include <dlfcn.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

/* From histedit.h of libedit 3.1. */
typedef struct editline EditLine;
enum { EL_PROMPT = 0, EL_EDITOR = 2, EL_GETCFN = 13 };

static struct {
  bool tried;
  EditLine *el; /* lives as long as the process: its end would drop what was typed ahead */
  locale_t utf8;
  int (*set)(EditLine *, int what, ...);
  const char *(*gets)(EditLine *, int *count);
  void (*resize)(EditLine *);
} libedit;

/* The line that is being read: the functions that libedit calls get no data of ours. */
static struct {
  const char *prompt;
  edit_next *next;
  void *data;
} line;

/* Stores the address of a function of the library in `*to`. */
static bool find(void *library, const char *name, void *to) {
  void *found = dlsym(library, name);
  memcpy(to, &found, sizeof found); /* C has no cast from an object to a function */
  return found != NULL;
}

static char *prompt_of(EditLine *el) {
  (void)el;
  static char prompt[400];
  snprintf(prompt, sizeof prompt, "%s", line.prompt);
  return prompt;
}

/* One character of UTF-8; a byte that begins none is left out. 0: none will come. */
static int next_character(EditLine *el, wchar_t *to) {
  (void)el;
  mbstate_t state = {0};
  char byte;
  while (line.next(line.data, &byte) == 1) {
    size_t size = mbrtowc(to, &byte, 1, &state);
    if (size <= 1) return 1;
    if (size == (size_t)-1) memset(&state, 0, sizeof state);
  }
  return 0;
}

static void load(void) {
  EditLine *(*init)(const char *program, FILE *in, FILE *out, FILE *err);
  libedit.tried = true;
  void *library = dlopen("libedit.so.2", RTLD_NOW | RTLD_LOCAL);
  libedit.utf8 = library ? newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0) : (locale_t)0;
  if (!libedit.utf8 || !find(library, "el_init", &init) || !find(library, "el_set", &libedit.set) ||
      !find(library, "el_gets", &libedit.gets) || !find(library, "el_resize", &libedit.resize))
    return;
  locale_t before = uselocale(libedit.utf8);
  libedit.el = init("skillrt", stdin, stdout, stderr);
  if (libedit.el) {
    libedit.set(libedit.el, EL_PROMPT, prompt_of);
    libedit.set(libedit.el, EL_EDITOR, "emacs"); /* asks the locale what is a character */
    libedit.set(libedit.el, EL_GETCFN, next_character);
  }
  uselocale(before);
}

bool edit_line(const char *prompt, edit_next *next, void *data, struct buffer *to, bool *whole) {
  const char *term = getenv("TERM");
  if (!term || strcmp(term, "dumb") == 0) return false; /* libedit would complain on the screen */
  if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)) return false;
  if (!libedit.tried) load();
  if (!libedit.el) return false;
  locale_t before = uselocale(libedit.utf8);
  line.prompt = prompt, line.next = next, line.data = data;
  libedit.resize(libedit.el);
  int count = 0;
  const char *text = libedit.gets(libedit.el, &count);
  size_t size = text && count > 0 ? strlen(text) : 0;
  *whole = size > 0 && text[size - 1] == '\n';
  if (*whole) buffer_append(to, text, size - 1, NULL);
  uselocale(before);
  return true;
}
