/*
 * What the SDK itself costs: a text event encoded and decoded; a call with one event and its end in
 * this process and in a child; a stream of events from a child.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../unit/host_kit.h"

#include "base/clock.h"
#include "host/loop.h"
#include "wire/frame.h"
#include "wire/functions.h"

enum { FRAMES = 2000000, CALLS = 3000, STREAM = 20000 };

static double ns_each(uint64_t from_us, unsigned count)
{
    return (double)(clock_ticks_us() - from_us) * 1000.0 / count;
}

static void frames(void)
{
    static uint64_t buffer[64];
    struct wire_decoder d = {0};
    const struct wire_function *f = wire_function(CHELA_FN_TEXT);
    CHELA_ARGS(chela_text, text, 7);
    text.text = chela_s("a piece of text as providers stream it");
    uint64_t from = clock_ticks_us(), sum = 0;
    for (unsigned i = 0; i < FRAMES; i++) {
        text.h.tag = i;
        size_t size = wire_size(f->args, &text);
        wire_write(buffer, f->number, 1, f->args, &text);
        wire_read(&d, f->args, (const void *)buffer);
        sum += size + d.args.head.tag;
    }
    printf("encode and decode a text event     %8.1f ns%s\n", ns_each(from, FRAMES),
           sum ? "" : " ");
}

static void calls(enum kit_place place, const char *where)
{
    kit_open(place);
    kit.quiet_text = true;
    uint64_t from = clock_ticks_us();
    for (unsigned i = 0; i < CALLS; i++) {
        CHELA_ARGS(chela_tool_run, run, 0);
        run.arguments = chela_s("text $ x\ndone $ 0\n");
        call_begin(kit.in, CHELA_FN_TOOL_RUN, &run, 0, 0, &kit_ops, NULL);
        while (call_count() > 0)
            loop_turn(true);
        buf_clear(&kit.trace);
    }
    printf("call, event, end, one at a time, %-6s %6.1f us\n", where, ns_each(from, CALLS) / 1000);
    from = clock_ticks_us();
    char script[64];
    snprintf(script, sizeof script, "flood $ 40 %d\ndone $ 0\n", STREAM);
    kit.texts = 0;
    kit_run(script, 0, 0);
    while (call_count() > 0)
        loop_turn(true);
    printf("events of one stream, %-6s         %8.1f ns each, %llu of %d arrived\n", where,
           ns_each(from, STREAM), (unsigned long long)kit.texts, STREAM);
    kit_close();
}

int main(void)
{
    frames();
    calls(KIT_HERE, "here");
    calls(KIT_CHILD, "child");
    return 0;
}
