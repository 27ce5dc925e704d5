/* test_jail_programs.c: programs that mean no harm work in a jail as they do without: each line is
 * run without one first, so that one whose program is not on this machine is left out, and said to
 * be. */
#include <signal.h>
#include <stdlib.h>

#include "support/jail_kit.h"

static char place[600];

/* Two servers of this machine, and the word that grants the first. Nothing listens under their
 * addresses in a jail: what reaches the first went through the proxy. */
static char granted[64], other[64], reach[80];

struct line {
  const char *name, *words; /* more words of its jail, with a place for the work folder */
  const char *script;
};

static const struct line lines[] = {
    {"a pipeline of a shell", "", "seq 1 1000 | sort -rn | head -1 | grep -qx 1000"},
    {"a here document and a substitution of processes", "",
     "bash -c 'diff <(printf 1) <(printf 1) && cat <<< x | grep -q x'"},
    {"sed, awk, find, xargs", "",
     "mkdir -p d && echo a > d/f && find d -type f -print0 | xargs -0 sed -i s/a/b/ && awk '{ exit "
     "$1 != \"b\" }' d/f"},
    {"a sort with files of its own in /tmp", "",
     "seq 1 60000 | sort -S 100K -T /tmp -rn | tail -1 | grep -qx 1"},
    {"a temporary file, a fifo and a lock", "",
     "f=$(mktemp) && rm $f && mkfifo p && (echo hello > p &) && grep -q hello < p && rm p && flock "
     "lock true"},
    {"tar and gzip", "",
     "mkdir -p t && echo x > t/x && tar czf t.tgz t && tar tzf t.tgz | grep -q x"},
    {"a program that ends its own", "",
     "sleep 30 & kill $!; wait $!; test $? = 143 && ! timeout 0.1 sleep 30"},
    {"ps, which sees itself", "", "ps -o pid= -p $$ | grep -q . && test -d /proc/self"},
    {"make and cc", "",
     "printf 'int main(void){return 0;}\\n' > m.c && printf 'm: m.c\\n\\tcc -o m m.c\\n' > "
     "Makefile "
     "&& make -s m && ./m"},
    {"git, in a repository that it begins", "",
     "rm -rf g && git init -q g && cd g && echo x > x && git add x && git -c user.name=a -c "
     "user.email=a@b commit -qm x && git log --oneline | grep -q x && git clone -q . ../g2 && rm "
     "-rf "
     "../g2"},
    {"git, that reads the repository that it is in", "",
     "git log --oneline | grep -q begun && git status --short > /dev/null && git diff --stat > "
     "/dev/null"},
    {"git, that commits where .git was granted", "write %s/.git",
     "echo y >> tracked && git -c user.name=a -c user.email=a@b commit -qam y && git log --oneline "
     "| "
     "grep -q y"},
    {"python3, with threads and programs", "",
     "python3 -c \"import threading, subprocess, tempfile, os; t = threading.Thread(target=print); "
     "t.start(); t.join(); assert subprocess.check_output(['echo', 'x']) == b'x\\n'; "
     "tempfile.TemporaryFile(); os.listdir('/proc/self/fd')\""},
    {"python3, with a pool of processes", "",
     "python3 -c \"import multiprocessing as m; assert m.Pool(2).map(abs, [-1, -2]) == [1, 2]\""},
    {"python3, with a pool and a manager's socket", "unix",
     "python3 -c \"import multiprocessing as m; d = m.Manager().dict(); d['a'] = 1; assert d['a'] "
     "== "
     "1\""},
    {"python3, with sqlite", "",
     "python3 -c \"import sqlite3; d = sqlite3.connect('p.db'); d.execute('create table if not "
     "exists "
     "t(x)'); d.commit()\""},
    {"python3, with a terminal of its own", "",
     "python3 -c \"import pty; assert pty.spawn(['true']) == 0\" < /dev/null"},
    {"a venv of python3", "", "python3 -m venv --without-pip v && v/bin/python -c 'import sys'"},
    {"node, with a server and a client of its own", "",
     "node -e \"const h = require('http'); const s = h.createServer((q, r) => "
     "r.end('x')).listen(0, "
     "'127.0.0.1', () => h.get({ port: s.address().port, host: '127.0.0.1' }, r => { r.resume(); "
     "r.on('end', () => { console.log('ok'); s.close() }) }))\" | grep -q ok"},
    {"node, with workers and programs", "",
     "node -e \"const { Worker } = require('worker_threads'); new Worker('1', { eval: true "
     "}).on('exit', () => console.log(require('child_process').execSync('echo x').toString()))\" | "
     "grep -q x"},
    {"npm test, without a network", "",
     "printf '{\"name\":\"a\",\"version\":\"1.0.0\",\"scripts\":{\"test\":\"node -e 0\"}}' > "
     "package.json && npm test --silent"},
    {"sqlite3", "", "sqlite3 s.db 'create table if not exists t(x); select 1;' | grep -qx 1"},
    {"perl", "", "perl -e 'open my $f, \">\", \"perl.txt\" or die; print $f 1'"},
    {"lua", "",
     "lua5.4 -e 'local f = assert(io.open(\"l.txt\", \"w\")) f:write(1) f:close() "
     "assert(os.execute(\"true\"))'"},
    {"openssl, that draws randomness", "", "openssl rand -hex 8 | grep -qE '^[0-9a-f]{16}$'"},
    {"cmake and ninja", "",
     "rm -rf cm && mkdir cm && cd cm && echo 'int main(void){return 0;}' > m.c && printf "
     "'cmake_minimum_required(VERSION 3.10)\nproject(m C)\nadd_executable(m m.c)\n' > "
     "CMakeLists.txt && cmake -G Ninja -B b . > /dev/null && ninja -C b > /dev/null && b/m"},
    {"c++, a library and its index", "",
     "echo 'int f(){return 7;}' > f.cc && g++ -c f.cc && ar rcs libf.a f.o && echo 'int f();int "
     "main(){return f()-7;}' > n.cc && g++ n.cc -L. -lf -o n && strip n && ./n"},
    {"clang", "", "echo 'int main(void){return 0;}' > k.c && clang -O2 k.c -o k && ./k"},
    {"cargo test, without a network", "",
     "rm -rf r && cargo init -q --vcs none --lib --name r r && cd r && cargo test -q --offline > "
     "/dev/null"},
    {"javac and java", "",
     "printf 'class A { public static void main(String[] a) { System.out.println(7); } }' > "
     "A.java && javac A.java && java A | grep -qx 7"},
    {"m4, bc and jq", "",
     "test \"$(echo 'define(a,7)a' | m4)\" = 7 && test $(echo 3+4 | bc) = 7 && echo '[7]' | jq -e "
     "'.[0]==7' > /dev/null"},
    {"patch and diff", "",
     "echo a > o && echo b > p2 && ! diff -u o p2 > d.patch && patch -s o d.patch && cmp o p2"},
    {"xz, zstd and zip", "",
     "echo x > z && xz -kf z && zstd -qf z && rm -f z.zip && zip -q z.zip z && xzcat z.xz | grep "
     "-q "
     "x && zstdcat z.zst | grep -q x && unzip -p z.zip | grep -q x"},
    {"an editor, with a script", "",
     "printf 'a\none\n.\nw ed.txt\nq\n' | ed -s && vim -es -u NONE -c 's/one/two/' -c wq ed.txt; "
     "grep -qx two ed.txt"},
    {"ssh-keygen, that makes a key where it works", "",
     "rm -f key key.pub && ssh-keygen -q -t ed25519 -N '' -f key && ssh-keygen -lf key.pub | grep "
     "-q 256"},
    {"busted, of a spec of its own", "",
     "printf 'describe(\"a\", function() it(\"b\", function() assert.is_true(true) end) end)' > "
     "a_spec.lua && busted a_spec.lua > /dev/null"},
    {"luacheck", "", "echo 'return 1' > ok.lua && luacheck -q ok.lua"},
    {"tclsh", "", "echo 'puts [expr 3+4]' | tclsh | grep -qx 7"},
    {"git, with a worktree, a branch and a merge", "",
     "rm -rf h h2 && git init -q h && cd h && git config user.name a && git config user.email a@b "
     "&& echo 1 > f && git add f && git commit -qm 1 && git branch x && git worktree add -q ../h2 "
     "x "
     "&& echo 2 > ../h2/g && git -C ../h2 add g && git -C ../h2 commit -qm 2 && git merge -q x && "
     "test -e g"},
    {"npm, that installs a package that lies beside", "",
     "rm -rf pk nm && mkdir pk nm && echo '{\"name\":\"pk\",\"version\":\"1.0.0\"}' > "
     "pk/package.json && echo 'module.exports=7' > pk/index.js && cd nm && echo '{}' > "
     "package.json "
     "&& npm install --silent --no-audit --no-fund --offline ../pk && node -e "
     "'process.exit(require(\"pk\")-7)'"},
    {"python3 -m unittest and compileall", "",
     "rm -rf ut && mkdir ut && printf 'import unittest\nclass T(unittest.TestCase):\n def "
     "test(self): pass\n' > ut/test_a.py && python3 -m unittest -q ut/test_a.py 2> /dev/null && "
     "python3 -m compileall -q ut"},
    {"a thing of the system that looks up names", "",
     "id > /dev/null && date > /dev/null && getent "
     "passwd root > /dev/null"},
};

