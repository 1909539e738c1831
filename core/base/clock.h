/*
 * The clocks; the only place that reads time. A test may put a fake in their place, which then
 * moves only when told to.
 */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

uint64_t clock_now_ms(void);   /* wall clock, milliseconds since 1970 */
uint64_t clock_ticks_ms(void); /* monotonic */
uint64_t clock_ticks_us(void); /* monotonic */
/* "2026-11-30T20:42:38.123Z" into out, at least 25 bytes. */
void clock_format(uint64_t ms, char *out, size_t size);

/* From now on all clocks stand at `now_ms` (and the monotonic one at 1 h). */
void clock_fake(uint64_t now_ms);
void clock_fake_advance(uint64_t ms);
void clock_fake_end(void);
bool clock_is_fake(void);

#endif
