/*
 * Plugins that must be refused, and some odd ones that must not. Compiled once for each, with
 * MODULE = its name and BAD_<name> set; tests/unit/module_test.c says what becomes of each.
 */
#include <chela/chela.h>
#include <stdlib.h>

#define PASTE(a, b)    a##b
#define EXPORT_AS(mod) PASTE(mod, _LTX_chela_plugin)
#define TEXT_OF(x)     #x
#define NAME_OF(mod)   TEXT_OF(mod)

__attribute__((used)) static void run(struct chela_inst *in, const struct chela_tool_run *a)
{
    chela_end(in, a->h.call, CHELA_OK, NAME_OF(MODULE));
}

#ifdef BAD_bad_constructor
/* Must not run when the file's mode refuses the plugin before it is opened. */
__attribute__((constructor)) static void ran(void)
{
    setenv("CHELA_TEST_CONSTRUCTOR_RAN", "1", 1);
}
#endif

#ifdef BAD_bad_undefined
extern void chela_test_that_nobody_defines(void);
static void stop(struct chela_inst *in, const struct chela_arg *a)
{
    (void)in;
    (void)a;
    chela_test_that_nobody_defines();
}
#endif

/* ---- an older and a newer plugin: shorter and longer tables ---- */

#ifdef BAD_good_older
static const struct {
    uint32_t size, zero;
    void (*prepare)(struct chela_inst *, const struct chela_tool_run *);
} old_tool = {sizeof old_tool, 0, run};
#define TOOL (const struct chela_tool *)(const void *)&old_tool
#elif defined BAD_good_newer
static const struct {
    struct chela_tool known;
    void *later[4];
} new_tool = {{sizeof new_tool, 0, NULL, run}, {NULL}};
#define TOOL &new_tool.known
#elif defined BAD_bad_table
static const struct chela_tool tool = {4, 0, NULL, run};
#define TOOL &tool
#elif defined BAD_bad_role
#define TOOL NULL
#else
static const struct chela_tool tool = {sizeof tool, 0, NULL, run};
#define TOOL &tool
#endif

#ifdef BAD_good_newer
struct option {
    struct chela_option known;
    const char *later;
};
#define OPTION(name, type, flags, fallback)                                                        \
    {                                                                                              \
        {name, type, flags, fallback, "", NULL}, "later"                                           \
    }
#else
struct option {
    struct chela_option known;
};
#define OPTION(name, type, flags, fallback)                                                        \
    {                                                                                              \
        {                                                                                          \
            name, type, flags, fallback, "", NULL                                                  \
        }                                                                                          \
    }
#endif
static const struct option options[] = {OPTION("city", CHELA_STRING, 0, "Beijing"),
                                        OPTION("wait", CHELA_DURATION, 0, "3s"),
#ifdef BAD_bad_option_type
                                        OPTION("strange", 99, 0, NULL),
#elif defined BAD_bad_option_name
                                        OPTION("no/name", CHELA_STRING, 0, NULL),
#elif defined BAD_bad_option_twice
                                        OPTION("city", CHELA_INT, 0, NULL),
#elif defined BAD_bad_option_own
                                        OPTION("enabled", CHELA_BOOL, 0, NULL),
#elif defined BAD_bad_option_items
                                        OPTION("list", CHELA_ITEMS, 0, NULL),
#endif
                                        OPTION(NULL, 0, 0, NULL)};

#ifdef BAD_good_newer
struct iface {
    struct chela_iface known;
    void *later[8];
};
#define IFACE(...)                                                                                 \
    {                                                                                              \
        {__VA_ARGS__},                                                                             \
        {                                                                                          \
            NULL                                                                                   \
        }                                                                                          \
    }
#else
struct iface {
    struct chela_iface known;
};
#define IFACE(...)                                                                                 \
    {                                                                                              \
        {                                                                                          \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }
#endif
#ifdef BAD_good_older
#define IFACE_SIZE offsetof(struct chela_iface, hook)
#elif defined BAD_bad_iface_size
#define IFACE_SIZE 16
#else
#define IFACE_SIZE sizeof(struct iface)
#endif
#ifdef BAD_bad_option_size
#define OPTION_SIZE 8
#else
#define OPTION_SIZE sizeof(struct option)
#endif
#ifdef BAD_bad_type
#define TYPE "No Type"
#elif defined BAD_bad_type_null
#define TYPE NULL
#else
#define TYPE "clock"
#endif

__attribute__((used)) static const struct iface clock_iface =
    IFACE(.size = (uint32_t)IFACE_SIZE, .option_size = (uint32_t)OPTION_SIZE, .type = TYPE,
          .summary = "tells the time", .options = &options[0].known,
#ifdef BAD_bad_undefined
          .stop = stop,
#endif
          .tool = TOOL);

__attribute__((used)) static const struct chela_iface *const ifaces[] = {
#ifndef BAD_bad_no_iface
    &clock_iface.known,
#endif
#ifdef BAD_bad_type_twice
    &clock_iface.known,
#endif
    NULL};

/* ---- the descriptor ---- */

#ifdef BAD_good_newer
struct descriptor {
    struct chela_plugin known;
    const char *later[4];
};
#else
struct descriptor {
    struct chela_plugin known;
};
#endif
#ifdef BAD_bad_magic
#define MAGIC 0x12345678u
#else
#define MAGIC CHELA_MAGIC
#endif
#ifdef BAD_bad_major
#define MAJOR 7
#else
#define MAJOR CHELA_MAJOR
#endif
#ifdef BAD_bad_short
#define SIZE 24
#else
#define SIZE sizeof(struct descriptor)
#endif
#ifdef BAD_bad_need
#define NEED 99
#else
#define NEED CHELA_MINOR_NEED
#endif
#ifdef BAD_bad_name
#define NAME "tool_other"
#else
#define NAME NAME_OF(MODULE)
#endif
#ifdef BAD_bad_null
#define SUMMARY NULL
#elif defined BAD_bad_utf8
#define SUMMARY "\xff\xfe"
#else
#define SUMMARY "for tests"
#endif
#ifdef BAD_bad_null_ifaces
#define IFACES NULL
#else
#define IFACES ifaces
#endif

#ifdef BAD_bad_symbol
#undef EXPORT_AS
#define EXPORT_AS(mod) some_other_name
#endif

CHELA_EXTERN const struct descriptor EXPORT_AS(MODULE);
const struct descriptor EXPORT_AS(MODULE) = {{(uint32_t)MAGIC, (uint16_t)MAJOR, CHELA_MINOR,
                                              (uint32_t)SIZE, NEED, 0, NAME, "1.2", SUMMARY, "MIT",
                                              "", IFACES}};
