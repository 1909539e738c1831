/* Embeddings of mock_model (mock_embed.c). */
#ifndef TESTS_FAKES_MOCK_EMBED_H
#define TESTS_FAKES_MOCK_EMBED_H

#include "support/json.h"

/* Answers a request of the form {"input":[TEXT...]}. */
void embed_answer(int fd, json_object *body);

#endif
