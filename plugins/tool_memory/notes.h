/*
 * Notes on disk: which files there are, and their text in parts. Plain files that a person may
 * change at any time; nothing but regular UTF-8 text below the given folders is ever read. Safe on
 * a pool thread: no host function is called.
 */
#ifndef TOOL_MEMORY_NOTES_H
#define TOOL_MEMORY_NOTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct note {
    char *path;
    uint64_t stamp;   /* changes with the file */
    uint64_t time_ms; /* of its name (YYYY-MM-DD), else of its last change */
    bool dated;
};

struct note_list {
    struct note *v;
    size_t n, room;
    int watch; /* descriptor of inotify for the folders that are read, -1: none */
    struct note_folder {
        int number; /* inotify's */
        char *path;
    } * folders;
    size_t folder_count;
    bool unwatched; /* some folder could not be watched */
};

struct note_part {
    char name[24]; /* "FIRST-LAST": its lines, from 1 */
    char *text;
};

struct note_parts {
    struct note_part *v;
    size_t n;
};

/* Adds a file, or all *.md and *.txt below a folder (links are not followed). */
void notes_scan(struct note_list *l, const char *path);
void notes_free(struct note_list *l);
/* Of a file as it is now; false: there is none. */
bool notes_stamp(const char *path, uint64_t *ret);
/* Splits at headings and blank lines into parts of about 1,200 bytes. */
struct note_parts notes_parts(const char *path);
void notes_parts_free(struct note_parts *p);
/* The whole text, or `lines` lines from line `from` on; NULL: no readable text. */
char *notes_text(const char *path, int64_t from, int64_t lines, size_t most);
/* Appends a paragraph, as one write; 0 or -1 with errno. */
int notes_append(const char *path, const char *text);
/* Midnight UTC of "YYYY-MM-DD" in a file's name, in ms; 0: none. */
uint64_t notes_date(const char *path);

#endif
