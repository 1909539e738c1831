/*
 * router_hours: a router. One model by day, another by night; a person's own choice counts more. It
 * decides from the facts alone and answers at once.
 */
#include <chela/chela.h>

static const struct chela_option options[] = {
    {"day", CHELA_REF, CHELA_REQUIRED, NULL, "who answers by day: \"instance/model\"", NULL},
    {"night", CHELA_REF, CHELA_REQUIRED, NULL, "who answers by night", NULL},
    {"from", CHELA_INT, 0, "8", "hour at which the day begins", NULL},
    {"to", CHELA_INT, 0, "20", "hour at which it ends", NULL},
    {NULL, 0, 0, NULL, NULL, NULL},
};

static void route(struct chela_inst *in, const struct chela_facts *f)
{
    int64_t hour = (int64_t)(f->at / 3600 % 24);
    int by_day = hour >= chela_option_number(in, "from") && hour < chela_option_number(in, "to");
    struct chela_pair candidates[] = {
        {chela_option_text(in, by_day ? "day" : "night"), chela_s(by_day ? "by day" : "by night")},
        {chela_option_text(in, by_day ? "night" : "day"), chela_s("if that one fails")},
    };
    CHELA_ARGS(chela_decide, d, f->h.call);
    d.verdict = CHELA_YES;
    if (f->prefer.n)
        d.verdict = CHELA_NO; /* no opinion */
    else {
        d.candidates.v = candidates;
        d.candidates.n = 2;
    }
    in->host->answer->decide(in, &d);
}

static const struct chela_router router = {.size = (uint32_t)sizeof(struct chela_router),
                                           .route = route};

static const struct chela_iface hours = {
    CHELA_IFACE("hours", "one model by day, another by night", 0, options),
    .router = &router,
};

CHELA_PLUGIN(router_hours, "1.0", "routes by the hour", "MIT", "", &hours);
