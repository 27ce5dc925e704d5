/* test_base_below.c: files below a folder: no link is followed, nothing is waited for, and what is
 * written so survives a power cut. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/below.h"
#include "base/sys_below.h"
#include "support/check.h"
#include "support/faulty_sys.h"
#include "support/scratch.h"

static struct error e;

static bool put(const struct sys *sys, struct scratch *s, const char *name, bool durable) {
  struct span text = {"content", 7};
  error_clear(&e);
  return below_replace(sys, scratch_path(s, "run"), name, text, 0600, durable, &e);
}

static bool is_there(struct scratch *s, const char *name) {
  size_t length = 0;
  char *bytes = scratch_read(s, name, &length);
  bool good = bytes && length == 7 && memcmp(bytes, "content", 7) == 0;
  free(bytes);
  return good;
}

static void fresh(struct scratch *s) {
  scratch_empty(s);
  mkdir(scratch_path(s, "run"), 0700);
  mkdir(scratch_path(s, "outside"), 0700);
  scratch_write(s, "outside/secret", "secret", 6);
}

static bool count_one(void *data, const char *name, enum sys_kind kind) {
  (void)name, (void)kind;
  ++*(long *)data;
  return true;
}

/* Asks to read `name`; the text or "". */
static const char *text_of(struct scratch *s, const char *name) {
  static char text[64];
  struct buffer to;
  struct sys_stat about;
  error_clear(&e);
  buffer_init(&to, sys_real(), 1000);
  bool good = below_read(sys_real(), scratch_path(s, "run"), name, &to, &e);
  snprintf(text, sizeof text, "%s", good && to.data ? to.data : "");
  buffer_clear(&to);
  struct error ignored;
  if (!good) CHECK(!below_settle(sys_real(), scratch_path(s, "run"), name, &ignored));
  if (good) CHECK(below_stat(sys_real(), scratch_path(s, "run"), name, &about, &ignored));
  return text;
}

static void test_links(struct scratch *s) {
  fresh(s);
  TEST("a file is written and read in folders that are made, and nothing else is left") {
    CHECK(put(sys_real(), s, "a/b//c/out.md", true) && is_there(s, "run/a/b/c/out.md"));
    CHECK(put(sys_real(), s, "a/b//c/out.md", false) && put(sys_real(), s, "top", false));
    CHECK_STR(text_of(s, "a/b/c/out.md"), "content");
    CHECK(scratch_count(s, "run", "") == 2 && scratch_count(s, "run/a/b/c", "") == 1);
  }
  TEST("a link on the way is refused for writing and reading, wherever it leads") {
    CHECK(symlink("../outside", scratch_path(s, "run/link")) == 0);
    CHECK(symlink("a", scratch_path(s, "run/inside")) == 0);
    const char *names[] = {"link/secret", "link/new", "link/deep/new", "inside/b/c/out.md"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
      CHECK(!put(sys_real(), s, names[i], i % 2) && e.code == ERROR_INVALID);
      CHECK(strstr(e.text, "leads through a link"));
      CHECK_STR(text_of(s, names[i]), "");
      CHECK(e.code == ERROR_INVALID && strstr(e.text, names[i]));
    }
    CHECK(scratch_count(s, "outside", "") == 1);
  }
  TEST("a link in the place of the file is not read, and is replaced, not followed") {
    CHECK(symlink("../outside/secret", scratch_path(s, "run/out")) == 0);
    CHECK_STR(text_of(s, "out"), "");
    CHECK(e.code == ERROR_INVALID);
    CHECK(put(sys_real(), s, "out", true) && is_there(s, "run/out"));
    size_t length;
    char *secret = scratch_read(s, "outside/secret", &length);
    CHECK(secret && length == 6);
    free(secret);
  }
  TEST("a path that climbs out is refused") {
    CHECK(!put(sys_real(), s, "../outside/x", false) && e.code == ERROR_INVALID);
    CHECK(!put(sys_real(), s, "a/../../outside/x", false) && e.code == ERROR_INVALID);
    CHECK_STR(text_of(s, "../outside/secret"), "");
    CHECK(scratch_count(s, "outside", "") == 1);
  }
  TEST("a folder is listed, and one that is not there, or is a file or a link, is none") {
    static const char *const none[] = {"none", "top", "link", "../outside"};
    long count = 0;
    CHECK(below_list(sys_real(), scratch_path(s, "run"), "a", count_one, &count, &e) && count == 1);
    for (size_t i = 0; i < 4; i++) {
      error_clear(&e);
      CHECK(!below_list(sys_real(), scratch_path(s, "run"), none[i], count_one, &count, &e));
      CHECK(e.code != ERROR_NONE && count == 1);
    }
  }
  TEST("a pipe, a folder or nothing is no file, and nobody waits for it") {
    alarm(20);
    CHECK(mkfifo(scratch_path(s, "run/pipe"), 0600) == 0);
    CHECK_STR(text_of(s, "pipe"), "");
    CHECK(e.code == ERROR_INVALID && strstr(e.text, "/run/pipe: not a regular file"));
    CHECK_STR(text_of(s, "a"), "");
    CHECK(e.code == ERROR_INVALID);
    CHECK_STR(text_of(s, "none"), "");
    CHECK(e.code == ERROR_MISSING);
    CHECK(put(sys_real(), s, "pipe", false) && is_there(s, "run/pipe"));
    CHECK(!put(sys_real(), s, "a", false) && e.number == EISDIR);
    CHECK(!put(sys_real(), s, "top/x", false) && e.number == ENOTDIR);
    alarm(0);
  }
}