static const struct line online[] = {
    {"curl, of a server that is granted", reach,
     "curl -sSf http://$GRANTED/served | grep -qx served"},
    {"git, that clones from a server that is granted", reach,
     "rm -rf c && git clone -q http://$GRANTED/r.git c && git -C c log --oneline | grep -q begun"},
    {"python3, of a server that is granted", reach,
     "python3 -c \"import os, urllib.request as u; assert u.urlopen('http://' + "
     "os.environ['GRANTED'] + '/served').read() == b'served\\n'\""},
    {"node's fetch, of a server that is granted", reach,
     "node -e \"if (!process.allowedNodeEnvironmentFlags.has('--use-env-proxy')) process.exit(1); "
     "fetch('http://' + process.env.GRANTED + '/served').then(r => r.text()).then(t => "
     "process.exit(t === 'served\\n' ? 0 : 1))\""},
    {"wget, of a server that is granted", reach,
     "wget -qO- http://$GRANTED/served | grep -qx served"},
    {"curl, without a proxy, at the port of this machine that is granted", reach,
     "unset HTTP_PROXY http_proxy ALL_PROXY all_proxy; { curl -sSf "
     "http://127.0.0.1:${GRANTED#*:}/served || curl -sSf "
     "http://$GRANTED/served; } | grep -qx served"},
};

