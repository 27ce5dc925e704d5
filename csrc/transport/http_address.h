/* http_address.h: whether a request may be sent to an address: a task may allow only the public
 * internet and networks that it names. The socket's address counts, not the name in the URL. Knows
 * addresses, nothing of libcurl. */
#ifndef SKILLRT_TRANSPORT_HTTP_ADDRESS_H
#define SKILLRT_TRANSPORT_HTTP_ADDRESS_H

#include <stdbool.h>
#include <sys/socket.h>

/* `policy`: "public", then networks that are allowed besides: "public 127.0.0.0/8 fd00::/8".
 * A policy that cannot be read allows nothing. */
bool http_address_allowed(const char *policy, const struct sockaddr *at);
/* The same for an address in digits. */
bool http_address_text_allowed(const char *policy, const char *address);
/* The address as text; "?" where it is none. */
void http_address_text(const struct sockaddr *at, char *to, size_t room);

#endif
