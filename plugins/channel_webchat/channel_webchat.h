/*
 * The files of channel_webchat.
 */
#ifndef CHANNEL_WEBCHAT_H
#define CHANNEL_WEBCHAT_H

#include <chela/chela.h>

enum { WEBCHAT_TEXTS = 256 };

/* files.c: the page's files, which stand in the module itself. */
void webchat_publish_routes(struct chela_inst *in);
void webchat_request(struct chela_inst *in, const struct chela_request *r);

#endif
