/* What agent_fake.c needs of the fake journal beside journal.h. */
#ifndef TESTS_AGENT_FAKE_JOURNAL_H
#define TESTS_AGENT_FAKE_JOURNAL_H

#include <stdbool.h>

void fake_journal_open(void);
void fake_journal_close(void);
void fake_journal_freeze(bool on); /* commits say OK and store nothing */
bool fake_journal_deliver(void);   /* calls back once; false if nothing waits */

#endif
