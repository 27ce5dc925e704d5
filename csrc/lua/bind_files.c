/* bind_files.c: core.files: whole files and folders for Lua, through struct sys.
 *
 * read(path, max?) write(path, text) create(path, text) sync(path) list(path, name?) stat(path,
 * name?) make_folders(path) remove(path); below a folder, through no link: keep(folder, name, text,
 * durable?) kept(folder, name, max?) part(folder, name, offset, max) settle(folder, name). No
 * descriptor ever reaches Lua. Called by bind_core.c; joined by lua/skillrt/base/files.lua. */
#include "lua/bind.h"

#include <errno.h>
#include <fcntl.h>
#include <lauxlib.h>
#include <string.h>
#include <unistd.h>

#include "base/below.h"

#define FILE_MAXIMUM ((size_t)256 << 20) /* maximal bytes of one read; callers may pass less */

/* A path without NUL bytes, or a raised error. */
static const char *check_path(lua_State *L, int at) {
  size_t size;
  const char *path = luaL_checklstring(L, at, &size);
  luaL_argcheck(L, strlen(path) == size, at, "the path holds a NUL byte");
  return path;
}

/* A buffer that Lua frees, also when something raises. */
static int clear_buffer(lua_State *L) {
  buffer_clear(lua_touserdata(L, 1));
  return 0;
}

struct buffer *bind_buffer(lua_State *L, size_t maximum) {
  struct buffer *buffer = lua_newuserdatauv(L, sizeof *buffer, 0);
  buffer_init(buffer, bind_sys(L), maximum);
  if (luaL_newmetatable(L, "skillrt.buffer")) {
    lua_pushcfunction(L, clear_buffer);
    lua_setfield(L, -2, "__gc");
  }
  lua_setmetatable(L, -2);
  return buffer;
}

/* read(path, maximum?, any_kind?): with `any_kind` also a pipe or a device, which a person may
 * name; a folder could hold one to have us wait. */
static int files_read(lua_State *L) {
  const char *path = check_path(L, 1);
  lua_Integer maximum = luaL_optinteger(L, 2, (lua_Integer)FILE_MAXIMUM);
  luaL_argcheck(L, maximum >= 0, 2, "a size in bytes");
  struct buffer *text = bind_buffer(L, (size_t)maximum);
  struct error error = {0};
  if (!buffer_read_file(text, path, lua_toboolean(L, 3), &error)) return bind_fail(L, &error);
  lua_pushlstring(L, text->data ? text->data : "", text->length);
  buffer_clear(text);
  return 1;
}

/* Whole or not at all: beside it, then renamed. Not fsynced: the journal is what must last. */
static int files_write(lua_State *L) {
  const char *path = check_path(L, 1);
  size_t size;
  const char *text = luaL_checklstring(L, 2, &size);
  struct error error = {0};
  if (!sys_replace_file(bind_sys(L), path, text, size, false, &error)) return bind_fail(L, &error);
  lua_pushboolean(L, 1);
  return 1;
}

/* create(path, text): in place, where nothing lies yet: for a folder that is renamed when whole. */
static int files_create(lua_State *L) {
  const char *path = check_path(L, 1);
  size_t size;
  const char *text = luaL_checklstring(L, 2, &size);
  struct error error = {0};
  if (!sys_create_file(bind_sys(L), path, text, size, &error)) return bind_fail(L, &error);
  lua_pushboolean(L, 1);
  return 1;
}

/* keep(folder, name, text, durable?, runs?): below the folder, through no link; folders are made.
 * Whole or not at all; where `durable`, it survives a power cut from here on; where it `runs`, it
 * is a program. */
static int files_keep(lua_State *L) {
  const char *folder = check_path(L, 1), *name = check_path(L, 2);
  struct span text;
  text.data = luaL_checklstring(L, 3, &text.length);
  struct error error = {0};
  if (!below_replace(bind_sys(L), folder, name, text, lua_toboolean(L, 5) ? 0700 : 0600,
                     lua_toboolean(L, 4), &error))
    return bind_fail(L, &error);
  lua_pushboolean(L, 1);
  return 1;
}

/* put(folder, name, text, durable?): the same for a file of others, whose mode stays */
static int files_put(lua_State *L) {
  const char *folder = check_path(L, 1), *name = check_path(L, 2);
  struct span text;
  text.data = luaL_checklstring(L, 3, &text.length);
  struct error error = {0};
  if (!below_write(bind_sys(L), folder, name, text, lua_toboolean(L, 4), &error))
    return bind_fail(L, &error);
  lua_pushboolean(L, 1);
  return 1;
}

