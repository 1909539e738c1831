/*
 * Files that go along with a message, as the gateway wants them: {type, mimeType, fileName, content
 * in base64}. Called by subcommands; reads files, asks nobody.
 */
#ifndef CLI_ATTACHMENT_H
#define CLI_ATTACHMENT_H

#include <json-c/json_object.h>

#include "base/buf.h"
#include "base/error.h"

/* The file behind the others in the list; -1: e names the file and what is wrong with it. */
int attachment_add(json_object *list, const char *path, struct error *e);

/* Standard input: text is put behind the message, anything else into the list. */
int attachment_add_input(json_object *list, struct buf *message, struct error *e);

#endif
