/*
 * The disk's own time for what a barrier needs: 4 KiB appended and fdatasync. Called by
 * gateway_bench.sh: disk FOLDER MILLISECONDS; prints "count=N p50=US p99=US".
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 100000 };

static uint64_t now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000u + (uint64_t)t.tv_nsec / 1000u;
}

static int by_value(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

int main(int argc, char **argv)
{
    static uint32_t us[MOST];
    char path[4096], block[4096];
    size_t count = 0;
    if (argc < 3)
        return 2;
    memset(block, 'x', sizeof block);
    snprintf(path, sizeof path, "%s/disk-bench", argv[1]);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    uint64_t end = now_us() + strtoul(argv[2], NULL, 10) * 1000;
    while (fd >= 0 && count < MOST && now_us() < end) {
        uint64_t from = now_us();
        if (write(fd, block, sizeof block) != (ssize_t)sizeof block || fdatasync(fd) != 0)
            break;
        us[count++] = (uint32_t)(now_us() - from);
    }
    if (fd >= 0)
        close(fd);
    unlink(path);
    if (count == 0) {
        perror(path);
        return 1;
    }
    qsort(us, count, sizeof *us, by_value);
    printf("count=%zu p50=%u p99=%u\n", count, us[(count - 1) / 2], us[(count - 1) * 99 / 100]);
    return 0;
}
