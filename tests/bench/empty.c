/*
 * A program that links what chelad links and does nothing: what the dynamic linker costs before the
 * daemon's first line. Says so on descriptor 3, as the daemon does with --ready-fd 3.
 */
#include <unistd.h>

int main(void)
{
    return write(3, "ready\n", 6) == 6 ? 0 : 1;
}
