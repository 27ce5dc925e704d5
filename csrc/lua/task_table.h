/* task_table.h: tasks and replies as Lua tables. Called by script.c, inside its protected call. */
#ifndef SKILLRT_LUA_TASK_TABLE_H
#define SKILLRT_LUA_TASK_TABLE_H

#include <lua.h>

#include "transport/transport.h"

/* Fills `task` from the table at `at`:
 *   kind = "command" | "http" | "session" | "host";
 *   command: argv, stdin, env { NAME = value }, cwd, timeout, idle_timeout (s), silence = "end" |
 *         "spare" | "report" | "ask", max_output;
 *   http: url, method, headers { name = value }, body, timeout, connect_timeout, idle_timeout (s),
 *         max_reply, ca_file, addresses, max_redirects;
 *   session: session (its name), argv, env, cwd, message, id (a whole number or a text; none: the
 *         next message is the answer), framed, timeout, max_reply; or url, headers, ca_file instead
 *         of a program; replies { method = its result, JSON }.
 *   host: name (of the function), body (its input, JSON), key, timeout, max_reply.
 * Raises on a wrong type. */
void task_table_read(lua_State *L, int at, struct task *task);

/* Pushes { status, sent, code, body, extra, retry_after_ms, elapsed_ms, message }. */
void task_table_push_reply(lua_State *L, const struct reply *reply);

#endif
