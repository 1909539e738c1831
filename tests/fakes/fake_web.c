/*
 * A web server for tests of web_fetch and web_search: answers what a file says, a line "PATH STATUS
 * TYPE BODY" each, read anew for each request; TYPE "location" makes BODY that header of a
 * redirect. Appends "METHOD PATH" and the key headers of each request to FILE.log. Tells its port
 * on descriptor 3.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fakes/mock_answer.h"
#include "tests/fakes/mock_http.h"

static const char *pages;

static void note(const char *head)
{
    char path[500], value[300];
    static const char *const names[] = {"x-subscription-token", "x-key", "user-agent"};
    snprintf(path, sizeof path, "%s.log", pages);
    FILE *log = fopen(path, "ae");
    if (!log)
        abort();
    fprintf(log, "%.*s", (int)strcspn(head, "\r\n"), head);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (http_header(head, names[i], value, sizeof value))
            fprintf(log, " %s=%s", names[i], value);
    fputc('\n', log);
    fclose(log);
}

static bool serve(int fd, char *head, char *body)
{
    char path[1000] = "", line[20000], extra[2000];
    FILE *f = fopen(pages, "re");
    (void)body;
    note(head);
    sscanf(head, "%*15s %999s", path);
    while (f && fgets(line, sizeof line, f)) {
        char name[1000], type[100];
        int status, at = 0;
        line[strcspn(line, "\n")] = '\0';
        if (sscanf(line, "%999s %d %99s %n", name, &status, type, &at) < 3 ||
            strcmp(name, path) != 0)
            continue;
        fclose(f);
        if (status == 0)
            return true;
        snprintf(extra, sizeof extra, "Location: %.1900s\r\n", line + at);
        if (strcmp(type, "location") == 0)
            answer_plain(fd, status, "text/plain", extra, "");
        else
            answer_plain(fd, status, type, "", line + at);
        return true;
    }
    if (f)
        fclose(f);
    answer_plain(fd, 404, "text/plain", "", "no such page");
    return true;
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return 2;
    pages = argv[1];
    unsigned port = http_listen(0);
    if (dprintf(3, "ready port=%u\n", port) < 0)
        return 2;
    http_serve(serve);
}