/* part(folder, name, offset, max) -> what a regular file below the folder, through no link, has
 * from there on, its size */
static int files_part(lua_State *L) {
  const char *folder = check_path(L, 1), *name = check_path(L, 2);
  lua_Integer offset = luaL_checkinteger(L, 3), maximum = luaL_checkinteger(L, 4);
  luaL_argcheck(L, offset >= 0, 3, "an offset in bytes");
  luaL_argcheck(L, maximum >= 0 && maximum <= (lua_Integer)FILE_MAXIMUM, 4, "a size in bytes");
  struct buffer *text = bind_buffer(L, (size_t)maximum);
  struct error error = {0};
  int64_t size = 0;
  if (!below_read_part(bind_sys(L), folder, name, offset, text, &size, &error))
    return bind_fail(L, &error);
  lua_pushlstring(L, text->data ? text->data : "", text->length);
  lua_pushinteger(L, size);
  buffer_clear(text);
  return 2;
}

/* kept(folder, name, max?) -> text of a regular file below the folder, through no link */
static int files_kept(lua_State *L) {
  const char *folder = check_path(L, 1), *name = check_path(L, 2);
  lua_Integer maximum = luaL_optinteger(L, 3, (lua_Integer)FILE_MAXIMUM);
  luaL_argcheck(L, maximum >= 0, 3, "a size in bytes");
  struct buffer *text = bind_buffer(L, (size_t)maximum);
  struct error error = {0};
  if (!below_read(bind_sys(L), folder, name, text, &error)) return bind_fail(L, &error);
  lua_pushlstring(L, text->data ? text->data : "", text->length);
  buffer_clear(text);
  return 1;
}

/* settle(folder, name): a file that is there below the folder, through no link, and its name
 * survive a power cut. */
static int files_settle(lua_State *L) {
  const char *folder = check_path(L, 1), *name = check_path(L, 2);
  struct error error = {0};
  if (!below_settle(bind_sys(L), folder, name, &error)) return bind_fail(L, &error);
  lua_pushboolean(L, 1);
  return 1;
}

/* sync(path): a file's bytes, or a folder's names, survive a power cut from here on. */
static int files_sync(lua_State *L) {
  const char *path = check_path(L, 1);
  const struct sys *sys = bind_sys(L);
  struct error error = {0};
  int fd = sys_open(sys, path, O_RDONLY, 0);
  if (fd < 0) {
    error_system(&error, -fd, "%s", path);
    return bind_fail(L, &error);
  }
  int failed = sys_fsync(sys, fd);
  sys->close(sys, fd);
  if (failed < 0) {
    error_system(&error, -failed, "%s: sync", path);
    return bind_fail(L, &error);
  }
  lua_pushboolean(L, 1);
  return 1;
}

static const char *kind_name(enum sys_kind kind) {
  switch (kind) {
  case SYS_FILE:
    return "file";
  case SYS_DIRECTORY:
    return "directory";
  case SYS_LINK:
    return "link";
  default:
    return "other";
  }
}

struct listing {
  struct buffer *names; /* kind byte, name, NUL, again and again */
  struct error error;
};

static bool list_one(void *data, const char *name, enum sys_kind kind) {
  struct listing *listing = data;
  return buffer_byte(listing->names, (char)('0' + (int)kind), &listing->error) &&
         buffer_append(listing->names, name, strlen(name) + 1, &listing->error);
}

/* list(path) -> { { name =, kind = } ... } in no order; list(folder, name): below the folder,
 * through no link */
static int files_list(lua_State *L) {
  const char *path = check_path(L, 1), *name = lua_isnoneornil(L, 2) ? NULL : check_path(L, 2);
  struct listing listing = {.names = bind_buffer(L, (size_t)64 << 20)};
  const struct sys *sys = bind_sys(L);
  int failed = name ? 0 : sys->list(sys, path, list_one, &listing);
  if (failed < 0) {
    error_system(&listing.error, -failed, "%s", path);
    error_missing(&listing.error, failed);
  }
  if (name && !below_list(sys, path, name, list_one, &listing, &listing.error))
    return bind_fail(L, &listing.error);
  if (listing.error.code) return bind_fail(L, &listing.error);
  lua_newtable(L);
  lua_Integer count = 0;
  const char *at = listing.names->data, *end = at ? at + listing.names->length : at;
  while (at < end) {
    lua_createtable(L, 0, 2);
    lua_pushstring(L, kind_name((enum sys_kind)(at[0] - '0')));
    lua_setfield(L, -2, "kind");
    lua_pushstring(L, at + 1);
    lua_setfield(L, -2, "name");
    lua_rawseti(L, -2, ++count);
    at += 1 + strlen(at + 1) + 1;
  }
  return 1;
}

