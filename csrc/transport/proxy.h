/* proxy.h: the network of a program in a jail that has a list of what it may reach.
 *
 * It listens inside of the jail's network, on descriptors that the jail made there (jail.h), so
 * that no program stands between: CONNECT and plain HTTP on one port, which HTTPS_PROXY and the
 * like name; and on each port of this machine's loopback that is granted, what leads there. A name
 * is looked up once, here, and what was found is what is connected to: public addresses, and others
 * only where the list has them by themselves. Knows its words, no tasks of programs. Called
 * by process_child.c. */
#ifndef SKILLRT_TRANSPORT_PROXY_H
#define SKILLRT_TRANSPORT_PROXY_H

#include "transport/transport.h"

struct proxy;

/* NULL in `to` where no word is one of its own: "reach PLACE"; "header PLACE Name: value", which
 * plain requests to that place are sent on with, by TLS, over the owner's HTTP; "ca FILE", trusted
 * for these. False: a word that names no place, no memory. */
bool proxy_open(const struct sys *, struct uv_loop_s *, const struct transport_owner *,
                const struct strings *words, struct proxy **to, struct error *);
/* What the jail and its program have to know: adds "listen PORT" to its words, and to `more` its
 * environment, with the variables that name the proxy instead of those that it has. */
bool proxy_tell(const struct proxy *, const struct strings *env, struct strings *words,
                struct strings *more, struct error *);
/* Takes over the descriptors, in the order of the words. */
bool proxy_listen(struct proxy *, const int *fds, size_t count, struct error *);
/* The places that were asked for and are not in the list, with a blank between; "" where there were
 * none. The first of them; bounded. */
const char *proxy_refused(const struct proxy *);
/* All that is under way ends. It is freed when the loop has closed its handles, and names that are
 * being looked up are found. */
void proxy_close(struct proxy **);

#endif
