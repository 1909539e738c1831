/*
 * A plugin that does nothing, but from whose descriptor every struct of the SDK can be reached:
 * what tests/abi/check compares with the baseline.
 */
#include <chela/chela.h>

static const struct chela_channel channel = {.size = sizeof channel};
static const struct chela_provider provider = {.size = sizeof provider};
static const struct chela_router router = {.size = sizeof router};
static const struct chela_tool tool = {.size = sizeof tool};
static const struct chela_store store = {.size = sizeof store};
static const struct chela_hook hook = {.size = sizeof hook};
static const struct chela_service service = {.size = sizeof service};

static const struct chela_iface sample_iface = {
    CHELA_IFACE("sample", "nothing", 0, NULL),
    .channel = &channel,
    .provider = &provider,
    .router = &router,
    .tool = &tool,
    .store = &store,
    .hook = &hook,
    .service = &service,
};

CHELA_PLUGIN(sample, "1.0", "nothing", "MIT", "", &sample_iface);
