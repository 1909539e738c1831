/*
 * The control frames between the daemon and a plugin's process (see child_frames.h), and how a
 * plugin's types are described by them. Used by isolate.c and child.c; calls no plugin.
 */
#include "host/child_frames.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/mem.h"
#include "host/options.h"

#define F WIRE_FIELD
#define Z WIRE_RESERVED
WIRE_ARGS(child_plugin, F(child_plugin, major), F(child_plugin, minor), F(child_plugin, minor_need),
          Z(child_plugin, zero), F(child_plugin, name), F(child_plugin, version),
          F(child_plugin, summary), F(child_plugin, license), F(child_plugin, origin));
WIRE_ARGS(child_type, F(child_type, caps), F(child_type, type), F(child_type, summary),
          F(child_type, options), F(child_type, slots), F(child_type, statics));
WIRE_ARGS(child_result, F(child_result, error), F(child_result, count), F(child_result, text));
WIRE_ARGS(child_open, F(child_open, name), F(child_open, type), F(child_open, options));
WIRE_ARGS(child_log, F(child_log, level), Z(child_log, zero), F(child_log, who),
          F(child_log, text));
WIRE_ARGS(child_metric, F(child_metric, kind), Z(child_metric, zero), F(child_metric, value),
          F(child_metric, name), F(child_metric, labels));
#undef F
#undef Z

static const struct wire_args nothing_args = {"nothing", sizeof(struct chela_arg), 0, NULL};

const struct wire_args *child_frame_args(uint32_t function)
{
    switch (function) {
    case CHILD_PLUGIN: return &child_plugin_args;
    case CHILD_TYPE: return &child_type_args;
    case CHILD_READY:
    case CHILD_OPENED:
    case CHILD_CLOSED: return &child_result_args;
    case CHILD_OPEN:
    case CHILD_OPTIONS: return &child_open_args;
    case CHILD_CLOSE: return &nothing_args;
    case CHILD_LOG: return &child_log_args;
    case CHILD_METRIC: return &child_metric_args;
    default: return NULL;
    }
}

bool child_frame_add(struct buf *out, uint32_t function, uint32_t instance,
                     const struct wire_args *a, const void *args)
{
    size_t size = wire_size(a, args);
    if (size == 0)
        return false;
    buf_reserve(out, size);
    wire_write(out->p + out->n, function, instance, a, args);
    out->n += size;
    return true;
}

int child_send_all(int fd, const char *p, size_t n)
{
    while (n > 0) {
        ssize_t sent = send(fd, p, n, MSG_NOSIGNAL);
        if (sent < 0 && errno == EAGAIN) { /* the loop's watch has made it non-blocking */
            struct pollfd room = {.fd = fd, .events = POLLOUT};
            poll(&room, 1, -1);
            continue;
        }
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0)
            return -1;
        p += sent;
        n -= (size_t)sent;
    }
    return 0;
}

/* ---- values ---- */

struct list {
    struct chela_value *v;
    size_t n, size;
};

static void add(struct list *l, struct chela_value value)
{
    if (l->n == l->size) {
        l->size = l->size ? l->size * 2 : 32;
        l->v = xrealloc(l->v, l->size * sizeof *l->v);
    }
    l->v[l->n++] = value;
}

static void add_number(struct list *l, uint64_t n)
{
    add(l, (struct chela_value){.type = CHELA_V_INT, .i = (int64_t)n});
}

static void add_text(struct list *l, const char *s) /* NULL stays NULL */
{
    add(l, (struct chela_value){.type = s ? CHELA_V_TEXT : CHELA_V_NULL, .s = chela_s(s)});
}

/* Reads a list of values in order; anything unexpected sets `bad`. */
struct reader {
    struct chela_values from;
    uint64_t at;
    bool bad;
};

static const struct chela_value *next(struct reader *r)
{
    static const struct chela_value none;
    if (r->at < r->from.n)
        return &r->from.v[r->at++];
    r->bad = true;
    return &none;
}

static uint64_t next_number(struct reader *r)
{
    const struct chela_value *v = next(r);
    r->bad = r->bad || v->type != CHELA_V_INT;
    return (uint64_t)v->i;
}

static char *next_text(struct reader *r) /* a copy, or NULL */
{
    const struct chela_value *v = next(r);
    if (v->type == CHELA_V_NULL)
        return NULL;
    r->bad = r->bad || v->type != CHELA_V_TEXT || memchr(v->s.s, '\0', (size_t)v->s.n);
    return xmemdup(v->s.s, (size_t)v->s.n);
}

/* ---- option tables ---- */

enum { OPTION_DEPTH = 8, OPTIONS_MAX = 4096 };

static void write_options(struct list *l, const struct chela_option *table, uint32_t stride,
                          unsigned depth)
{
    const struct chela_option *o;
    for (size_t i = 0; table && depth && (o = options_entry(table, stride, i)); i++) {
        add_text(l, o->name);
        add_number(l, o->type);
        add_number(l, o->flags);
        add_text(l, o->fallback);
        add_text(l, o->help);
        add_number(l, o->items != NULL);
        if (o->items)
            write_options(l, o->items, stride, depth - 1);
    }
    add_text(l, NULL);
}

static const struct chela_option *read_options(struct reader *r, unsigned depth)
{
    struct chela_option *table = NULL;
    size_t n = 0;
    for (char *name; !r->bad && (name = next_text(r)); n++) {
        if (n == OPTIONS_MAX || depth == 0) {
            r->bad = true;
            free(name);
            break;
        }
        table = xrealloc(table, (n + 1) * sizeof *table);
        struct chela_option *o = &table[n];
        *o = (struct chela_option){.name = name};
        o->type = (uint32_t)next_number(r);
        o->flags = (uint32_t)next_number(r);
        o->fallback = next_text(r);
        o->help = next_text(r);
        if (next_number(r) == 1)
            o->items = read_options(r, depth - 1);
    }
    table = xrealloc(table, (n + 1) * sizeof *table);
    memset(&table[n], 0, sizeof *table);
    return table;
}

