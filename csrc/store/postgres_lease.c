/* postgres_lease.c: the lease of this process for a database: one row, renewed by a thread.
 *
 * The row's deadline is on the database's clock. This process uses its own clock, which also counts
 * while the machine sleeps: it trusts the lease from before it sent the renewal, less a tenth. A
 * process that finds a lease expired first removes its row, so that it cannot be renewed, and then
 * takes its runs. Called by postgres.c and postgres_run.c. */
#include "store/postgres.h"

#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "store/stamp.h"

enum { ID = 33, PROCESS = 160, RENEWALS = 3, KNOWN_MAX = 64 << 20 };

/* A run that is to be released. */
struct left {
  struct left *next;
  char run[JOURNAL_RUN_ID + 1];
  int64_t taking;
  struct header header;
};

struct lease {
  struct lease *next;
  size_t users;
  const struct sys *sys;
  struct url url;
  struct link link;
  char id[ID], process[PROCESS];
  pthread_t thread;
  struct left *left;
  struct claim *claims;
  struct taking *known;  /* of runs that stores and claims of this process have */
  int64_t newest;        /* the number of the last taking */
  bool doubts;           /* a taking that is not known may come */
  pthread_mutex_t mutex; /* of link, ending, and all between */
  pthread_cond_t wake;
  bool ending;
  _Atomic(int64_t) until_ns; /* of boot_ns */
  _Atomic(uint64_t)
      openings; /* link_openings before the last renewal: a later server may lack it */
  _Atomic(bool) gone;
};

static pthread_mutex_t all_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct lease *all;

/* ---- who we are ---- */

static bool read_text(const struct sys *sys, const char *path, char *to, size_t room) {
  int fd = sys_open(sys, path, O_RDONLY, 0);
  if (fd < 0) return false;
  ssize_t got = sys->read(sys, fd, to, room - 1);
  sys->close(sys, fd);
  to[got > 0 ? got : 0] = '\0';
  to[strcspn(to, "\n")] = '\0';
  return got > 0;
}

/* When a process was started, in ticks since the boot; 0: there is none, or it is a zombie. */
static uint64_t started(const struct sys *sys, long pid) {
  char path[48], text[1024], state;
  uint64_t ticks;
  snprintf(path, sizeof path, "/proc/%ld/stat", pid);
  if (!read_text(sys, path, text, sizeof text)) return 0;
  const char *behind = strrchr(text, ')'); /* a name may hold anything */
  if (!behind ||
      sscanf(behind + 1,
             " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %" SCNu64,
             &state, &ticks) != 2)
    return 0;
  return state == 'Z' || state == 'X' ? 0 : ticks;
}

/* Identifies this boot of the machine and our process namespace; "" where that is not known. */
static void surroundings(const struct sys *sys, char to[PROCESS]) {
  char boot[SYS_BOOT];
  struct sys_stat space;
  int fd = sys_open(sys, "/proc/self/ns/pid", O_RDONLY, 0);
  bool known = fd >= 0 && sys->fstat(sys, fd, &space) == 0 && sys->boot(sys, boot) == 0;
  if (fd >= 0) sys->close(sys, fd);
  to[0] = '\0';
  if (known) snprintf(to, PROCESS, "%.40s:%" PRIu64, boot, space.inode);
}

static void describe(const struct sys *sys, char line[STORE_HOLDER], char process[PROCESS]) {
  char host[65] = "", start[STAMP_SIZE], here[PROCESS];
  long pid = (long)getpid();
  read_text(sys, "/proc/sys/kernel/hostname", host, sizeof host);
  stamp_text(start, sys->wall_ms(sys));
  snprintf(line, STORE_HOLDER, "%ld %s %s", pid, host[0] ? host : "?", start);
  surroundings(sys, here);
  snprintf(process, PROCESS, "%.100s %ld %" PRIu64, here, pid, started(sys, pid));
}

bool lease_is_dead(const struct sys *sys, const char *process) {
  char here[PROCESS], there[PROCESS];
  long pid;
  uint64_t start;
  surroundings(sys, here);
  if (sscanf(process, "%159s %ld %" SCNu64, there, &pid, &start) != 3 || !here[0] || start == 0)
    return false;
  return strcmp(here, there) == 0 && started(sys, pid) != start;
}

/* ---- renewing ---- */

