/*
 * What every store must do, part four: a process that writes is killed in the middle, again and
 * again. Whatever was acknowledged is there afterwards, and no chain has a gap.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/id.h"
#include "base/mem.h"
#include "store/suite.h"

enum { PARTITIONS = 4, WINDOW = 16, ROWS_MAX = 200000 };

unsigned crash_rounds;

struct writer {
    char partition[16];
    int64_t next;
    uint64_t last_id;
    struct outcome *sent[WINDOW];
    int64_t number[WINDOW];
    unsigned first, count;
};

static int64_t last_number(struct fake *f, const char *partition)
{
    int64_t *n = xmalloc(ROWS_MAX * sizeof *n);
    size_t count = suite_numbers(f, partition, n, ROWS_MAX);
    int64_t last = count ? n[count - 1] : 0;
    for (size_t i = 0; i < count; i++)
        if (n[i] != (int64_t)i + 1)
            last = -(int64_t)i - 1;
    free(n);
    return last;
}

static void write_next(struct fake *f, struct writer *w)
{
    struct batch b;
    batch_begin(&b, w->partition, w->next % 5 == 0 ? CHELA_BARRIER : CHELA_LAZY);
    b.args.after = w->last_id;
    batch_item(&b, w->next, "some text, so that a row is not too small to be torn");
    w->last_id = b.args.id;
    unsigned at = (w->first + w->count++) % WINDOW;
    w->number[at] = w->next++;
    w->sent[at] = batch_send(f, &b);
}

/* Tells standard output what was acknowledged: "PARTITION NUMBER". Until it is killed. */
static void acknowledge(struct fake *f, struct writer *w)
{
    while (w->count > 0 && w->sent[w->first]->done) {
        if (w->sent[w->first]->error != CHELA_OK) {
            fprintf(stderr, "# %s\n", w->sent[w->first]->text);
            _exit(2);
        }
        char line[64];
        int n =
            snprintf(line, sizeof line, "%s %lld\n", w->partition, (long long)w->number[w->first]);
        if (write(1, line, (size_t)n) != n)
            _exit(3);
        fake_forget(f, w->sent[w->first]);
        w->first = (w->first + 1) % WINDOW;
        w->count--;
    }
}

int crash_child(const char *partition_count)
{
    struct fake *f = suite_open(NULL);
    struct writer w[PARTITIONS] = {0};
    int count = (int)strtol(partition_count, NULL, 10);
    for (int i = 0; i < count; i++) {
        snprintf(w[i].partition, sizeof w[i].partition, "p%d", i);
        w[i].next = last_number(f, w[i].partition) + 1;
    }
    for (;;) {
        for (int i = 0; i < count; i++)
            while (w[i].count < WINDOW)
                write_next(f, &w[i]);
        fake_turn(f);
        for (int i = 0; i < count; i++)
            acknowledge(f, &w[i]);
    }
}

static pid_t start(int *ret_fd)
{
    int fds[2];
    char *arguments[24] = {(char *)(uintptr_t)suite_program, "--child", "4",
                           (char *)(uintptr_t)suite_plugin};
    const char *const *options = suite_options(NULL);
    for (int i = 0; options[i] && i < 18; i++)
        arguments[4 + i] = (char *)(uintptr_t)options[i];
    assert_int_equal(pipe(fds), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        dup2(fds[1], 1);
        close(fds[0]);
        close(fds[1]);
        execv(suite_program, arguments);
        _exit(127);
    }
    close(fds[1]);
    *ret_fd = fds[0];
    return pid;
}

/* Reads what the child acknowledges, kills it after `lines` of them, and reads what is left. */
static void run_child(int64_t *acknowledged, unsigned lines)
{
    int fd, status;
    pid_t pid = start(&fd);
    FILE *in = fdopen(fd, "r");
    char line[64];
    while (fgets(line, sizeof line, in)) {
        int partition;
        long long number;
        if (sscanf(line, "p%d %lld", &partition, &number) == 2 && partition < PARTITIONS)
            acknowledged[partition] = number;
        if (lines > 0 && --lines == 0)
            kill(pid, SIGKILL);
    }
    fclose(in);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

void crash_test(void **state)
{
    (void)state;
    int64_t acknowledged[PARTITIONS] = {0}, total = 0;
    suite_fresh();
    for (unsigned round = 0; round < crash_rounds; round++) {
        run_child(acknowledged, 1 + (unsigned)(id_random() % 2000));
        struct fake *f = suite_open(NULL);
        for (int i = 0; i < PARTITIONS; i++) {
            char partition[16];
            snprintf(partition, sizeof partition, "p%d", i);
            int64_t last = last_number(f, partition);
            if (last < acknowledged[i])
                print_message("# round %u, %s: acknowledged %lld, there %lld\n", round, partition,
                              (long long)acknowledged[i], (long long)last);
            assert_true(last >= acknowledged[i]); /* negative: a gap */
            total = i ? total + last : last;
        }
        fake_close(f);
    }
    print_message("# %u rounds, %lld batches\n", crash_rounds, (long long)total);
}
