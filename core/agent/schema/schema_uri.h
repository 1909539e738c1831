/*
 * Resolving of URI references (RFC 3986, section 5.2), for the $id and $ref of a schema. Called by
 * schema_ids.c; it opens nothing and takes any text, sensible or not.
 */
#ifndef AGENT_SCHEMA_URI_H
#define AGENT_SCHEMA_URI_H

/* reference seen from base (absolute, or "" for a document without a name), without its fragment.
 * The caller frees it. */
char *schema_uri_resolve(const char *base, const char *reference);

/* What follows the '#' with %XX decoded, "" if there is none. The caller frees it; NULL if it holds
 * %00 or a bad %. */
char *schema_uri_fragment(const char *reference);

#endif