/* ---- slots ---- */

static bool type_has(const struct plugin_type *t, const struct wire_function *f)
{
    const void *table = wire_table_of(&t->iface, f->table);
    return f->direction == WIRE_TO_PLUGIN && table && f->has(table);
}

/* Stand in the slots of an isolated type; whoever calls one has forgotten to ask call.c. */
#define STUB_HOST(name, args)
#define STUB_PLUGIN(name, args)                                                                    \
    static void stub_##name(struct chela_inst *in, const struct chela_##args *a)                   \
    {                                                                                              \
        (void)in;                                                                                  \
        (void)a;                                                                                   \
        abort();                                                                                   \
    }
#define FUNCTION(name, number, text, direction, table, slot, args, act) STUB_##direction(name, args)
CHELA_FUNCTIONS(FUNCTION)
#undef FUNCTION

static void set_slot(struct plugin_type *t, uint64_t number)
{
#define PLACE_iface(t)    (&(t)->iface)
#define PLACE_channel(t)  (&(t)->channel)
#define PLACE_provider(t) (&(t)->provider)
#define PLACE_router(t)   (&(t)->router)
#define PLACE_tool(t)     (&(t)->tool)
#define PLACE_store(t)    (&(t)->store)
#define PLACE_hook(t)     (&(t)->hook)
#define PLACE_service(t)  (&(t)->service)
#define SET_HOST(name, table, slot)
#define SET_PLUGIN(name, table, slot)                                                              \
    case CHELA_FN_##name:                                                                          \
        PLACE_##table(t)->slot = stub_##name;                                                      \
        break;
#define FUNCTION(name, number, text, direction, table, slot, args, act)                            \
    SET_##direction(name, table, slot)
    switch (number) {
        CHELA_FUNCTIONS(FUNCTION)
    default: break;
    }
#undef FUNCTION
}

/* ---- types ---- */

static void set_roles(struct plugin_type *t, uint64_t roles)
{
#define ROLE(bit, role)                                                                            \
    do {                                                                                           \
        t->iface.role = roles & (1u << (bit)) ? &t->role : NULL;                                   \
        t->role.size = sizeof t->role;                                                             \
    } while (0)
    ROLE(ROLE_CHANNEL, channel);
    ROLE(ROLE_PROVIDER, provider);
    ROLE(ROLE_ROUTER, router);
    ROLE(ROLE_TOOL, tool);
    ROLE(ROLE_STORE, store);
    ROLE(ROLE_HOOK, hook);
    ROLE(ROLE_SERVICE, service);
#undef ROLE
    t->roles = (unsigned)roles & ((1u << ROLE_COUNT) - 1);
}

void child_type_write(struct buf *out, const struct plugin_type *t)
{
    struct list options = {0}, slots = {0}, statics = {0};
    write_options(&options, t->iface.options, t->iface.option_size, OPTION_DEPTH);
    for (const struct wire_function *f = NULL; (f = wire_function_next(f));)
        if (type_has(t, f))
            add_number(&slots, f->number);
    add_number(&statics, t->roles);
    add_number(&statics, t->channel.send_class);
    add_number(&statics, t->channel.can);
    add_number(&statics, t->channel.unit);
    add_number(&statics, t->channel.text_limit);
    add_number(&statics, t->channel.key_window_ms);
    add_text(&statics, t->channel.dialect);
    add_text(&statics, t->channel.platform);
    add_number(&statics, t->hook.points);
    add_number(&statics, t->channel.edit_ms);

    CHELA_ARGS(child_type, a, 0);
    a.caps = t->iface.caps;
    a.type = chela_s(t->iface.type);
    a.summary = chela_s(t->iface.summary);
    a.options = (struct chela_values){options.v, options.n};
    a.slots = (struct chela_values){slots.v, slots.n};
    a.statics = (struct chela_values){statics.v, statics.n};
    child_frame_add(out, CHILD_TYPE, 0, &child_type_args, &a);
    free(options.v);
    free(slots.v);
    free(statics.v);
}

bool child_type_read(struct plugin_type *t, struct plugin *p, const struct child_type *from)
{
    struct reader options = {.from = from->options}, slots = {.from = from->slots},
                  statics = {.from = from->statics};
    memset(t, 0, sizeof *t);
    t->plugin = p;
    t->iface.size = sizeof t->iface;
    t->iface.option_size = sizeof(struct chela_option);
    t->iface.type = xmemdup(from->type.s, (size_t)from->type.n);
    t->iface.summary = xmemdup(from->summary.s, (size_t)from->summary.n);
    t->iface.caps = from->caps;
    t->iface.options = read_options(&options, OPTION_DEPTH);
    set_roles(t, next_number(&statics));
    t->channel.send_class = (uint32_t)next_number(&statics);
    t->channel.can = (uint32_t)next_number(&statics);
    t->channel.unit = (uint32_t)next_number(&statics);
    t->channel.text_limit = next_number(&statics);
    t->channel.key_window_ms = next_number(&statics);
    t->channel.dialect = next_text(&statics);
    t->channel.platform = next_text(&statics);
    t->hook.points = (uint32_t)next_number(&statics);
    t->channel.edit_ms = next_number(&statics);
    while (slots.at < slots.from.n && !slots.bad)
        set_slot(t, next_number(&slots));
    return !options.bad && !slots.bad && !statics.bad && t->iface.type[0] != '\0';
}
