/* Text inside of a URL (see urlencode.h). */
#include "urlencode.h"

#include <string.h>

void chela_urlencode(FILE *out, const char *text)
{
    for (const unsigned char *p = (const unsigned char *)text; *p; p++) {
        if ((*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || (*p >= '0' && *p <= '9') ||
            strchr("-._~", *p))
            fputc(*p, out);
        else
            fprintf(out, "%%%02X", *p);
    }
}
