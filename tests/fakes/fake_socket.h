/* A WebSocket server for a fake service, with or without TLS: a thread for each connection, frames
 * sent from any thread, a connection that can be made to die in every way. */
#ifndef FAKE_SOCKET_H
#define FAKE_SOCKET_H

#include <stdbool.h>
#include <stddef.h>

struct fake_socket;

struct fake_socket_ops {
    void (*open)(struct fake_socket *s, const char *path);
    void (*message)(struct fake_socket *s, const char *text, size_t n);
    void (*over)(struct fake_socket *s); /* the last word; code: fake_socket_code() */
};

/* Listens on the loopback address, port 0: any; returns the port. ca: a file into which the
 * certificate is written that clients have to trust; NULL: no TLS. */
unsigned short fake_socket_listen(unsigned short port, const char *ca,
                                  const struct fake_socket_ops *ops);

void fake_socket_send(struct fake_socket *s, const char *text, size_t n);
/* code 0: the connection ends without a word. */
void fake_socket_close(struct fake_socket *s, unsigned code);
/* From here on it neither reads nor writes, and nobody is told: a peer that is gone without FIN. */
void fake_socket_freeze(struct fake_socket *s);
/* The client's close code, 0: none. */
unsigned fake_socket_code(const struct fake_socket *s);
void *fake_socket_owner(const struct fake_socket *s);
void fake_socket_set_owner(struct fake_socket *s, void *owner);

#endif
