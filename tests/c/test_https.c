/* test_https.c: TLS is verified. The other side is `openssl s_server` with a certificate made on
 * the spot, both run through the process transport; without openssl the tests are skipped. */
#include "support/http_bench.h"
#include "support/scratch.h"

/* openssl's server, and the folder with its certificate and files. */
struct secure {
  struct transport *processes;
  struct capture made, served;
  struct task make, serve;
  struct scratch folder;
  int port;
};

static void secure_words(struct task *task, const char *folder, const char *const *words) {
  struct error e;
  task_init(task, sys_real());
  task->kind = TASK_PROCESS;
  add(&task->process.env, "PATH=/usr/local/bin:/usr/bin:/bin");
  if (!task_set(task, &task->process.cwd, folder, &e)) abort();
  for (; *words; words++)
    add(&task->process.args, *words);
}

static void secure_file(struct secure *s, const char *name, const char *text) {
  scratch_write(&s->folder, name, text, strlen(text));
}

/* False: openssl is not installed. */
static bool secure_make(struct secure *s, struct bench *b) {
  static const char *const words[] = {"openssl",
                                      "req",
                                      "-x509",
                                      "-newkey",
                                      "ec",
                                      "-pkeyopt",
                                      "ec_paramgen_curve:P-256",
                                      "-nodes",
                                      "-keyout",
                                      "key",
                                      "-out",
                                      "cert",
                                      "-days",
                                      "2",
                                      "-subj",
                                      "/CN=skillrt test",
                                      "-addext",
                                      "subjectAltName=IP:127.0.0.1",
                                      NULL};
  struct error e;
  memset(s, 0, sizeof *s);
  scratch_make(&s->folder);
  if (!process_open(sys_real(), &b->loop, &s->processes, &e)) abort();
  secure_words(&s->make, s->folder.path, words);
  capture_init(&s->made, s->processes);
  if (!s->processes->ops->send(s->processes, &s->made.exchange, &s->make, &e)) abort();
  capture_wait(&s->made, &b->loop);
  if (s->made.reply.status == REPLY_BROKEN) return false;
  CHECK(s->made.reply.status == REPLY_OK && s->made.reply.code == 0);
  return true;
}

static void secure_serve(struct secure *s, struct bench *b) {
  static const char *const words[] = {"openssl", "s_server", "-accept", "127.0.0.1:0", "-cert",
                                      "cert",    "-key",     "key",     "-HTTP",       NULL};
  struct error e;
  secure_file(s, "plain",
              "HTTP/1.1 200 OK\r\nContent-Length: 6\r\nConnection: close\r\n\r\nsecret");
  secure_file(s, "short", "HTTP/1.1 200 OK\r\nContent-Length: 60\r\n\r\nsecret");
  secure_file(s, "down",
              "HTTP/1.1 307 Down\r\nContent-Length: 0\r\nLocation: http://127.0.0.1:1/\r\n\r\n");
  secure_words(&s->serve, s->folder.path, words);
  capture_init(&s->served, s->processes);
  if (!s->processes->ops->send(s->processes, &s->served.exchange, &s->serve, &e)) abort();
  for (int64_t end = now_ms() + PATIENCE_MS; !s->port && !s->served.replies && now_ms() < end;) {
    loop_spend(&b->loop, 1);
    const char *at = strstr(s->served.progress, "ACCEPT 127.0.0.1:");
    if (at && strchr(at, '\n')) s->port = atoi(at + strlen("ACCEPT 127.0.0.1:"));
  }
  CHECK(s->port > 0);
  snprintf(b->place, sizeof b->place, "127.0.0.1:%d", s->port);
}

static void secure_clear(struct secure *s) {
  s->processes->ops->close(s->processes);
  scratch_remove(&s->folder);
  task_clear(&s->make);
  task_clear(&s->serve);
  capture_clear(&s->made);
  capture_clear(&s->served);
}

static void get(struct bench *b, const char *host, int port, const char *path, const char *ca) {
  struct error e;
  snprintf(b->url, sizeof b->url, "https://%s:%d%s", host, port, path);
  CHECK(task_set(&b->task, &b->task.target, b->url, &e));
  CHECK(task_set(&b->task, &b->task.http.ca_file, ca, &e));
  bench_run(b);
}

static void test_trust(struct bench *b, struct secure *s) {
  TEST("a certificate nobody vouches for is refused, for good") {
    get(b, "127.0.0.1", s->port, "/plain", NULL);
    CHECK(b->got.reply.status == REPLY_REFUSED);
    CHECK(strncmp(b->got.reply.message, b->place, strlen(b->place)) == 0);
    CHECK(strstr(b->got.reply.message, "certificate"));
  }
  TEST("a certificate of the task's own CA file is trusted") {
    get(b, "127.0.0.1", s->port, "/plain", scratch_path(&s->folder, "cert"));
    CHECK(b->got.reply.status == REPLY_OK && b->got.reply.code == 200);
    CHECK_STR(b->got.body, "secret");
  }
  TEST("trust in one task is not trust in the next") {
    get(b, "127.0.0.1", s->port, "/plain", NULL);
    CHECK(b->got.reply.status == REPLY_REFUSED);
  }
  TEST("a certificate for another name is refused") {
    get(b, "localhost", s->port, "/plain", scratch_path(&s->folder, "cert"));
    CHECK(b->got.reply.status == REPLY_REFUSED);
  }
  TEST("a CA file that is not there is refused and named") {
    get(b, "127.0.0.1", s->port, "/plain", "/no/such/ca.pem");
    CHECK(b->got.reply.status == REPLY_REFUSED);
    CHECK(strstr(b->got.reply.message, "the CA file /no/such/ca.pem cannot be used"));
  }
}

static void test_wire(struct bench *b, struct secure *s) {
  TEST("a body cut short is broken over TLS too") {
    get(b, "127.0.0.1", s->port, "/short", scratch_path(&s->folder, "cert"));
    CHECK(b->got.reply.status == REPLY_BROKEN);
    CHECK_STR(b->got.body, "secret");
  }
  TEST("a redirect from https down to http is refused") {
    b->task.http.max_redirects = 5;
    get(b, "127.0.0.1", s->port, "/down", scratch_path(&s->folder, "cert"));
    CHECK(b->got.reply.status == REPLY_REFUSED);
    CHECK(strstr(b->got.reply.message, "to another origin"));
  }
  TEST("a server that speaks no TLS gives no answer, by whatever it ends the handshake") {
    get(b, "127.0.0.1", http_server_port(b->server), "/say/x", scratch_path(&s->folder, "cert"));
    CHECK(b->got.reply.status != REPLY_OK);
    CHECK(b->got.reply.code == 0);
  }
}

int main(void) {
  struct secure s;
  struct bench b;
  if (!load()) return 1;
  bench_open(&b);
  struct error e;
  if (!task_set(&b.task, &b.task.http.method, "GET", &e)) abort();
  if (secure_make(&s, &b)) {
    secure_serve(&s, &b);
    test_trust(&b, &s);
    test_wire(&b, &s);
  } else {
    printf("# skipped: HTTPS: openssl is not installed\n");
  }
  secure_clear(&s);
  TEST("nothing is left after TLS") {
    bench_close(&b);
  }
  return check_finish();
}
