/*
 * What html.c needs of libxml2, which is opened when the first page comes: it brings ICU along,
 * which takes longer to load than all other plugins together, and many gateways never fetch a page.
 * The only file of the plugin that opens a library.
 */
#ifndef TOOL_WEB_XML_H
#define TOOL_WEB_XML_H

#include <libxml/HTMLparser.h>
#include <libxml/uri.h>

struct xml {
    __typeof__(xmlBuildURI) *build_uri;
    __typeof__(xmlGetProp) *get_prop;
    __typeof__(htmlReadMemory) *read_memory;
    __typeof__(xmlDocGetRootElement) *root;
    __typeof__(xmlFreeDoc) *free_doc;
    xmlFreeFunc release; /* what the others gave */
};

/* [any thread] NULL: it isn't installed. */
const struct xml *xml_open(void);

#endif
