/* test_host_logs.c: the log and the traces of runs that a program embeds (skillrt.h), alone and in
 * a host: lines in a file, spans at a collector on loopback, and nothing on the terminal; and the
 * records that a run leaves in its folder. */
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "skillrt.h"
#include "support/check.h"
#include "support/http_server.h"
#include "support/scratch.h"

static struct scratch folder;
static struct http_server *server;
static char error[2048], module[300], collector[100], log_file[400];

static const char waits[] =
    "local skillrt = require 'skillrt'\n"
    "return skillrt.skill { name = 'logged', actions = { { id = 'look', run = function(_, ctx)\n"
    "  ctx.await { kind = 'command', argv = { 'true' } } ctx.wait 'go' return { n = 4 } end } } "
    "}\n";

static struct skillrt *open_in(struct skillrt_host *host, const char *work_dir, bool own) {
  char path[400];
  snprintf(path, sizeof path, "%s", scratch_path(&folder, work_dir));
  struct skillrt_options options = {.size = sizeof options,
                                    .host = host,
                                    .script = "logged",
                                    .script_text = waits,
                                    .script_size = strlen(waits),
                                    .work_dir = path,
                                    .wait = true,
                                    .own_state = own,
                                    .http_module = module,
                                    .log = log_file,
                                    .traces = collector};
  struct skillrt *run = skillrt_open(&options, error, sizeof error);
  if (!run) printf("# %s\n", error);
  CHECK(run);
  CHECK(skillrt_event(run, "go", NULL, NULL, error, sizeof error));
  return run;
}

static void step_to_the_end(struct skillrt *run) {
  struct pollfd fd = {.fd = skillrt_fd(run), .events = POLLIN};
  while (skillrt_step(run) == SKILLRT_RUNNING)
    poll(&fd, 1, skillrt_timeout_ms(run));
  CHECK_STR(skillrt_status(run), "completed");
}

/* How often a text stands in what the collector was sent. */
static int sent(const char *word) {
  int count = 0, requests = http_server_counts(server).requests;
  for (int i = 1; i <= requests; i++) {
    char name[40];
    size_t size;
    snprintf(name, sizeof name, "kept/%d", i);
    char *body = scratch_read(&folder, name, &size);
    for (char *at = body; at && (at = strstr(at, word)); at++)
      count++;
    free(body);
  }
  return count;
}

static int logged(const char *word) {
  size_t size;
  int count = 0;
  char *text = scratch_read(&folder, "log", &size);
  for (char *at = text; at && (at = strstr(at, word)); at++)
    count++;
  free(text);
  return count;
}

static void check_alone(bool own) {
  int before = sent("\"run logged\""), lines = logged("\"Run stopped\"");
  struct skillrt *run = open_in(NULL, own ? "own" : "alone", own);
  step_to_the_end(run);
  skillrt_close(run);
  CHECK(sent("\"run logged\"") == before + 1); /* closing has waited for it */
  CHECK(logged("\"Run stopped\"") == lines + 1);
}

static void check_host(void) {
  int before = sent("\"run logged\""), looked = sent("\"look\"");
  struct skillrt_host_options options = {.size = sizeof options, .never_block = true, .park_ms = 1};
  struct skillrt_host *host = skillrt_host_open(&options, error, sizeof error);
  CHECK(host);
  struct skillrt *a = open_in(host, "a", false), *b = open_in(host, "b", true);
  struct pollfd fd = {.fd = skillrt_host_fd(host), .events = POLLIN};
  while (skillrt_host_step(host) > 0) /* also what is sent */
    poll(&fd, 1, skillrt_host_timeout_ms(host));
  CHECK_STR(skillrt_status(a), "completed");
  CHECK_STR(skillrt_status(b), "completed");
  CHECK(sent("\"run logged\"") == before + 2);
  CHECK(sent("\"look\"") >= looked + 2);
  skillrt_host_close(host);
  CHECK(sent("\"traceId\"") > 0 && sent("POST /v1/traces") > 0);
}

static void check_away(void) {
  char gone[100];
  snprintf(gone, sizeof gone, "%s", collector);
  snprintf(collector, sizeof collector, "http://127.0.0.1:1");
  struct skillrt *run = open_in(NULL, "away", false);
  step_to_the_end(run);
  skillrt_close(run);
  snprintf(collector, sizeof collector, "%s", gone);
}

