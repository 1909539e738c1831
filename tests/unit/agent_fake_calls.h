/* What agent_fake.c needs of the fake calls beside agent_fake.h. */
#ifndef TESTS_AGENT_FAKE_CALLS_H
#define TESTS_AGENT_FAKE_CALLS_H

#include <stdbool.h>

void fake_calls_open(void);
bool fake_calls_deliver(void); /* one thing that a plugin or the journal said; false: nothing */
void fake_calls_drop(void);    /* what is open and what was said is forgotten */
void fake_calls_close(void);

#endif
