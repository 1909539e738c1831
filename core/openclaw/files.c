/*
 * The form of a state folder until the middle of 2026: sessions.json with JSON lines, credentials,
 * cron/jobs.json (see openclaw.h).
 */
#include <dirent.h>
#include <json-c/linkhash.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "openclaw/openclaw.h"
#include "support/json.h"

static void read_lines(const char *path, struct events *e)
{
    FILE *f = fopen(path, "re");
    char *line = NULL;
    size_t size = 0;
    for (ssize_t n; f && (n = getline(&line, &size, f)) > 0;)
        if (line[strspn(line, " \t\r\n")])
            events_add(e, parse(line, (size_t)n));
    free(line);
    if (f)
        fclose(f);
}

static bool plain_name(const char *id)
{
    return *id && *id != '.' && !strchr(id, '/') && strlen(id) < 200;
}

void file_sessions(const char *state, const char *agent)
{
    CLEANUP(freep) char *folder = xprintf("%s/agents/%s/sessions", state, agent);
    CLEANUP(freep) char *index = xprintf("%s/sessions.json", folder);
    json_object *sessions = parse_file(index);
    if (json_object_is_type(sessions, json_type_object)) {
        json_object_object_foreach(sessions, key, entry)
        {
            const char *id = chela_json_string(entry, "sessionId", NULL);
            struct events e = {0};
            if (!id || !plain_name(id))
                continue;
            CLEANUP(freep) char *path = xprintf("%s/%s.jsonl", folder, id);
            read_lines(path, &e);
            say_session(key, id, entry, &e);
        }
    }
    json_object_put(sessions);
}

/* credentials/CHANNEL[-ACCOUNT]-allowFrom.json */
void file_allow(const char *state)
{
    CLEANUP(freep) char *folder = xprintf("%s/credentials", state);
    DIR *dir = opendir(folder);
    struct dirent *entry;
    while (dir && (entry = readdir(dir))) {
        char *end = strstr(entry->d_name, "-allowFrom.json");
        if (!end)
            continue;
        CLEANUP(freep) char *path = xprintf("%s/%s", folder, entry->d_name);
        CLEANUP(freep) char *channel = xmemdup(entry->d_name, (size_t)(end - entry->d_name));
        char *account = strchr(channel, '-');
        json_object *o = parse_file(path), *list = chela_json_array(o, "allowFrom");
        if (account)
            *account++ = '\0';
        for (size_t i = 0; i < chela_json_length(list); i++)
            say_allow(channel, account ? account : "default",
                      json_object_get_string(chela_json_at(list, i)));
        json_object_put(o);
    }
    if (dir)
        closedir(dir);
}

void file_jobs(const char *state)
{
    CLEANUP(freep) char *path = xprintf("%s/cron/jobs.json", state);
    json_object *o = parse_file(path), *jobs = chela_json_array(o, "jobs");
    for (size_t i = 0; i < chela_json_length(jobs); i++)
        say_job(chela_json_at(jobs, i));
    json_object_put(o);
}
