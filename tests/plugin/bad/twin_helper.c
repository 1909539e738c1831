/*
 * The helper of twin.c: global, so that two plugins of one program would share it if the build did
 * not hide it.
 */
#include <stdint.h>

uint64_t helper(void);
__attribute__((visibility("default"))) uint64_t helper(void)
{
    return TWIN;
}
