/* libxml2, opened late (see xml.h). Never closed: its threads' data would be left behind. */
#include "xml.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

static struct xml xml;
static bool have;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* A function's address, through void *, as dlsym gives it. */
static bool find(void *library, const char *name, void *pointer)
{
    void *symbol = dlsym(library, name);
    memcpy(pointer, &symbol, sizeof symbol);
    return symbol != NULL;
}

static void load(void)
{
    void *library = dlopen(CHELA_LIBXML2, RTLD_NOW | RTLD_LOCAL);
    void (*init)(void);
    xmlFreeFunc *release; /* a variable of the library, which holds the function */
    if (!library || !find(library, "xmlInitParser", &init) || !find(library, "xmlFree", &release) ||
        !find(library, "xmlBuildURI", &xml.build_uri) ||
        !find(library, "xmlGetProp", &xml.get_prop) ||
        !find(library, "htmlReadMemory", &xml.read_memory) ||
        !find(library, "xmlDocGetRootElement", &xml.root) ||
        !find(library, "xmlFreeDoc", &xml.free_doc))
        return;
    init();
    xml.release = *release;
    have = true;
}

const struct xml *xml_open(void)
{
    pthread_once(&once, load);
    return have ? &xml : NULL;
}
