/* scripted_http.c: a module in the place of skillrt/http.so whose exchanges are the fake programs
 * of support/programs.h, so that a test decides in which order replies come. Has nothing of its
 * own: the program that opens it does all. */
#include "support/programs.h"

__attribute__((visibility("default"))) extern http_open_function skillrt_http_open;

bool skillrt_http_open(const struct sys *sys, struct uv_loop_s *loop, struct transport **to,
                       struct error *error) {
  return programs_http_open(sys, loop, to, error);
}
