/*
 * A server of the Model Context Protocol that behaves badly, for tests/e2e/mcp*_test.sh: speaks
 * before it is greeted, asks with id 0, answers out of order, ends in the middle of a call, leaves
 * processes behind. JSON is only looked for by strings; each line in is a request of our own
 * client. Appends a line for each start, subscription and cancellation to the file named by its
 * argument.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char line[1 << 16], held[64];
static FILE *diary;
static bool grown;

static void say(const char *text)
{
    puts(text);
    fflush(stdout);
}

/* The id of the request in `line`, as text. */
static void id_of(char out[64])
{
    const char *p = strstr(line, "\"id\":");
    size_t n = p ? strcspn(p + 5, ",}") : 0;
    snprintf(out, 64, "%.*s", (int)n, p ? p + 5 : "0");
}

static void result(const char *id, const char *json)
{
    printf("{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":%s}\n", id, json);
    fflush(stdout);
}

static void text(const char *id, const char *words)
{
    char json[4096];
    snprintf(json, sizeof json, "{\"content\":[{\"type\":\"text\",\"text\":\"%s\"}]}", words);
    result(id, json);
}

static void put_tools(char *json, size_t room, const char *const *names, const char *rest)
{
    size_t n = (size_t)snprintf(json, room, "{\"tools\":[");
    for (size_t i = 0; names[i]; i++)
        n += (size_t)snprintf(json + n, room - n,
                              "%s{\"name\":\"%s\",\"inputSchema\":{\"type\":\"object\"}}",
                              i ? "," : "", names[i]);
    snprintf(json + n, room - n, "]%s}", rest);
}

/* Two pages; a tool that came later stands at the end. */
static void list(const char *id)
{
    static const char *const first[] = {"hang", "held", "release", "env", NULL};
    const char *second[] = {"ask",    "crash",  "progress",
                            "grow",   "change", "stray",
                            "sample", "log",    grown ? "grown" : NULL,
                            NULL};
    char json[2000];
    if (strstr(line, "\"cursor\":\"page2\""))
        put_tools(json, sizeof json, second, "");
    else
        put_tools(json, sizeof json, first, ",\"nextCursor\":\"page2\"");
    result(id, json);
}

/* A grandchild that has left the group, as a badly written server leaves it. */
static void leave_stray(void)
{
    pid_t child = fork();
    if (child == 0 && setsid() > 0 && fork() == 0) {
        close(0);
        close(1);
        close(2);
        for (;;)
            pause();
    }
    if (child == 0)
        _exit(0);
}

static void call(const char *id)
{
    if (strstr(line, "\"name\":\"hang\"")) {
        fprintf(diary, "hang\n");
    } else if (strstr(line, "\"name\":\"held\"")) {
        snprintf(held, sizeof held, "%s", id);
        fprintf(diary, "held\n");
    } else if (strstr(line, "\"name\":\"release\"")) {
        text(id, "second");
        text(held, "first");
        text(held, "a second answer to the same request");
        text("999", "an answer to nothing");
    } else if (strstr(line, "\"name\":\"crash\"")) {
        fprintf(stderr, "about to crash\n");
        abort();
    } else if (strstr(line, "\"name\":\"env\"")) {
        char words[600];
        snprintf(words, sizeof words, "%s/%s", getenv("GIVEN") ? getenv("GIVEN") : "none",
                 getenv("CHELA_GATEWAY_TOKEN") ? "leaked" : "clean");
        text(id, words);
    } else if (strstr(line, "\"name\":\"progress\"")) {
        printf("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{"
               "\"progressToken\":%s,\"progress\":1,\"total\":2,\"message\":\"half\"}}\n",
               id);
        say("this is no JSON");
        text(id, "whole");
    } else if (strstr(line, "\"name\":\"grow\"")) {
        grown = true;
        say("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}");
        text(id, "there is one more");
    } else if (strstr(line, "\"name\":\"grown\"")) {
        text(id, "the new one");
    } else if (strstr(line, "\"name\":\"change\"")) {
        say("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/resources/updated\",\"params\":{"
            "\"uri\":\"mem://a\"}}");
        text(id, "changed");
    } else if (strstr(line, "\"name\":\"sample\"")) {
        snprintf(held, sizeof held, "%s", id);
        say("{\"jsonrpc\":\"2.0\",\"id\":\"s1\",\"method\":\"sampling/createMessage\",\"params\":{"
            "\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":"
            "\"mock: say the model says so\"}}],\"maxTokens\":20}}");
    } else if (strstr(line, "\"name\":\"log\"")) {
        say("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":"
            "\"warning\",\"logger\":\"part\",\"data\":\"the disk is nearly full\"}}");
        text(id, "logged");
    } else if (strstr(line, "\"name\":\"stray\"")) {
        leave_stray();
        text(id, "left");
    } else if (strstr(line, "\"name\":\"ask\"")) {
        snprintf(held, sizeof held, "%s", id);
        say("{\"jsonrpc\":\"2.0\",\"id\":\"e1\",\"method\":\"elicitation/create\",\"params\":{"
            "\"message\":\"Which?\",\"requestedSchema\":{\"type\":\"object\",\"properties\":{"
            "\"colour\":{\"type\":\"string\",\"default\":\"red\"}}}}}");
    }
}

