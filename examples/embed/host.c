/* host.c: a program of its own that runs a skill inside its own loop.
 *
 *   host SCRIPT DIRECTORY            begins a run in DIRECTORY
 *   host --resume DIRECTORY          resumes it
 *
 * The loop here is poll() with one descriptor more than the run's: standard input, where the
 * word "stop" stops the run and leaves it resumable. Prints each record once it is durable.
 * Ends with 0 where the run completed, 3 where it paused, 1 otherwise.
 *
 * To build: cc host.c $(pkg-config --cflags --libs skillrt) -o host */
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "skillrt.h"

static void on_record(void *data, const char *json, size_t size) {
  FILE *out = data;
  fwrite(json, 1, size, out);
  fputc('\n', out);
  fflush(out);
}

/* Whether the person wrote "stop"; forgets standard input at its end. */
static int read_word(struct pollfd *input) {
  char word[64] = "";
  ssize_t size = read(input->fd, word, sizeof word - 1);
  if (size <= 0) input->fd = -1; /* poll looks at it no more */
  return strncmp(word, "stop", 4) == 0;
}

static void run_to_its_end(struct skillrt *run) {
  struct pollfd watched[2] = {{.fd = skillrt_fd(run), .events = POLLIN},
                              {.fd = STDIN_FILENO, .events = POLLIN}};
  while (skillrt_step(run) == SKILLRT_RUNNING) {
    if (poll(watched, 2, skillrt_timeout_ms(run)) <= 0) continue;
    if (watched[1].fd >= 0 && watched[1].revents && read_word(&watched[1])) skillrt_stop(run);
  }
}

static int report(struct skillrt *run) {
  size_t size = 0;
  const char *status = skillrt_status(run), *state = skillrt_state_json(run, &size);
  printf("%s (%s) %s\n", status, skillrt_reason(run), skillrt_message(run));
  if (state) printf("%.*s\n", (int)size, state);
  return strcmp(status, "completed") == 0 ? 0 : strcmp(status, "paused") == 0 ? 3 : 1;
}

int main(int count, char **words) {
  struct skillrt_options options = {.size = sizeof options, .on_record = on_record, .data = stdout};
  char error[1024];
  if (count != 3) {
    fprintf(stderr, "usage: host SCRIPT DIRECTORY | host --resume DIRECTORY\n");
    return 2;
  }
  options.resume = strcmp(words[1], "--resume") == 0;
  options.script = options.resume ? NULL : words[1];
  options.work_dir = words[2];
  struct skillrt *run = skillrt_open(&options, error, sizeof error);
  if (!run) {
    fprintf(stderr, "host: %s\n", error);
    return 1;
  }
  run_to_its_end(run);
  int code = report(run);
  skillrt_close(run);
  return code;
}
