/*
 * Paths against globs: "*" and "?" stop at a slash, a part that is two stars crosses any number of
 * folders, "[abc]" is a set; a glob without a slash is matched against the last part.
 */
#ifndef TOOL_FILES_GLOB_H
#define TOOL_FILES_GLOB_H

#include <stdbool.h>

bool glob_matches(const char *glob, const char *path);

#endif
