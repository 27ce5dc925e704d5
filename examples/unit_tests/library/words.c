/* words.c: see words.h. */
#include "words.h"

#include <string.h>

static const char blanks[] = " \t\r\n";

static const char *next_word(const char *text, size_t *length) {
  text += strspn(text, blanks);
  *length = strcspn(text, blanks);
  return text;
}

size_t words_count(const char *text) {
  size_t count = 0, length;
  for (text = next_word(text, &length); length > 0; text = next_word(text + length, &length))
    count++;
  return count;
}

size_t words_longest(const char *text) {
  size_t longest = 0, length;
  for (text = next_word(text, &length); length > 0; text = next_word(text + length, &length))
    if (length > longest) longest = length;
  return longest;
}

size_t words_nth(const char *text, size_t n, char *to, size_t size) {
  size_t length;
  for (text = next_word(text, &length); length > 0 && n > 0; n--)
    text = next_word(text + length, &length);
  size_t copied = length < size ? length : size > 0 ? size - 1 : 0;
  memcpy(to, text, copied);
  if (size > 0) to[copied] = '\0';
  return length;
}
