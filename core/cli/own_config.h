/* Own config: files that chela writes beside the user's chela.conf (import, onboard). Never touches
 * a file that is there already unless asked to, and then keeps the old one. */
#ifndef CLI_OWN_CONFIG_H
#define CLI_OWN_CONFIG_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/error.h"

/* A file beside the user's chela.conf, or of the folder that CHELA_CONFIG is in; free it. NULL: the
 * chela.conf itself. */
char *own_config_path(const char *name);

/* Writes a new file with mode 0600, and the folders that it needs. CHELA_E_CONFLICT: it is there,
 * and `replace` is false; else the old one is kept as PATH.old. */
int own_config_write(const char *path, const struct buf *text, bool replace, struct error *e);

/* A text as libconfig has it, in quotation marks. */
void own_config_string(const char *text, struct buf *out);

#endif
