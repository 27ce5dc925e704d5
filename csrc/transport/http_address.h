/* http_address.h: which addresses a request may be sent to, where its task says so: those of the
 * public internet, and what it names besides. What counts is the address of the socket, not the
 * name that was asked for. Knows addresses, nothing of libcurl. */
#ifndef SKILLRT_TRANSPORT_HTTP_ADDRESS_H
#define SKILLRT_TRANSPORT_HTTP_ADDRESS_H

#include <stdbool.h>
#include <sys/socket.h>

/* `policy`: "public", then networks that are allowed besides: "public 127.0.0.0/8 fd00::/8".
 * What cannot be read allows nothing. */
bool http_address_allowed(const char *policy, const struct sockaddr *at);
/* The same for an address in digits. */
bool http_address_text_allowed(const char *policy, const char *address);
/* An address in digits; of what is none "?". */
void http_address_text(const struct sockaddr *at, char *to, size_t room);

#endif