/* How long from `sent` on this process may trust the lease, and the programs it started may run. */
static bool renewed(struct lease *l, int64_t sent, uint64_t openings, struct error *e) {
  int64_t until = sent + l->link.lease_ms * 900000;
  atomic_store(&l->openings, openings);
  atomic_store(&l->until_ns, until);
  int failed = l->sys->leash ? l->sys->leash(l->sys, until) : 0;
  return failed == 0 ||
         error_system(e, -failed, "%s: a process that ends programs with the lease", l->url.whole);
}

static bool begin(struct lease *l, struct error *e) {
  char line[STORE_HOLDER];
  unsigned char random[16];
  int failed = l->sys->random(l->sys, random, sizeof random);
  if (failed < 0) return error_system(e, -failed, "%s: no random number", l->url.whole);
  for (size_t i = 0; i < sizeof random; i++)
    snprintf(l->id + 2 * i, 3, "%02x", random[i]);
  memcpy(&l->newest, random, sizeof l->newest);
  l->newest &= INT64_MAX >> 1; /* so that two leases have no number in common, and it may grow */
  describe(l->sys, line, l->process);
  if (!link_open(&l->link, e)) return false;
  uint64_t openings = link_openings();
  int64_t sent = l->sys->boot_ns(l->sys);
  struct value values[] = {TEXT(l->id), TEXT(line), TEXT(l->process), NUMBER(l->link.lease_ms)};
  if (link_do(&l->link,
              "insert into skillrt.worker (worker, line, process, deadline)"
              " values ($1, $2, $3, clock_timestamp() + $4::bigint * interval '1 millisecond')",
              4, values, e) != 1)
    return false;
  return renewed(l, sent, openings, e);
}

static void forget_left(struct lease *l) {
  struct left *left = l->left;
  l->left = left->next;
  sys_free(l->sys, left, sizeof *left);
}

/* The caller holds the mutex. False: the database is out of reach. */
static bool release_left(struct lease *l) {
  while (l->left &&
         run_give_back(&l->link, l->left->run, l->id, l->left->taking, &l->left->header, 0))
    forget_left(l);
  return !l->left;
}

void lease_release_later(struct lease *l, const char *run, int64_t taking,
                         const struct header *header) {
  struct left *left = sys_alloc(l->sys, sizeof *left);
  if (!left) return; /* it is released with the lease */
  snprintf(left->run, sizeof left->run, "%s", run);
  left->taking = taking;
  if (header) left->header = *header;
  pthread_mutex_lock(&l->mutex);
  left->next = l->left;
  l->left = left;
  pthread_mutex_unlock(&l->mutex);
}

void lease_knows(struct lease *l, struct taking *taking) {
  pthread_mutex_lock(&l->mutex);
  taking->number = ++l->newest;
  taking->next = l->known;
  l->known = taking;
  pthread_mutex_unlock(&l->mutex);
}

/* Where the list of those that are known points to it, or its end. */
static struct taking **place_of(struct lease *l, const struct taking *taking) {
  struct taking **at = &l->known;
  while (*at && *at != taking)
    at = &(*at)->next;
  return at;
}

void lease_forgets(struct lease *l, const struct taking *taking, bool doubtful) {
  pthread_mutex_lock(&l->mutex);
  struct taking **at = place_of(l, taking);
  if (*at) *at = taking->next;
  l->doubts = l->doubts || doubtful;
  pthread_mutex_unlock(&l->mutex);
}

struct claim *lease_claim(struct lease *l, const char *run, const struct header *header) {
  struct claim *claim = sys_alloc(l->sys, sizeof *claim);
  if (!claim) return NULL;
  claim->openings = link_openings();
  claim->header = *header;
  snprintf(claim->run, sizeof claim->run, "%s", run);
  lease_knows(l, &claim->taking);
  pthread_mutex_lock(&l->mutex);
  claim->next = l->claims;
  l->claims = claim;
  pthread_mutex_unlock(&l->mutex);
  return claim;
}

struct claim *lease_find_claim(struct lease *l, const char *run) {
  pthread_mutex_lock(&l->mutex);
  struct claim *claim = l->claims;
  while (claim && strcmp(claim->run, run) != 0)
    claim = claim->next;
  pthread_mutex_unlock(&l->mutex);
  return claim;
}

