/* Agent files: what comes with the answer of `chela agent`, files that tools made for the person:
 * named, or saved where --files says. Overwrites nothing and writes nowhere else. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "cli/agent_turn.h"
#include "cli/clean.h"
#include "cli/output.h"
#include "support/base64.h"
#include "support/json.h"

/* A name that can't leave its folder, be hidden or steer a terminal. */
static char *safe_name(const char *name)
{
    struct buf clean = {0};
    const char *slash = strrchr(name, '/');
    name = slash != NULL ? slash + 1 : name;
    name += strspn(name, ".");
    clean_append_line(&clean, name, strlen(name), 200);
    if (clean.n == 0)
        buf_puts(&clean, "file");
    return buf_take(&clean);
}

static int write_new(const char *path, const char *data, size_t n)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666), r = 0;
    if (fd < 0)
        return -errno;
    for (size_t at = 0; at < n && r == 0;) {
        ssize_t k = write(fd, data + at, n - at);
        if (k >= 0)
            at += (size_t)k;
        else if (errno != EINTR)
            r = -errno;
    }
    if (close(fd) != 0 && r == 0)
        r = -errno;
    if (r < 0)
        unlink(path);
    return r;
}

static int unwritable(const struct common *common, const char *path, int error)
{
    char *why = xprintf("%s can't be written: %s", path, strerror(error));
    int status = output_failure(common, "other", why, EXIT_FAILED);
    free(why);
    return status;
}

static int save(struct turn *turn, json_object *file, const char *folder)
{
    json_object *params = chela_json_new_object(), *answer = NULL;
    struct error e = {0};
    size_t length = 0, n = 0;
    chela_json_put_text(params, "hash", output_field(file, "hash", ""));
    if (client_call(&turn->client, "chela.blob", params, CLIENT_REQUEST_MS, &answer, NULL, &e) != 0)
        return output_error(turn->common, &e, EXIT_FAILED);
    const char *text = chela_json_string(answer, "base64", &length);
    char *data = xmalloc(CHELA_BASE64_BYTES(length));
    char *name = safe_name(output_field(file, "fileName", "")),
         *path = xprintf("%s/%s", folder, name);
    int r = text != NULL && chela_base64_decode(text, length, false, data, &n)
                ? write_new(path, data, n)
                : -EBADMSG;
    int status = r < 0 ? unwritable(turn->common, path, -r) : EXIT_OK;
    if (r == 0 && !turn->common->json)
        fprintf(stderr, "chela: %s (%zu bytes)\n", path, n);
    free(path);
    free(name);
    free(data);
    json_object_put(answer);
    return status;
}

int cli_files_save(struct turn *turn)
{
    json_object *files = chela_json_array(chela_json_object(turn->result, "result"), "files");
    int status = EXIT_OK;
    if (turn->folder != NULL && chela_json_length(files) > 0 && mkdir(turn->folder, 0777) != 0 &&
        errno != EEXIST)
        return unwritable(turn->common, turn->folder, errno);
    for (size_t i = 0; i < chela_json_length(files) && status == EXIT_OK; i++) {
        json_object *file = chela_json_at(files, i);
        if (turn->folder != NULL) {
            status = save(turn, file, turn->folder);
        } else if (!turn->common->json) {
            char *name = safe_name(output_field(file, "fileName", ""));
            fprintf(stderr, "chela: with a file: %s (--files FOLDER saves it)\n", name);
            free(name);
        }
    }
    return status;
}