/* stat(path) -> { kind, size, mtime_ns, mode, id: the same for two names of one file }
 * or nil, message, code; stat(folder, name): below the folder, through no link */
static int files_stat(lua_State *L) {
  const char *path = check_path(L, 1), *name = lua_isnoneornil(L, 2) ? NULL : check_path(L, 2);
  const struct sys *sys = bind_sys(L);
  struct sys_stat info;
  struct error error = {0};
  int failed = name ? 0 : sys->stat(sys, path, &info);
  if (failed < 0) {
    error_system(&error, -failed, "%s", path);
    error_missing(&error, failed);
  }
  if (failed < 0 || (name && !below_stat(sys, path, name, &info, &error)))
    return bind_fail(L, &error);
  lua_createtable(L, 0, 5);
  lua_pushfstring(L, "%I:%I", (LUAI_UACINT)info.device, (LUAI_UACINT)info.inode);
  lua_setfield(L, -2, "id");
  lua_pushstring(L, kind_name(info.kind));
  lua_setfield(L, -2, "kind");
  lua_pushinteger(L, info.size);
  lua_setfield(L, -2, "size");
  lua_pushinteger(L, info.mtime_ns);
  lua_setfield(L, -2, "mtime_ns");
  lua_pushinteger(L, (lua_Integer)info.mode);
  lua_setfield(L, -2, "mode");
  return 1;
}

/* Makes the folder and those above it; one that is there is fine. */
static int files_make_folders(lua_State *L) {
  const char *path = check_path(L, 1);
  const struct sys *sys = bind_sys(L);
  struct error error = {0};
  char *copy = lua_newuserdatauv(L, strlen(path) + 1, 0);
  strcpy(copy, path);
  for (char *at = copy + 1;; at++) {
    if (*at && *at != '/') continue;
    char was = *at;
    *at = 0;
    int failed = copy[0] ? sys->mkdir(sys, copy, 0777) : 0;
    struct sys_stat info;
    if (failed < 0 && !(failed == -EEXIST || sys->stat(sys, copy, &info) == 0)) {
      error_system(&error, -failed, "%s", copy);
      return bind_fail(L, &error);
    }
    if (!was) break;
    *at = was;
  }
  lua_pushboolean(L, 1);
  return 1;
}

static int files_remove(lua_State *L) {
  const char *path = check_path(L, 1);
  const struct sys *sys = bind_sys(L);
  int failed = sys->unlink(sys, path);
  if (failed == -EISDIR || failed == -EPERM) failed = sys->rmdir(sys, path);
  if (failed < 0) {
    struct error error = {0};
    error_system(&error, -failed, "%s", path);
    return bind_fail(L, &error);
  }
  lua_pushboolean(L, 1);
  return 1;
}

/* rename(from, to): takes the place of what was there, at once. */
static int files_rename(lua_State *L) {
  const char *from = check_path(L, 1), *to = check_path(L, 2);
  const struct sys *sys = bind_sys(L);
  int failed = sys->rename(sys, from, to);
  if (failed < 0) {
    struct error error = {0};
    error_system(&error, -failed, "%s", to);
    return bind_fail(L, &error);
  }
  lua_pushboolean(L, 1);
  return 1;
}

/* current() -> the folder relative paths start at | nil, message, code: it was removed */
static int files_current(lua_State *L) {
  char path[4096];
  if (!getcwd(path, sizeof path)) {
    struct error error = {0};
    error_system(&error, errno, "the current folder");
    return bind_fail(L, &error);
  }
  lua_pushstring(L, path);
  return 1;
}

int bind_files(lua_State *L) {
  static const luaL_Reg functions[] = {{"read", files_read},
                                       {"write", files_write},
                                       {"create", files_create},
                                       {"keep", files_keep},
                                       {"kept", files_kept},
                                       {"part", files_part},
                                       {"settle", files_settle},
                                       {"sync", files_sync},
                                       {"list", files_list},
                                       {"stat", files_stat},
                                       {"make_folders", files_make_folders},
                                       {"remove", files_remove},
                                       {"rename", files_rename},
                                       {"current", files_current},
                                       {"put", files_put},
                                       {NULL, NULL}};
  luaL_newlib(L, functions);
  return 1;
}
