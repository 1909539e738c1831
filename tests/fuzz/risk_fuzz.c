/*
 * Feeds the risk classifier any line: no crash, a reason for each level above low, and never a
 * lower level for a line that goes on with "; rm -rf x".
 */
#include "plugins/tool_exec/risk.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct risk_options options;

static void must(bool truth)
{
    if (!truth)
        abort();
}

static enum risk_level level_of(const char *line, size_t length)
{
    struct risk_result result;
    risk_classify(line, length, &options, &result);
    enum risk_level level = result.level;
    must((result.reason[0] == '\0') == (level == RISK_LOW));
    must(result.understood || level == RISK_HIGH);
    for (size_t i = 0; i < result.count; i++)
        must(result.commands[i].level <= level);
    risk_result_free(&result);
    return level;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char extension[] = "; rm -rf x";
    if (!options.table)
        options.table = risk_table_new(NULL, 0, NULL, 0);
    enum risk_level level = level_of((const char *)data, size);
    char *longer = malloc(size + sizeof extension);
    must(longer);
    memcpy(longer, data, size);
    memcpy(longer + size, extension, sizeof extension - 1);
    must(level_of(longer, size + sizeof extension - 1) >= level);
    free(longer);
    return 0;
}