/* What works without a jail, and in one that grants the first server must not. */
static const struct line strays[] = {
    {"curl, of another server", reach, "curl -sSf http://$OTHER/served"},
    {"curl, in a tunnel to another server", reach, "curl -sSfp http://$OTHER/served"},
    {"curl, with the name of the granted server", reach,
     "curl -sSf -H \"Host: $GRANTED\" http://$OTHER/served"},
    {"curl, that says one server and connects to another", reach,
     "curl -sSf --connect-to ::$OTHER http://$GRANTED/served"},
    {"curl, past the proxy", reach, "curl -sSf --noproxy '*' http://$GRANTED/served"},
    {"git, that clones from another server", reach,
     "rm -rf c && git clone -q http://$OTHER/r.git c"},
};

static int run_line(const struct line *line, const char *level) {
  BENCH(b);
  char cwd[700], word[800];
  snprintf(cwd, sizeof cwd, "%s/work", place);
  b.task.process.cwd = cwd;
  b.task.total_ms = 300000;
  strings_clear(&b.task.process.env, sys_real());
  jail_set(&b, "PATH", getenv("PATH"));
  jail_set(&b, "HOME", getenv("HOME") ? getenv("HOME") : "/tmp");
  jail_set(&b, "GRANTED", granted);
  jail_set(&b, "OTHER", other);
  if (level) {
    add(&b.task.process.jail, level);
    jail_word(&b, "write", cwd);
    snprintf(word, sizeof word, line->words, cwd);
    if (word[0]) add(&b.task.process.jail, word);
  }
  bench_sh(&b, line->script);
  bench_run(&b);
  int code = b.got.reply.status == REPLY_OK ? b.got.reply.code : 256;
  if (code)
    printf("#   %s: %s %.2000s\n", level ? level : "no jail", b.got.reply.message, b.got.extra);
  b.task.process.cwd = NULL;
  bench_close(&b);
  return code;
}

