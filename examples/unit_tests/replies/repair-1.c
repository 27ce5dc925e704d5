/* test_words.c: unit tests of words.c. */
#include "words.h"

#include <stdio.h>
#include <string.h>

static int failed;

#define CHECK(what)                                                                                \
  do {                                                                                             \
    if (!(what)) printf("FAILED line %d: %s\n", __LINE__, #what), failed = 1;                      \
  } while (0)

static void counts(void) {
  CHECK(words_count("") == 0);
  CHECK(words_count(" \t\n") == 0);
  CHECK(words_count("one") == 1);
  CHECK(words_count("  one two\tthree\n") == 3);
}

static void finds_the_longest(void) {
  CHECK(words_longest("") == 0);
  CHECK(words_longest("a bbb cc") == 3);
}

static void copies_one(void) {
  char word[4];
  CHECK(words_nth("one two", 1, word, sizeof word) == 3 && strcmp(word, "two") == 0);
  CHECK(words_nth("longer", 0, word, sizeof word) == 3 && strcmp(word, "lon") == 0);
  CHECK(words_nth("one", 1, word, sizeof word) == 0 && strcmp(word, "") == 0);
}

int main(void) {
  counts();
  finds_the_longest();
  copies_one();
  if (!failed) printf("all tests passed\n");
  return failed;
}