static struct lease *find(const struct url *url) {
  for (struct lease *l = all; l; l = l->next)
    if (strcmp(l->url.database, url->database) == 0 && !atomic_load(&l->gone)) return l;
  return NULL;
}

struct claim *lease_claim_at(const struct url *url) {
  pthread_mutex_lock(&all_mutex);
  struct lease *l = find(url);
  struct claim *claim = l ? lease_find_claim(l, url->run) : NULL;
  pthread_mutex_unlock(&all_mutex);
  return claim;
}

void claim_free(const struct sys *sys, struct claim *claim) {
  if (!claim) return;
  PQclear(claim->rows);
  sys_free(sys, claim, sizeof *claim);
}

/* The caller holds the mutex. */
static void remove_claim(struct lease *l, struct claim *claim) {
  struct claim **at = &l->claims;
  while (*at != claim)
    at = &(*at)->next;
  *at = claim->next;
}

void lease_drop_claim(struct lease *l, struct claim *claim, bool doubtful) {
  lease_forgets(l, &claim->taking, doubtful);
  pthread_mutex_lock(&l->mutex);
  remove_claim(l, claim);
  pthread_mutex_unlock(&l->mutex);
  claim_free(l->sys, claim);
}

struct claim *lease_open_claim(struct lease *l, const char *run, struct taking *taking) {
  struct claim *claim = lease_find_claim(l, run);
  if (!claim) return NULL;
  pthread_mutex_lock(&l->mutex);
  *taking = claim->taking;
  *place_of(l, &claim->taking) = taking;
  remove_claim(l, claim);
  pthread_mutex_unlock(&l->mutex);
  return claim;
}

/* Gives back the runs that this lease has by a taking which nobody here knows: the statement was
 * late, or a standby that was promoted has lost that the run was released. Of later takings it says
 * nothing, also if it is late itself. The caller holds the mutex. */
static void release_unknown(struct lease *l) {
  struct buffer known;
  buffer_init(&known, l->sys, KNOWN_MAX);
  bool good = buffer_format(&known, NULL, "{0");
  for (const struct taking *at = l->known; good && at; at = at->next)
    good = buffer_format(&known, NULL, ",%" PRId64, at->number);
  if (good && buffer_append(&known, "}", 2, NULL)) { /* with its NUL */
    struct value values[] = {TEXT(l->id), NUMBER(l->newest), TEXT(known.data)};
    link_do(&l->link,
            "update skillrt.run set owner = null, claimed = null where owner = $1"
            " and taking <= $2::bigint and not (taking = any ($3::bigint[]))",
            3, values, NULL);
  }
  buffer_clear(&known);
}

/* The caller holds the mutex. ERROR_LOST: the row was removed. */
static bool renew(struct lease *l, struct error *e) {
  if (!link_open(&l->link, e)) return false;
  uint64_t openings = link_openings();
  int64_t sent = l->sys->boot_ns(l->sys);
  struct value values[] = {TEXT(l->id), NUMBER(l->link.lease_ms)};
  int rows = link_do(&l->link,
                     "update skillrt.worker"
                     " set deadline = clock_timestamp() + $2::bigint * interval '1 millisecond'"
                     " where worker = $1",
                     2, values, e);
  if (rows == 0) atomic_store(&l->gone, true);
  /* Once a connection was cut, the server may have lost or delayed what was sent on it. */
  if (rows == 1 && release_left(l) && (l->doubts || l->link.opened > 1)) release_unknown(l);
  return rows == 1 && renewed(l, sent, openings, e);
}

static void *run(void *data) {
  struct lease *l = data;
  struct timespec until;
  sigset_t all_signals;
  sigfillset(&all_signals);
  pthread_sigmask(SIG_BLOCK, &all_signals, NULL);
  pthread_mutex_lock(&l->mutex);
  while (!l->ending && !atomic_load(&l->gone)) {
    int64_t third = l->link.lease_ms / 3;
    clock_gettime(CLOCK_MONOTONIC, &until);
    int64_t ns = until.tv_nsec + third % 1000 * 1000000;
    until.tv_sec += third / 1000 + ns / 1000000000;
    until.tv_nsec = ns % 1000000000;
    pthread_cond_timedwait(&l->wake, &l->mutex, &until);
    if (!l->ending) renew(l, NULL);
  }
  pthread_mutex_unlock(&l->mutex);
  return NULL;
}