static bool try_line(const struct line *line, bool works) {
  static char name[200];
  if (run_line(line, NULL) != 0) {
    printf("# skipped, as it does not work here without a jail, either: %s\n", line->name);
    return false;
  }
  snprintf(name, sizeof name, "%s: %s in a jail", line->name, works ? "it works" : "it is refused");
  TEST(name) {
    CHECK((run_line(line, "work") == 0) == works);
  }
  return true;
}

/* Serves a folder at an address of this machine's loopback; gives the process, or -1. */
static pid_t serve(const char *folder, const char *address, char at[64]) {
  int pipes[2], port = 0;
  if (pipe(pipes) < 0) return -1;
  pid_t pid = fork();
  if (pid == 0) {
    dup2(pipes[1], STDOUT_FILENO);
    close(pipes[0]);
    freopen("/dev/null", "w", stderr);
    execlp("python3", "python3", "-um", "http.server", "-b", address, "-d", folder, "0",
           (char *)NULL);
    _exit(127);
  }
  close(pipes[1]);
  FILE *told = fdopen(pipes[0], "r");
  char line[200] = ""; /* the whole of it: else the server dies of what it writes */
  if (told && fgets(line, sizeof line, told)) sscanf(line, "Serving HTTP on %*s port %d", &port);
  if (told) fclose(told);
  snprintf(at, 64, "%s:%d", address, port);
  return pid;
}

static void serve_no_more(pid_t pid) {
  if (pid <= 0) return;
  kill(pid, SIGKILL);
  waitpid(pid, NULL, 0);
}

static int test_network(void) {
  char folder[700], command[4000];
  snprintf(folder, sizeof folder, "%s/served", place);
  snprintf(command, sizeof command,
           "mkdir '%s' && cd '%s' && echo served > served && { ! command -v git > /dev/null || { "
           "git clone -q --bare ../work r.git && git -C r.git update-server-info; }; }",
           folder, folder);
  if (system(command) != 0) printf("# nothing to serve could be made\n");
  pid_t first = serve(folder, "127.0.0.2", granted), second = serve(folder, "127.0.0.3", other);
  snprintf(reach, sizeof reach, "reach %s", granted);
  bool serves = !strstr(granted, ":0") && !strstr(other, ":0");
  TEST("both servers of this test serve, where they begin") {
    CHECK(!serves || (run_line(&online[0], NULL) == 0 && run_line(&strays[0], NULL) == 0));
  }
  int worked = 0;
  for (size_t i = 0; i < sizeof online / sizeof *online; i++)
    worked += try_line(&online[i], true);
  for (size_t i = 0; i < sizeof strays / sizeof *strays; i++)
    try_line(&strays[i], false);
  serve_no_more(first);
  serve_no_more(second);
  return worked;
}

