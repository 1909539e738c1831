/*
 * Embed: embeddings for plugins, by the provider whose model the configuration names. Registered
 * once by the facade; answers the SDK's chat.embed. Never calls a chat model.
 */
#ifndef AGENT_EMBED_H
#define AGENT_EMBED_H

void embed_register(void);

#endif