static bool lost(const struct lease *l, struct error *e) {
  return error_set(e, ERROR_LOST,
                   "%s: this process was not heard of for so long that another one took over; "
                   "nothing more is written",
                   l->url.whole);
}

bool lease_held(struct lease *l, int64_t until_ns, struct error *e) {
  for (int renewals = 0; !atomic_load(&l->gone);) {
    if (l->sys->boot_ns(l->sys) < atomic_load(&l->until_ns) &&
        link_openings() == atomic_load(&l->openings))
      return true;
    if (renewals == RENEWALS) /* each took longer than the lease */
      return error_set(e, ERROR_SYSTEM, "%s: the lease lapses before the database has renewed it",
                       l->url.whole);
    pthread_mutex_lock(&l->mutex);
    bool open = !link_broken(&l->link);
    bool good = link_open_until(&l->link, until_ns, e) && renew(l, e);
    bool cut = l->link.connection && link_broken(&l->link);
    pthread_mutex_unlock(&l->mutex);
    renewals += good;
    bool again = good || (cut && (open || l->sys->mono_ns(l->sys) < until_ns));
    if (!again && !atomic_load(&l->gone)) return false;
  }
  return lost(l, e);
}

const char *lease_id(const struct lease *l) {
  return l->id;
}

/* ---- taking and giving back ---- */

static struct lease *make(const struct sys *sys, const struct url *url, struct error *e) {
  struct lease *l = sys_alloc(sys, sizeof *l);
  pthread_condattr_t monotonic;
  if (!l) {
    error_set(e, ERROR_MEMORY, "%s: out of memory", url->whole);
    return NULL;
  }
  l->sys = sys;
  l->url = *url;
  url_drop_run(&l->url);
  link_init(&l->link, sys, &l->url);
  l->link.at_once = true; /* what renews it tries again */
  pthread_condattr_init(&monotonic);
  pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
  pthread_cond_init(&l->wake, &monotonic);
  pthread_mutex_init(&l->mutex, NULL);
  bool good = begin(l, e);
  int failed = good ? pthread_create(&l->thread, NULL, run, l) : 0;
  if (good && !failed) return l;
  if (failed) error_system(e, failed, "%s: a thread for the lease", url->whole);
  link_close(&l->link);
  sys_free(sys, l, sizeof *l);
  return NULL;
}

/* A run that is to be released is not taken anew before. */
static bool is_clear(struct lease *l, struct error *e) {
  pthread_mutex_lock(&l->mutex);
  bool good = !l->left || (link_open(&l->link, e) && release_left(l)) ||
              error_set(e, ERROR_SYSTEM, "%s: the database does not answer", l->url.whole);
  pthread_mutex_unlock(&l->mutex);
  return good;
}

bool lease_take(const struct sys *sys, const struct url *url, struct lease **to, struct error *e) {
  pthread_mutex_lock(&all_mutex);
  struct lease *l = find(url);
  if (!l && (l = make(sys, url, e))) {
    l->next = all;
    all = l;
  }
  if (l) l->users++;
  pthread_mutex_unlock(&all_mutex);
  *to = l;
  return l && is_clear(l, e);
}

static void forget(struct lease *l) {
  struct lease **at = &all;
  while (*at != l)
    at = &(*at)->next;
  *at = l->next;
}

void lease_release(struct lease *l) {
  if (!l) return;
  pthread_mutex_lock(&all_mutex);
  bool last = --l->users == 0;
  if (last) forget(l);
  pthread_mutex_unlock(&all_mutex);
  if (!last) return;
  pthread_mutex_lock(&l->mutex);
  l->ending = true;
  pthread_cond_signal(&l->wake);
  pthread_mutex_unlock(&l->mutex);
  pthread_join(l->thread, NULL);
  if (l->sys->leash) l->sys->leash(l->sys, 0);
  link_do(&l->link, "delete from skillrt.worker where worker = $1", 1,
          (struct value[]){TEXT(l->id)}, NULL);
  link_close(&l->link);
  while (l->left)
    forget_left(l);
  while (l->claims) {
    struct claim *claim = l->claims;
    remove_claim(l, claim);
    claim_free(l->sys, claim);
  }
  sys_free(l->sys, l, sizeof *l);
}