static void check_refused(void) {
  char path[400], *there = scratch_read(&folder, "log", &(size_t){0});
  snprintf(path, sizeof path, "%s", scratch_path(&folder, "no/such/log"));
  struct skillrt_options options = {.size = sizeof options,
                                    .script = "logged",
                                    .script_text = waits,
                                    .script_size = strlen(waits),
                                    .context = "memory",
                                    .log = path};
  CHECK(!skillrt_open(&options, error, sizeof error));
  CHECK(strncmp(error, "log: ", 5) == 0 && strstr(error, path) != NULL);
  CHECK(there && strstr(there, "\"run_id\"") && strstr(there, "\"skill\":\"logged\""));
  free(there);
}

static struct skillrt *open_recorded(struct skillrt_host *host, const char *work_dir,
                                     const char *code) {
  char path[400], text[600];
  snprintf(path, sizeof path, "%s", scratch_path(&folder, work_dir));
  snprintf(text, sizeof text,
           "return require 'skillrt'.skill { name = 'recorded', records = 'en', limits = { "
           "max_retries = 0 },\n  phases = { { id = 'look', run = function() %s end } } }\n",
           code);
  struct skillrt_options options = {.size = sizeof options,
                                    .host = host,
                                    .script = "recorded",
                                    .script_text = text,
                                    .script_size = strlen(text),
                                    .work_dir = path};
  struct skillrt *run = skillrt_open(&options, error, sizeof error);
  if (!run) printf("# %s\n", error);
  CHECK(run);
  return run;
}

static bool says(const char *file, const char *word) {
  char *text = scratch_read(&folder, file, &(size_t){0});
  bool found = text && strstr(text, word);
  free(text);
  return found;
}

static void check_records(void) {
  struct skillrt_host_options options = {.size = sizeof options, .never_block = true, .park_ms = 1};
  struct skillrt_host *host = skillrt_host_open(&options, error, sizeof error);
  struct skillrt *good = open_recorded(host, "good", "return 'x'");
  struct skillrt *bad = open_recorded(host, "bad", "return nil, 'no luck'");
  struct pollfd fd = {.fd = skillrt_host_fd(host), .events = POLLIN};
  while (skillrt_host_step(host) > 0)
    poll(&fd, 1, skillrt_host_timeout_ms(host));
  CHECK_STR(skillrt_status(good), "completed");
  CHECK_STR(skillrt_status(bad), "failed");
  CHECK(says("good/execution-record.md", "look") && says("good/execution-record.md", "completed"));
  CHECK(!says("good/error-report.md", ""));
  CHECK(says("bad/execution-record.md", "no luck") && says("bad/error-report.md", "no luck"));
  skillrt_host_close(host);
  mkdir(scratch_path(&folder, "taken"), 0700);
  mkdir(scratch_path(&folder, "taken/execution-record.md"), 0700);
  struct skillrt *taken = open_recorded(NULL, "taken", "return 'x'");
  step_to_the_end(taken);
  CHECK(strstr(skillrt_message(taken), "execution-record.md"));
  skillrt_close(taken);
}

int main(void) {
  const char *build = getenv("SKILLRT_BUILD");
  scratch_make(&folder);
  snprintf(module, sizeof module, "./%s/lib/skillrt/http.so", build ? build : "build/release");
  snprintf(log_file, sizeof log_file, "%s", scratch_path(&folder, "log"));
  mkdir(scratch_path(&folder, "kept"), 0700);
  server = http_server_start(NULL, NULL, 0);
  CHECK(server);
  http_server_keep(server, scratch_path(&folder, "kept"));
  snprintf(collector, sizeof collector, "http://127.0.0.1:%d", http_server_port(server));
  TEST("a run alone writes its log, and closing it waits for its last spans (R150)") {
    check_alone(false);
    check_alone(true);
  }
  TEST("runs of a host share a log, and send their spans while it goes on") {
    check_host();
  }
  TEST("a collector that is away costs spans, never the run") {
    check_away();
  }
  TEST("a log that cannot be written is refused when the run is opened") {
    check_refused();
  }
  TEST("a run of a host leaves its records behind when it is over, or says why not (R185, R189)") {
    check_records();
  }
  http_server_stop(server);
  scratch_remove(&folder);
  return check_finish();
}