/* Both ways of the real world answer alike. */
static void test_walk(struct scratch *s) {
  static const char *const names[] = {"a/b/c/out.md", "a//b/c", "top",  "none",     "none/x",
                                      "link/secret",  "inside", "..",   "a/../top", "/etc/passwd",
                                      "top/x",        "a/b/",   "link", "a/./b"};
  TEST("a kernel that cannot open below a folder at once gets the same answers by a walk") {
    int folder = open(scratch_path(s, "run"), O_RDONLY | O_DIRECTORY);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
      for (int path = 0; path < 2; path++) {
        int flags = path ? O_PATH : O_RDONLY;
        int at_once = sys_real_open_below(sys_real(), folder, names[i], flags);
        int walked = sys_walk_below(folder, names[i], flags);
        if (strcmp(names[i], "a/../top") == 0) /* the walk refuses it, though it stays inside */
          CHECK(walked == -EXDEV);
        else
          CHECK((at_once < 0 ? at_once : 0) == (walked < 0 ? walked : 0));
        if (at_once >= 0) close(at_once);
        if (walked >= 0) close(walked);
      }
    close(folder);
  }
}

/* The longest name there may be, and one that begins with it. */
static void test_walk_long(struct scratch *s) {
  char name[NAME_MAX + 2];
  memset(name, 'x', sizeof name);
  TEST("a name that is too long is none, by a walk either, though the beginning of it is one") {
    int folder = open(scratch_path(s, "run"), O_RDONLY | O_DIRECTORY);
    name[NAME_MAX] = '\0';
    close(openat(folder, name, O_WRONLY | O_CREAT, 0600));
    int walked = sys_walk_below(folder, name, O_RDONLY);
    CHECK(walked >= 0);
    close(walked);
    name[NAME_MAX] = 'x';
    name[NAME_MAX + 1] = '\0';
    CHECK(sys_walk_below(folder, name, O_RDONLY) == -ENAMETOOLONG);
    CHECK(sys_real_open_below(sys_real(), folder, name, O_RDONLY) == -ENAMETOOLONG);
    close(folder);
  }
}