int main(int argc, char **argv)
{
    char id[64];
    diary = argc > 1 ? fopen(argv[1], "a") : NULL;
    if (!diary)
        return 2;
    setvbuf(diary, NULL, _IOLBF, 0);
    fprintf(diary, "start %d\n", (int)getpid());
    say("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}");
    while (fgets(line, sizeof line, stdin)) {
        id_of(id);
        if (strstr(line, "\"method\":\"initialize\"")) {
            say("{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"roots/list\"}");
            result(id, "{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{\"tools\":{},"
                       "\"resources\":{\"subscribe\":true},\"prompts\":{},\"logging\":{}},"
                       "\"serverInfo\":{\"name\":\"fake\",\"version\":\"1\"}}");
        } else if (strstr(line, "\"method\":\"tools/list\"")) {
            list(id);
        } else if (strstr(line, "\"method\":\"tools/call\"")) {
            call(id);
        } else if (strstr(line, "\"method\":\"prompts/list\"")) {
            result(id,
                   "{\"prompts\":[{\"name\":\"Greet\",\"description\":\"greets\",\"arguments\":[{"
                   "\"name\":\"name\",\"required\":true}]}]}");
        } else if (strstr(line, "\"method\":\"prompts/get\"")) {
            result(id, strstr(line, "\"name\":\"Ada\"")
                           ? "{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\","
                             "\"text\":\"Please greet Ada.\"}}]}"
                           : "{\"messages\":[]}");
        } else if (strstr(line, "\"method\":\"logging/setLevel\"")) {
            fprintf(diary, "level %s", line);
            result(id, "{}");
        } else if (strstr(line, "\"method\":\"resources/list\"")) {
            result(id, "{\"resources\":[{\"uri\":\"mem://a\",\"name\":\"a\"}]}");
        } else if (strstr(line, "\"method\":\"resources/read\"")) {
            result(id, "{\"contents\":[{\"uri\":\"mem://a\",\"text\":\"what a holds\"}]}");
        } else if (strstr(line, "\"method\":\"resources/subscribe\"")) {
            fprintf(diary, "subscribe %s\n", strstr(line, "mem://a") ? "mem://a" : "?");
            result(id, "{}");
        } else if (strstr(line, "notifications/cancelled")) {
            fprintf(diary, "cancelled\n");
        } else if (strstr(line, "\"id\":0") && strstr(line, "\"roots\":")) {
            fprintf(diary, "roots %s", line);
        } else if (strstr(line, "\"id\":\"s1\"")) {
            text(held, strstr(line, "\"error\"")           ? "refused"
                       : strstr(line, "the model says so") ? "the model says so"
                                                           : "something else");
        } else if (strstr(line, "\"id\":\"e1\"")) {
            text(held, strstr(line, "\"colour\":\"blue\"")  ? "blue"
                       : strstr(line, "\"colour\":\"red\"") ? "red"
                                                            : "nothing");
        }
    }
    fprintf(diary, "end\n");
    return 0;
}
