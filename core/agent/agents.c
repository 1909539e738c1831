/*
 * The agents of the configuration and what their options inherit. Called by every stage; reads the
 * running settings each time, so that a reload needs nothing here.
 */
#include "agent/agents.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "host/settings.h"

enum { PATH_SIZE = 256 };

static bool option_path(char *out, const char *agent, const char *key)
{
    int n = snprintf(out, PATH_SIZE, "agents.%s.%s", agent, key);
    return n > 0 && n < PATH_SIZE && settings_has(settings_now(), out);
}

/* Where the value for this agent stands, or false if it is set nowhere. */
static bool find(char *out, const char *agent, const char *key)
{
    return (agent && *agent && option_path(out, agent, key)) || option_path(out, "defaults", key);
}

const char *agents_at(unsigned index)
{
    const char *name = settings_member(settings_now(), "agents", index);
    return name || index ? name : "main";
}

bool agents_known(const char *agent)
{
    const char *name;
    for (unsigned i = 0; (name = agents_at(i)); i++) {
        if (strcmp(name, agent) == 0)
            return true;
    }
    return false;
}

const char *agents_default(void)
{
    const char *name;
    char path[PATH_SIZE];
    for (unsigned i = 0; (name = agents_at(i)); i++) {
        if (option_path(path, name, "default") && settings_number(settings_now(), path))
            return name;
    }
    return agents_known("main") ? "main" : agents_at(0);
}

const char *agents_for_channel(const char *channel)
{
    const char *name;
    char path[PATH_SIZE];
    for (unsigned i = 0; (name = agents_at(i)); i++) {
        if (!option_path(path, name, "channels"))
            continue;
        for (unsigned k = 0; k < settings_list_count(path); k++) {
            if (strcmp(settings_list_item(path, k), channel) == 0)
                return name;
        }
    }
    return agents_default();
}

bool agents_has(const char *agent, const char *key)
{
    char path[PATH_SIZE];
    return find(path, agent, key);
}

const char *agents_text(const char *agent, const char *key)
{
    char path[PATH_SIZE];
    return find(path, agent, key) ? settings_text(settings_now(), path) : "";
}

int64_t agents_number(const char *agent, const char *key, int64_t fallback)
{
    char path[PATH_SIZE];
    return find(path, agent, key) ? settings_number(settings_now(), path) : fallback;
}

double agents_real(const char *agent, const char *key, double fallback)
{
    char path[PATH_SIZE];
    return find(path, agent, key) ? settings_real(settings_now(), path) : fallback;
}

unsigned agents_count(const char *agent, const char *key)
{
    char path[PATH_SIZE];
    return find(path, agent, key) ? settings_list_count(path) : 0;
}

const char *agents_item(const char *agent, const char *key, unsigned index)
{
    char path[PATH_SIZE];
    return find(path, agent, key) ? settings_list_item(path, index) : "";
}

char *agents_workspace(const char *agent)
{
    const char *set = agents_text(agent, "workspace");
    char path[PATH_SIZE];
    /* two agents share no files, so an inherited folder gets one below it for each */
    bool own = option_path(path, agent, "workspace");
    bool first = strcmp(agent, agents_default()) == 0;
    char *folder = NULL;
    const char *home = getenv("HOME");
    if (*set == '~' && set[1] == '/' && home)
        folder = xprintf("%s%s", home, set + 1);
    else if (*set == '/')
        folder = xstrdup(set);
    else if (*set)
        folder = xprintf("%s/%s", settings_state_dir(), set);
    if (folder && !own && !first) {
        char *below = xprintf("%s/%s", folder, agent);
        free(folder);
        folder = below;
    }
    /* a gateway that was started by a person in a terminal works where that person is */
    const char *here = getenv("CHELA_WORKSPACE");
    if (!folder && first && here && *here == '/')
        folder = xstrdup(here);
    if (!folder)
        folder = first ? xprintf("%s/workspace", settings_state_dir())
                       : xprintf("%s/workspace-%s", settings_state_dir(), agent);
    (void)mkdir(folder, 0700); /* it may be there, and whoever uses it says so if it isn't */
    char *real = realpath(folder, NULL);
    if (!real)
        return folder;
    free(folder);
    return real;
}

/* A list reads as its length, one string as itself. */
static bool is_string(const char *text)
{
    return text[strspn(text, "0123456789")] != '\0';
}

unsigned settings_list_count(const char *path)
{
    const struct settings *s = settings_now();
    if (is_string(settings_text(s, path)))
        return 1;
    int64_t n = settings_number(s, path);
    return n > 0 && n < 10000 ? (unsigned)n : 0;
}

const char *settings_list_item(const char *path, unsigned index)
{
    const struct settings *s = settings_now();
    const char *text = settings_text(s, path);
    if (is_string(text))
        return index == 0 ? text : "";
    CLEANUP(freep) char *item = xprintf("%s.%u", path, index);
    return settings_text(s, item);
}

int64_t settings_number_or(const char *path, int64_t fallback)
{
    int64_t n = settings_number(settings_now(), path); /* the table's default is in */
    return n || settings_has(settings_now(), path) ? n : fallback;
}