/* Descriptor 0 is one like any other: a parent may have closed it. */
static void test_walk_from_zero(struct scratch *s) {
  TEST("a walk goes on where a folder on the way has the number of a closed standard input") {
    int folder = open(scratch_path(s, "run"), O_RDONLY | O_DIRECTORY), kept = dup(0);
    close(0);
    int walked = sys_walk_below(folder, "a/b/c/out.md", O_RDONLY);
    char bytes[8] = "";
    CHECK(walked >= 0 && read(walked, bytes, 7) == 7 && memcmp(bytes, "content", 7) == 0);
    close(walked);
    dup2(kept, 0);
    close(kept);
    close(folder);
  }
}

static void test_harm(struct scratch *s) {
  TEST("whichever call fails or is interrupted: an error or the file, whole, and no descriptor "
       "left") {
    for (int number = EINTR; number <= EIO; number += EIO - EINTR) {
      bool met = true;
      uint64_t n = 1;
      for (; met; n++) {
        struct faulty *f = faulty_new(sys_real());
        unsigned mask = FAULTY_FILES & ~FAULTY_BIT(FAULTY_RENAME) & ~FAULTY_BIT(FAULTY_MKDIR) &
                        ~FAULTY_BIT(FAULTY_STAT);
        if (number == EIO) mask = FAULTY_FILES;
        fresh(s);
        faulty_fail(f, mask, n, number, FAULTY_ONCE);
        bool good = put(faulty_sys(f), s, "a/b/out", true);
        met = faulty_count(f, mask) >= n;
        CHECK(good ? is_there(s, "run/a/b/out") : e.text[0] != '\0');
        CHECK(good || number == EIO);
        CHECK(faulty_open_files(f) == 0);
        CHECK(scratch_count(s, "run", "out.new-") == 0);
        faulty_free(f);
      }
      CHECK(n > 10);
    }
  }
  TEST("what was kept durably is there after a power cut, with its folders; a settled file, too") {
    struct faulty *f = faulty_new(sys_real());
    fresh(s);
    faulty_power(f, s->path);
    CHECK(put(faulty_sys(f), s, "a/b/out", true));
    CHECK(put(faulty_sys(f), s, "c/lost", false) && put(faulty_sys(f), s, "d/kept", false));
    CHECK(below_settle(faulty_sys(f), scratch_path(s, "run"), "d/kept", &e));
    faulty_power_cut(f, FAULTY_STRICT, 0);
    CHECK(is_there(s, "run/a/b/out") && is_there(s, "run/d/kept") && !is_there(s, "run/c/lost"));
    faulty_free(f);
  }
}

/* Adds a byte to the file before each of its parts is read. */
static ssize_t pread_of_growing(const struct sys *sys, int fd, void *to, size_t size,
                                int64_t offset) {
  char path[64];
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  FILE *file = fopen(path, "a");
  CHECK(file && fputc('+', file) == '+' && fclose(file) == 0);
  return sys_real()->pread(sys, fd, to, size, offset);
}

static void test_growing(struct scratch *s) {
  TEST("the size of a file that grows while a part of it is read has that part in it") {
    struct sys growing = *sys_real();
    struct buffer to;
    int64_t size = 0;
    growing.pread = pread_of_growing;
    fresh(s);
    scratch_write(s, "run/log", "0123456789", 10);
    buffer_init(&to, sys_real(), 7);
    CHECK(below_read_part(&growing, scratch_path(s, "run"), "log", 6, &to, &size, &e));
    CHECK(to.length == 7 && memcmp(to.data, "6789+++", 7) == 0 && size == 13);
    buffer_clear(&to);
  }
}

int main(void) {
  struct scratch s;
  scratch_make(&s);
  test_links(&s);
  test_walk(&s);
  test_walk_from_zero(&s);
  test_walk_long(&s);
  test_harm(&s);
  test_growing(&s);
  scratch_remove(&s);
  return check_finish();
}
