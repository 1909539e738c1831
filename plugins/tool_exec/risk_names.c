/*
 * What names give away: variables that programs or the shell obey, paths whose change is more than
 * a write, and paths whose reading may show secrets. Pure text, called by the judge and the parser.
 */
#include "risk_internal.h"

#include <ctype.h>
#include <string.h>

static bool begins(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

static bool ends(const char *text, const char *end)
{
    size_t length = strlen(text), wanted = strlen(end);
    return length >= wanted && strcmp(text + length - wanted, end) == 0;
}

/* ---- variables ---- */

enum risk_level risk_of_variable(const char *name, size_t length, bool prefix)
{
    static const char *const harmless[] = {"LANG",     "LANGUAGE",       "TZ", "COLUMNS",
                                           "LINES",    "NO_COLOR",       "CI", "NODE_ENV",
                                           "CLICOLOR", "DEBIAN_FRONTEND"};
    static const char *const obeyed[] = {"http_proxy", "https_proxy", "ftp_proxy", "all_proxy",
                                         "no_proxy"};
    char copy[64];
    if (length == 0 || length >= sizeof copy)
        return RISK_HIGH;
    memcpy(copy, name, length);
    copy[length] = '\0';
    for (size_t i = 0; i < sizeof harmless / sizeof *harmless; i++)
        if (strcmp(copy, harmless[i]) == 0)
            return RISK_LOW;
    for (size_t i = 0; i < sizeof obeyed / sizeof *obeyed; i++)
        if (strcmp(copy, obeyed[i]) == 0)
            return RISK_HIGH;
    if (begins(copy, "LC_"))
        return RISK_LOW;
    bool lower = islower((unsigned char)copy[0]) || copy[0] == '_';
    for (const char *c = copy; *c; c++) {
        lower = lower && !isupper((unsigned char)*c);
        if (!isalnum((unsigned char)*c) && *c != '_')
            return RISK_HIGH;
    }
    /* By custom, names in lower case are the line's own; any other may be one that somebody looks
     * at. */
    return lower && !prefix ? RISK_LOW : RISK_HIGH;
}

/* ---- paths ---- */

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool in_list(const char *name, const char *const *list)
{
    for (; *list; list++)
        if (strcmp(name, *list) == 0)
            return true;
    return false;
}

/* "/./" and "//" mean "/": compare without them. */
static void squeeze(const char *path, char *out, size_t size)
{
    size_t used = 0;
    for (const char *c = path; *c && used + 1 < size; c++) {
        if (*c == '/' && used > 0 && out[used - 1] == '/')
            continue;
        if (*c == '.' && used > 0 && out[used - 1] == '/' && (c[1] == '/' || c[1] == '\0'))
            continue;
        out[used++] = *c;
    }
    out[used] = '\0';
}

bool risk_is_sensitive(const char *path)
{
    static const char *const folders[] = {
        "/etc", "/boot", "/bin", "/sbin", "/usr", "/lib", "/lib32", "/lib64", "/dev",  "/proc",
        "/sys", "/var",  "/run", "/root", "/opt", "/srv", "/snap",  "/nix",   "/init", NULL};
    static const char *const quiet[] = {"/dev/null", "/dev/stdout", "/dev/stderr",
                                        "/dev/tty",  "/dev/zero",   NULL};
    static const char *const names[] = {
        ".bashrc",         ".bash_profile", ".bash_login", ".bash_logout",   ".profile",
        ".zshrc",          ".zshenv",       ".zprofile",   ".envrc",         ".npmrc",
        ".netrc",          ".vimrc",        ".gitconfig",  ".gitmodules",    ".inputrc",
        "authorized_keys", "known_hosts",   "crontab",     ".pypirc",        ".wgetrc",
        ".curlrc",         "sudoers",       ".git",        ".gitattributes", NULL};
    char plain[512];
    if (strlen(path) >= sizeof plain)
        return true;
    squeeze(path, plain, sizeof plain);
    if (in_list(plain, quiet))
        return false;
    if (strcmp(plain, "/") == 0 || strcmp(plain, "~") == 0 || strcmp(plain, "~/") == 0)
        return true;
    for (size_t i = 0; folders[i]; i++) {
        size_t length = strlen(folders[i]);
        if (begins(plain, folders[i]) && (plain[length] == '\0' || plain[length] == '/'))
            return true;
    }
    return begins(plain, "~/.") || (plain[0] == '~' && plain[1] != '/') || begins(plain, ".git/") ||
           strstr(plain, "/.git/") || strstr(plain, "/.ssh/") || begins(plain, ".ssh/") ||
           strstr(plain, "..") || in_list(base_of(plain), names);
}

enum risk_level risk_of_written_path(const struct word *word)
{
    if (word->flags & (WORD_VARIES | WORD_SPLITS))
        return RISK_HIGH;
    /* A quoted ~ is only a name, but nobody writes it. */
    return risk_is_sensitive(word->text) ? RISK_HIGH : RISK_MEDIUM;
}

bool risk_is_secret(const struct word *word)
{
    static const char *const parts[] = {"/.ssh",          "/.gnupg",
                                        "/.aws",          "/.kube",
                                        "/.docker",       "/.config",
                                        "/.netrc",        "/.env",
                                        "/.npmrc",        "/.pypirc",
                                        "/environ",       "/shadow",
                                        "/gshadow",       "/sudoers",
                                        "id_rsa",         "id_ed25519",
                                        "id_ecdsa",       "/secrets",
                                        "credentials",    "/.chela",
                                        "/.bash_history", ".pem",
                                        "/.zsh_history",  "/.mozilla",
                                        "/cookies",       "/.password-store",
                                        "/keyrings",      NULL};
    char text[512];
    if (word->length == 0)
        return false;
    if (word->length + 2 > sizeof text)
        return true;
    text[0] = '/';
    for (size_t i = 0; i <= word->length; i++)
        text[i + 1] = (char)tolower((unsigned char)word->text[i]);
    for (size_t i = 0; parts[i]; i++)
        if (strstr(text, parts[i]))
            return true;
    if (begins(text, "//root") || begins(text, "//dev/mem") || begins(text, "//dev/sd") ||
        begins(text, "//dev/nvme") || begins(text, "//proc/kcore") || ends(text, ".key") ||
        begins(text, "//run/credentials"))
        return true;
    /* Hidden files that a glob or a variable may reach. */
    return (word->flags & (WORD_VARIES | WORD_SPLITS)) &&
           (strstr(text, "/.") || begins(text, "//proc") || begins(text, "//etc"));
}
