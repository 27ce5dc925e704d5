/* test_session_url.c: sessions with a server behind a URL: one whole talk with a question in
 * between, and that talk where memory or sockets fail, where it is given up, and where all is
 * closed at any moment. The server is http_mcp.c. Talks to skillrt/http.so only through
 * transport.h. */
#include "support/http_bench.h"
#include "support/messages.h"
#include "support/scratch.h"

enum { CALLS = 3 };

static struct bench b;
static struct transport *session;
static struct scratch folder;
static struct task tasks[CALLS];
static struct capture got[CALLS];
static char url[PATH_MAX + 64];
static int heard, settled;
static bool no_http;

static const char initialize[] = "{\"id\":\"open\",\"method\":\"initialize\"}";
static const char initialized[] = "{\"method\":\"notifications/initialized\"}";
static const char call[] = "{\"id\":1,\"method\":\"tools/call\"}";
static const char answer[] = "{\"id\":\"q\",\"result\":{}}";
static const char asks[] = "{\"id\":\"q\",\"method\":\"roots/list\"}";
static const char told[] =
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[{\"type\":\"text\","
    "\"text\":\"done\"}]}}";

static void note_event(void *data, const char *source, struct span bytes) {
  (void)data, (void)source, (void)bytes;
  heard++;
}

static void note_settled(void *data) {
  (void)data;
  settled++;
}

static struct transport *give_http(void *data, struct error *e) {
  (void)data;
  if (no_http) error_set(e, ERROR_MISSING, "no http.so");
  return no_http ? NULL : b.transport;
}

static void setup(void) {
  struct error e;
  bench_open(&b);
  heard = settled = 0;
  if (!session_open(&b.world.sys, &b.loop, &session, &e)) abort();
  session->owner = (struct transport_owner){.data = &b,
                                            .settled = note_settled,
                                            .event = note_event,
                                            .notice = note_event,
                                            .read = read_message,
                                            .http = give_http};
  snprintf(url, sizeof url, "http://%s/mcp%.4000s", b.place, folder.path);
  for (int i = 0; i < CALLS; i++) {
    task_init(&tasks[i], sys_real());
    capture_init(&got[i], session);
  }
}

static void teardown(void) {
  b.world.fail_alloc = b.world.fail_call = 0;
  if (session) session->ops->close(session);
  session = NULL;
  for (int i = 0; i < CALLS; i++) {
    CHECK(got[i].replies <= 1 && got[i].exchange.handle == NULL);
    task_clear(&tasks[i]);
    buffer_clear(&tasks[i].body);
    capture_clear(&got[i]);
  }
  uv_run(&b.loop, UV_RUN_NOWAIT);
  bench_close(&b);
}

static void script(const char *kind, const char *text) {
  scratch_write(&folder, kind, text, strlen(text));
}

static bool came(const char *kind) {
  size_t length;
  char *text = scratch_read(&folder, kind, &length);
  free(text);
  return text != NULL;
}

static bool tell(int i, const char *id, const char *message) {
  struct error e = {0};
  struct task *task = &tasks[i];
  task->kind = TASK_SESSION;
  task->session.takes_questions = true;
  task->total_ms = 5000;
  CHECK(task_set(task, &task->target, "far", &e) && task_set(task, &task->session.url, url, &e) &&
        task_set(task, &task->session.reply_id, id, &e) &&
        task_set(task, &task->session.keeps, "Mcp-Session-Id", &e));
  add(&task->session.opening, initialize);
  add(&task->session.opening, initialized);
  add(&task->session.opening_ids, "\"open\"");
  add(&task->session.opening_ids, "");
  task->session.follows = message == answer;
  add(&task->session.headers, "X-Ours: 1");
  CHECK(buffer_string(&task->body, message, &e));
  bool sent = session->ops->send(session, &got[i].exchange, task, &e);
  CHECK(sent || *e.text);
  CHECK(got[i].replies == 0); /* never from inside send */
  return sent;
}

static void until_settled(void) {
  for (int64_t end = now_ms() + PATIENCE_MS; session->ops->ending(session) && now_ms() < end;)
    uv_run(&b.loop, UV_RUN_ONCE);
}

static void script_talk(const char *listens) {
  char text[1024];
  scratch_empty(&folder);
  snprintf(text, sizeof text, "sse\nevent %s\nawait answer.1\nsay done\n", asks);
  script("tools_call", text);
  script("GET", listens);
}

/* A call, its question, what follows; then the run is over. Whether it went well. */
static bool talk(void) {
  bool well = tell(0, "1", call);
  if (well) capture_wait(&got[0], &b.loop);
  well = well && got[0].reply.status == REPLY_OK && got[0].reply.code == 0;
  if (well) CHECK_STR(got[0].body, asks);
  if (well) well = tell(1, "1", answer);
  if (well) capture_wait(&got[1], &b.loop);
  well = well && got[1].reply.status == REPLY_OK && got[1].reply.code == 0;
  if (well) CHECK_STR(got[1].body, told);
  session->ops->retire(session);
  until_settled();
  return well;
}

static void test_talk(void) {
  TEST("a question is the answer, and what follows is told the answer to the call") {
    script_talk("json 405 no");
    setup();
    CHECK(talk() && came(".DELETE.1") && settled == 1 && !session->ops->ending(session));
    teardown();
  }
  TEST("the standing request is there before the call leaves, and ends with the run") {
    script_talk("sse\nevent {\"id\":\"p\",\"method\":\"ping\"}\nhang");
    setup();
    CHECK(talk() && came(".answer.2"));
    teardown();
  }
  TEST("where the answer comes, or the stream ends, before what follows: it hears of it") {
    for (int i = 0; i < 2; i++) {
      char text[512];
      script_talk("json 405 no");
      snprintf(text, sizeof text, "sse\nevent %s\n%s", asks, i ? "" : "say done\n");
      script("tools_call", text);
      setup();
      CHECK(tell(0, "1", call));
      capture_wait(&got[0], &b.loop);
      loop_spend(&b.loop, 50);
      CHECK(tell(1, "1", answer));
      capture_wait(&got[1], &b.loop);
      CHECK(got[1].reply.status == (i ? REPLY_BROKEN : REPLY_OK) && got[1].reply.sent);
      if (!i) CHECK_STR(got[1].body, told);
      teardown();
    }
  }
  TEST("without HTTP nothing is sent, and it is told why") {
    setup();
    no_http = true;
    CHECK(!tell(0, "1", call));
    no_http = false;
    teardown();
  }
  TEST("the program that is asked for by its number and was forgotten is gone") {
    script_talk("json 405 no");
    script("tools_call", "json 404 gone");
    setup();
    tasks[0].session.epoch = 1;
    tasks[0].session.begins = true;
    CHECK(tell(0, "1", call));
    capture_wait(&got[0], &b.loop);
    CHECK(got[0].reply.status == REPLY_GONE && !got[0].reply.sent);
    tasks[1].session.epoch = 1;
    CHECK(!tell(1, "1", call));
    tasks[2].session.epoch = 2;
    tasks[2].session.begins = true;
    script("tools_call", "json 200 {\"id\":2,\"result\":{}}");
    CHECK(tell(2, "2", "{\"id\":2,\"method\":\"tools/call\"}"));
    capture_wait(&got[2], &b.loop);
    CHECK(got[2].reply.status == REPLY_OK && came(".initialize.2"));
    teardown();
  }
}

/* Whatever allocation fails: an answer or a clear failure, and nothing is left. */
static void test_memory(bool all) {
  long n = 0;
  int went_well = 0;
  for (bool reached = true; reached && n < 400;) {
    script_talk(n % 2 ? "json 405 no" : "sse\nhang");
    setup();
    b.world.allocs = 0;
    b.world.all = all;
    b.world.fail_alloc = ++n;
    went_well += talk();
    for (int i = 0; i < 2; i++)
      CHECK(got[i].replies == 0 || got[i].reply.status == REPLY_OK || got[i].reply.message[0]);
    reached = b.world.allocs >= n;
    teardown();
  }
  CHECK(n > 50 && n < 400 && went_well > 0);
}

static int refuse_socket(const struct sys *sys, int domain, int type, int protocol) {
  const struct world *w = sys->self;
  return world_refuses(sys) ? -w->refuse : sys_real()->socket(sys, domain, type, protocol);
}

static void test_faults(void) {
  TEST("the n-th allocation failing is told, and leaks nothing") {
    test_memory(false);
  }
  TEST("every allocation from the n-th on failing is told, and leaks nothing") {
    test_memory(true);
  }
  TEST("the n-th socket that cannot be opened is told") {
    int went_well = 0;
    for (long n = 1; n < 8; n++) {
      script_talk("sse\nhang");
      setup();
      b.world.sys.socket = refuse_socket;
      b.world.fail_call = n;
      went_well += talk();
      teardown();
    }
    CHECK(went_well >= 2 && went_well < 7);
  }
  TEST("closed, or given up, or told that the run is over at any moment, it leaves nothing") {
    for (int moment = 0; moment < 180; moment++) {
      script_talk(moment % 2 ? "json 405 no" : "sse\nhang");
      setup();
      bool sent = tell(0, "1", call), follows = false;
      for (int turn = 0; sent && turn < moment / 3; turn++) {
        uv_run(&b.loop, UV_RUN_NOWAIT);
        usleep(200);
        if (got[0].replies == 1 && !follows) follows = tell(1, "1", answer);
      }
      for (int i = 0; i < 2 && moment % 3 > 0; i++)
        if (got[i].exchange.handle) session->ops->cancel(session, &got[i].exchange, false);
      if (moment % 3 == 1) {
        session->ops->retire(session);
        until_settled();
      }
      teardown();
      CHECK(got[0].replies == sent && got[1].replies == follows);
    }
  }
}

int main(void) {
  if (!load()) return 1;
  scratch_make(&folder);
  test_talk();
  test_faults();
  scratch_remove(&folder);
  return check_finish();
}
