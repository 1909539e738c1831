/*
 * What a heartbeat reads and says: HEARTBEAT.md, if it says something, and an answer without the
 * word that means "nothing". Called by channel_heartbeat.c; knows no host.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "heartbeat.h"
#include "support/op.h"

enum { FILE_MOST = 20000, SHORT_REST = 300 };

/* Something besides headings, comments and empty lists. */
static bool says_something(const char *text)
{
    bool comment = false;
    for (const char *line = text; *line;) {
        size_t n = strcspn(line, "\n");
        const char *p = line + strspn(line, " \t\r");
        if (strncmp(p, "<!--", 4) == 0)
            comment = true;
        bool empty = comment || p >= line + n || *p == '#' ||
                     strspn(p, "-*[] \t\r") >= (size_t)(line + n - p);
        if (comment && memmem(line, n, "-->", 3))
            comment = false;
        if (!empty)
            return true;
        line += n + (line[n] == '\n');
    }
    return false;
}

/* The file's text; NULL: it isn't there, or says nothing. Owned by the caller. */
char *heartbeat_file(const char *workspace, const char *name)
{
    char *path = chela_format("%s/%s", workspace, name), *text = NULL;
    struct stat st;
    int fd = strstr(name, "..") || *name == '/'
                 ? -1
                 : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW);
    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
        text = chela_need(calloc(1, FILE_MOST + 1));
        ssize_t n = read(fd, text, FILE_MOST);
        if (n <= 0 || !says_something(text)) {
            free(text);
            text = NULL;
        }
    }
    if (fd >= 0)
        close(fd);
    free(path);
    return text;
}

/* Without the word at either end, if little else is said: NULL. */
char *heartbeat_spoken(const char *text)
{
    size_t word = sizeof HEARTBEAT_WORD - 1, n = strlen(text), begin = strspn(text, " \t\r\n*`");
    while (n > begin && strchr(" \t\r\n*`.", text[n - 1]))
        n--;
    bool at_begin = n - begin >= word && strncasecmp(text + begin, HEARTBEAT_WORD, word) == 0,
         at_end = n - begin >= word && strncasecmp(text + n - word, HEARTBEAT_WORD, word) == 0;
    if (!at_begin && !at_end)
        return chela_need(strdup(text));
    size_t rest = n - begin - word;
    if (rest <= SHORT_REST)
        return NULL;
    return at_begin ? chela_copy(chela_sn(text + begin + word, n - begin - word))
                    : chela_copy(chela_sn(text + begin, n - begin - word));
}
