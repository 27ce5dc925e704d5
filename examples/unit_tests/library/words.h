/* words.h: words of a text, parted by blanks. */
#ifndef WORDS_H
#define WORDS_H

#include <stddef.h>

/* How many words there are. */
size_t words_count(const char *text);
/* The length of the longest one; 0 where there is none. */
size_t words_longest(const char *text);
/* Copies the n-th word, from 0, cut to fit; gives its whole length, 0 where there is none. */
size_t words_nth(const char *text, size_t n, char *to, size_t size);

#endif