/* How it ends is how it is told to have ended. */
static void test_ends(void) {
  static const struct line exits = {"", "", "exit 129"}, dies = {"", "", "kill -9 $$"};
  TEST("a program in a jail ends as it does without: by itself") {
    CHECK(run_line(&exits, "strict") == 129);
  }
  TEST("... or by a signal") {
    CHECK(run_line(&dies, "strict") == 256);
  }
  TEST("a program in a jail ends when it is to, and all of it") {
    BENCH(b);
    add(&b.task.process.jail, "strict");
    b.task.total_ms = 300;
    b.task.process.cwd = (char *)(uintptr_t) "/";
    bench_sh(&b, "sleep 30 & setsid sleep 30 & sleep 30");
    bench_run(&b);
    CHECK(b.got.reply.status == REPLY_TIMEOUT);
    CHECK(b.got.reply.elapsed_ms < 2000); /* it heard SIGTERM */
    b.task.process.cwd = NULL;
    bench_close(&b);
  }
}

static void test_refusals(void) {
  TEST("a word that means nothing is refused, and nothing starts") {
    BENCH(b);
    add(&b.task.process.jail, "strikt");
    bench_argv(&b, "true", NULL, NULL);
    bench_run(&b);
    CHECK(b.got.reply.status == REPLY_REFUSED && !b.got.reply.sent);
    CHECK_STR(b.got.reply.message, "true: sandbox: there is no \"strikt\"");
    bench_close(&b);
  }
  TEST("a relative place needs a folder in which it is, by its full path") {
    static const char *const words[] = {"read a", "edit a", "in a"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
      BENCH(b);
      add(&b.task.process.jail, "strict");
      add(&b.task.process.jail, words[i]);
      bench_argv(&b, "true", NULL, NULL);
      bench_run(&b);
      CHECK(b.got.reply.status == REPLY_REFUSED && !b.got.reply.sent);
      CHECK_STR(b.got.reply.message, "true: sandbox: a is not a full path");
      bench_close(&b);
    }
  }
  TEST("a grant of what is not there is refused, and says so") {
    BENCH(b);
    add(&b.task.process.jail, "strict");
    add(&b.task.process.jail, "read /not/there");
    b.task.process.cwd = (char *)(uintptr_t) "/";
    bench_argv(&b, "true", NULL, NULL);
    bench_run(&b);
    CHECK(b.got.reply.status == REPLY_REFUSED && !b.got.reply.sent);
    CHECK_STR(b.got.reply.message,
              "true: its sandbox cannot grant /not/there: No such file or directory");
    b.task.process.cwd = NULL;
    bench_close(&b);
  }
  TEST("a program that is not shown is not found") {
    BENCH(b);
    char tool[700];
    snprintf(tool, sizeof tool, "%s/tool", place);
    lay_file(tool, "#!/bin/sh\n", 0700);
    add(&b.task.process.jail, "strict");
    b.task.process.cwd = (char *)(uintptr_t) "/";
    bench_argv(&b, tool, NULL, NULL);
    bench_run(&b);
    CHECK(b.got.reply.status == REPLY_REFUSED && !b.got.reply.sent);
    CHECK(strstr(b.got.reply.message, "grant its folder"));
    b.task.process.cwd = NULL;
    bench_close(&b);
  }
}

int main(void) {
  int worked = 0;
  char command[2000], program[512] = "";
  if (!jail_works()) return check_finish();
  if (readlink("/proc/self/exe", program, sizeof program - 1) < 0) return 1;
  snprintf(place, sizeof place, "%.*s/jail-XXXXXX", (int)(strrchr(program, '/') - program),
           program);
  if (!mkdtemp(place)) {
    snprintf(place, sizeof place, "/tmp/skillrt-jail-XXXXXX");
    if (!mkdtemp(place)) return 1;
  }
  snprintf(
      command, sizeof command,
      "mkdir '%s/work' && cd '%s/work' && { ! command -v git > /dev/null || { git init -q . && "
      "echo x > tracked && git add tracked && git -c user.name=a -c user.email=a@b commit -qm "
      "begun; }; }",
      place, place);
  if (system(command) != 0) printf("# no repository could be made\n");
  for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
    worked += try_line(&lines[i], true);
  worked += test_network();
  printf("# %d programs\n", worked);
  test_ends();
  test_refusals();
  snprintf(command, sizeof command, "rm -rf '%s'", place);
  return system(command) != 0 ? 1 : check_finish();
}
