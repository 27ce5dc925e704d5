/* jail_lists.c: what a jail shows and hides of every machine: programs and their libraries, secrets
 * of homes and systems, and what of a folder is executed later by somebody else. */
#include "jail/jail_inside.h"

#include <string.h>

/* All that "strict" shows. */
static const char *const system_places[] = {"/usr",
                                            "/bin",
                                            "/sbin",
                                            "/lib",
                                            "/lib32",
                                            "/lib64",
                                            "/libx32",
                                            "/opt",
                                            "/nix/store",
                                            "/gnu/store",
                                            "/etc/alternatives",
                                            "/etc/ca-certificates",
                                            "/etc/crypto-policies",
                                            "/etc/fonts",
                                            "/etc/gai.conf",
                                            "/etc/group",
                                            "/etc/host.conf",
                                            "/etc/hosts",
                                            "/etc/inputrc",
                                            "/etc/ld.so.cache",
                                            "/etc/ld.so.conf",
                                            "/etc/ld.so.conf.d",
                                            "/etc/localtime",
                                            "/etc/magic",
                                            "/etc/mime.types",
                                            "/etc/nsswitch.conf",
                                            "/etc/os-release",
                                            "/etc/passwd",
                                            "/etc/pki/tls/certs",
                                            "/etc/profile",
                                            "/etc/protocols",
                                            "/etc/services",
                                            "/etc/shells",
                                            "/etc/ssl/certs",
                                            "/etc/ssl/openssl.cnf",
                                            "/etc/terminfo",
                                            "/etc/timezone",
                                            NULL};

/* Of homes. */
static const char *const secrets[] = {"/.aws",
                                      "/.azure",
                                      "/.bash_history",
                                      "/.cargo/credentials",
                                      "/.cargo/credentials.toml",
                                      "/.claude/.credentials.json",
                                      "/.codex/auth.json",
                                      "/.config/chromium",
                                      "/.config/containers",
                                      "/.config/gcloud",
                                      "/.config/gh",
                                      "/.config/git/credentials",
                                      "/.config/google-chrome",
                                      "/.config/hub",
                                      "/.config/op",
                                      "/.config/rclone",
                                      "/.config/skillrt",
                                      "/.databrickscfg",
                                      "/.docker",
                                      "/.gem/credentials",
                                      "/.gemini/oauth_creds.json",
                                      "/.git-credentials",
                                      "/.gnupg",
                                      "/.kube",
                                      "/.local/share/keyrings",
                                      "/.local/share/skillrt",
                                      "/.local/state/skillrt",
                                      "/.mozilla",
                                      "/.my.cnf",
                                      "/.mysql_history",
                                      "/.netrc",
                                      "/.node_repl_history",
                                      "/.npmrc",
                                      "/.password-store",
                                      "/.pgpass",
                                      "/.psql_history",
                                      "/.pypirc",
                                      "/.python_history",
                                      "/.sqlite_history",
                                      "/.ssh",
                                      "/.terraform.d",
                                      "/.thunderbird",
                                      "/.vault-token",
                                      "/.zsh_history",
                                      NULL};

/* Of systems: an administrator could read them. */
static const char *const system_secrets[] = {"/etc/shadow",
                                             "/etc/shadow-",
                                             "/etc/gshadow",
                                             "/etc/gshadow-",
                                             "/etc/krb5.keytab",
                                             "/etc/letsencrypt",
                                             "/etc/NetworkManager/system-connections",
                                             "/etc/ssh",
                                             "/etc/ssl/private",
                                             "/etc/pki/tls/private",
                                             "/etc/sudoers",
                                             "/etc/sudoers.d",
                                             "/etc/wireguard",
                                             "/boot",
                                             "/sys/kernel",
                                             "/sys/firmware",
                                             "/var/lib/docker",
                                             "/var/lib/skillrt",
                                             "/var/log",
                                             "/var/spool",
                                             NULL};

/* Of a folder: what others execute by and by, or who says what they do. */
static const char *const kept[] = {"/.git",
                                   "/.mcp.json",
                                   "/.claude",
                                   "/.codex",
                                   "/.gemini",
                                   "/.vscode",
                                   "/.idea",
                                   "/.husky",
                                   "/.envrc",
                                   "/.gitmodules",
                                   "/.pre-commit-config.yaml",
                                   "/.bashrc",
                                   "/.bash_profile",
                                   "/.bash_login",
                                   "/.bash_logout",
                                   "/.profile",
                                   "/.zshrc",
                                   "/.zshenv",
                                   "/.zprofile",
                                   "/.zlogin",
                                   "/.gitconfig",
                                   "/.config/git",
                                   "/.config/fish",
                                   "/.config/autostart",
                                   "/.config/systemd",
                                   "/.local/bin",
                                   NULL};

/* ... of a .git that was granted by its name. */
static const char *const kept_of_git[] = {
    "/hooks", "/config", "/config.worktree", "/info", "/modules", "/commondir", NULL};

/* Where "work" has room for what programs keep for later: it is gone with them. */
static const char *const caches[] = {"/.cache", "/.npm", NULL};

static bool add_all(struct jail *jail, enum place_kind kind, const char *folder,
                    const char *const *list, struct error *e) {
  for (; *list; list++)
    if (!jail_add(jail, kind, folder[0] ? folder : *list, folder[0] ? *list : "", e)) return false;
  return true;
}

/* With the network comes who knows its names. */
static bool add_network(struct jail *jail, struct error *e) {
  return !jail->network || jail_add(jail, PLACE_SHOWN, "/etc/resolv.conf", "", e);
}

bool jail_lists_add(struct jail *jail, const char *home, struct error *e) {
  static const char *const fresh[] = {"/tmp", "/dev", "/dev/shm", "/run", "/var/tmp", NULL};
  if (!add_all(jail, PLACE_FRESH, "", fresh, e) || !add_network(jail, e)) return false;
  if (jail->strict && !add_all(jail, PLACE_SHOWN, "", system_places, e)) return false;
  if (!jail->strict && !jail_add(jail, PLACE_SHOWN, "/", "", e)) return false;
  if (home && jail->strict && !jail_add(jail, PLACE_FRESH, home, "", e)) return false;
  if (home && !jail->strict && !add_all(jail, PLACE_FRESH, home, caches, e)) return false;
  if (home && !add_all(jail, PLACE_HIDDEN, home, secrets, e)) return false;
  return add_all(jail, PLACE_HIDDEN, "", system_secrets, e);
}

bool jail_lists_keep(struct jail *jail, struct error *e) {
  const char *place = jail->places[jail->count - 1].given;
  size_t length = strlen(place);
  bool git = length > 5 && strcmp(place + length - 5, "/.git") == 0;
  return add_all(jail, PLACE_KEPT, place, git ? kept_of_git : kept, e);
}

IN_CHILD bool jail_lists_keeps(const char *path) {
  for (; *path; path++)
    for (const char *const *one = kept; *path == '/' && *one; one++) {
      size_t length = strlen(*one);
      if (strncmp(path, *one, length) == 0 && (!path[length] || path[length] == '/')) return true;
    }
  return false;
}
