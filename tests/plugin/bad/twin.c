/*
 * One of two plugins that are built into the same program, each with a global function of the same
 * name; compiled twice, with MODULE and TWIN set.
 */
#include <chela/chela.h>

uint64_t helper(void); /* twin_helper.c */

static int32_t open_it(struct chela_inst *in)
{
    in->self = NULL;
    return (int32_t)helper();
}

static const struct chela_tool tool = {.size = sizeof tool};
static const struct chela_iface iface = {CHELA_IFACE("twin", "one of two", 0, NULL),
                                         .open = open_it, .tool = &tool};
#define PLUGIN(mod) CHELA_PLUGIN(mod, "1.0", "one of two", "MIT", "", &iface)
PLUGIN(MODULE);
