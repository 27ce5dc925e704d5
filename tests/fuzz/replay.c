/* replay.c: the main of a fuzz target outside libFuzzer: feeds it every file of the folders named
 * on the command line once, in the order of their names, so that `make test` proves the committed
 * corpus with any compiler. An input that breaks the target ends the program. */
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_BYTES = 1 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int visible(const struct dirent *entry) {
  return entry->d_name[0] != '.';
}

static int replay_file(const char *path) {
  FILE *file = fopen(path, "rb");
  if (!file) {
    fprintf(stderr, "%s: %s\n", path, strerror(errno));
    return 1;
  }
  unsigned char *data = malloc(MAX_BYTES);
  size_t size = data ? fread(data, 1, MAX_BYTES, file) : 0;
  fclose(file);
  /* a block of exactly this size, so that ASan sees the first byte beyond */
  unsigned char *exact = data ? malloc(size ? size : 1) : NULL;
  if (exact) {
    memcpy(exact, data, size);
    printf("# %s\n", path);
    fflush(stdout);
    LLVMFuzzerTestOneInput(exact, size);
  }
  free(data);
  free(exact);
  return exact ? 0 : 1;
}

int main(int count, char **args) {
  size_t inputs = 0;
  for (int i = 1; i < count; i++) {
    struct dirent **entries;
    int n = scandir(args[i], &entries, visible, alphasort);
    if (n < 0) fprintf(stderr, "%s: %s\n", args[i], strerror(errno));
    for (int k = 0; k < n; k++) {
      char path[4096];
      snprintf(path, sizeof path, "%s/%s", args[i], entries[k]->d_name);
      free(entries[k]);
      if (replay_file(path)) return 1;
      inputs++;
    }
    if (n >= 0) free(entries);
  }
  LLVMFuzzerTestOneInput((const uint8_t *)"", 0);
  printf("%zu inputs replayed\n", inputs);
  return 0;
}
