/*
 * Bad configurations (core/host/settings*.c): each mistake with its file, line and nearest name,
 * all of them together; and what is shown of a good one.
 */
#include "settings_home.h"

/* The mistakes with the test's folder left out. */
static const char *mistakes_of(const char *text)
{
    static struct buf out;
    buf_clear(&out);
    put("etc/chela.conf", text);
    for (const char *p = read_all(NULL); *p;) {
        size_t n = strlen(t.root);
        if (strncmp(p, t.root, n) == 0)
            p += n + 1;
        else
            buf_char(&out, *p++);
    }
    CLEANUP(freep) char *copy = xstrdup(buf_text(&out));
    buf_free(&out);
    buf_clear(&t.log);
    buf_puts(&t.log, copy);
    return buf_text(&t.log);
}

static const struct {
    const char *file, *mistake;
} mistakes[] = {
    {"\ngateway : {\n prot = 1;\n};",
     "etc/chela.conf:3: gateway.prot: unknown option (did you mean \"port\"?)\n"},
    {"gatewy : { };", "etc/chela.conf:1: gatewy: unknown option (did you mean \"gateway\"?)\n"},
    {"gateway : { port = \"80\"; };", "etc/chela.conf:1: gateway.port: wants a whole number, "
                                      "without quotes, found a string \"80\"\n"},
    {"gateway : { port = 99999999999; };",
     "etc/chela.conf:1: the number 99999999999 is too large (write an L behind it if it is "
     "meant)\n"},
    {"gateway : { port = 99999999999L; };", "etc/chela.conf:1: gateway.port: 99999999999 is out "
                                            "of range, it must be from 0 to 65535\n"},
    {"gateway : { bind = \"loopbck\"; };",
     "etc/chela.conf:1: gateway.bind: \"loopbck\" is neither \"loopback\", \"lan\" nor an "
     "address (did you mean \"loopback\"?)\n"},
    {"gateway : { bind = \"lan\";\n auth : { mode = \"none\"; }; };",
     "etc/chela.conf:2: gateway.auth.mode: \"none\" is possible only with gateway.bind = "
     "\"loopback\": everybody who reaches the port could give orders\n"},
    {"network : {\n ca_file = \"/no/such/ca.pem\"; };",
     "etc/chela.conf:2: network.ca_file: \"/no/such/ca.pem\" can't be read: No such file or "
     "directory\n"},
    {"network : { proxy = \"proxy.example:3128\"; };",
     "etc/chela.conf:1: network.proxy: wants a URL such as \"http://proxy.example:3128\"\n"},
    {"network : { proxy_is_public = true; };",
     "etc/chela.conf:1: network.proxy_is_public: has no meaning without network.proxy\n"},
    {"network : { connect_timeout = \"0s\"; };",
     "etc/chela.conf:1: network.connect_timeout: 0 is out of range, it must be from 100 to "
     "600000\n"},
    {"gateway : { auth : { mode = \"pasword\"; }; };",
     "etc/chela.conf:1: gateway.auth.mode: \"pasword\" is none of its values (did you mean "
     "\"password\"?)\n"},
    {"channels : { telegram : { }; };",
     "etc/chela.conf:1: channels.telegram.token: missing: the bot's token\n"},
    {"channels : { telegram : {\n token = \"${NO_TOKEN}\"; }; };",
     "etc/chela.conf:2: channels.telegram.token: the environment variable NO_TOKEN is not "
     "set\n"},
    {"channels : { telegram : { tokn = \"\"; token = \"12345678\"; }; };",
     "etc/chela.conf:1: channels.telegram.tokn: unknown option (did you mean \"token\"?)\n"},
    {"channels : { telegram : { token = \"12345678\";\n dm_policy = \"open\"; }; };",
     "etc/chela.conf:2: channels.telegram.dm_policy: \"open\" lets everybody write: say so by "
     "allow_from = [ \"*\" ], or choose \"pairing\" or \"allowlist\"\n"},
    {"channels : { telegram : { token = \"12345678\"; group_policy = \"opn\"; }; };",
     "etc/chela.conf:1: channels.telegram.group_policy: \"opn\" is none of its values (did you "
     "mean \"open\"?)\n"},
    {"channels : { telegram : { enabeld = true; token = \"12345678\"; }; };",
     "etc/chela.conf:1: channels.telegram.enabeld: unknown option (did you mean "
     "\"enabled\"?)\n"},
    {"channels : { matrix : { }; };",
     "etc/chela.conf:1: channels.matrix: there is no plugin channel_matrix.so\n"},
    {"channels : { telegram = true; };", "etc/chela.conf:1: channels.telegram: wants a group { "
                                         "type = \"...\"; ... }, found true or "
                                         "false\n"},
    {"tools : { aproval : { timeout = 1; }; };",
     "etc/chela.conf:1: tools.aproval: there is no plugin tool_aproval.so (did you mean "
     "\"approval\"?)\n"},
    {"tools : { exectuion = \"parallel\"; };",
     "etc/chela.conf:1: tools.exectuion: unknown option (did you mean \"execution\"?)\n"},
    {"providers : { x : { type = \"openai\"; };\n x : { type = \"openai\"; }; };",
     "etc/chela.conf:2: \"x\" is set twice, first in line 1\n"},
    {"providers : { x : { type = \"openai\"; };\n y : { type = \"openai\"; name = \"x\"; }; };",
     "etc/chela.conf:2: providers.y: there is an instance of the name \"x\" already, in "
     "etc/chela.conf:1\n"},
    {"providers : { x : { type = \"openai\"; plugin = \"../evil\"; }; };",
     "etc/chela.conf:1: providers.x.plugin: \"../evil\" can't be a module's name (a folder "
     "belongs into plugins.path)\n"},
    {"providers : { x : { type = \"openai\"; name = \"a/b\"; }; };",
     "etc/chela.conf:1: providers.x: \"a/b\" can't be an instance's name\n"},
    {"agents : { main : { model = \"grok/x\"; }; };\nproviders : { groq : { type = \"openai\"; "
     "}; "
     "};",
     "etc/chela.conf:1: agents.main.model: \"grok/x\": there is no enabled provider \"grok\" "
     "(did you mean \"groq\"?)\n"},
    {"agents : { main : { model = \"anthropic/x\"; }; };",
     "etc/chela.conf:1: agents.main.model: \"anthropic/x\": there is no enabled provider "
     "\"anthropic\" (providers.anthropic.api_key: missing: the key)\n"},
    {"routing : { default = \"grok/x\"; };\nproviders : { groq : { type = \"openai\"; }; };",
     "etc/chela.conf:1: routing.default: \"grok/x\": there is no enabled provider \"grok\" (did "
     "you mean \"groq\"?)\n"}, /* once, though the router has it, too */
    {"agents : { main : { temperature = 7; }; };",
     "etc/chela.conf:1: agents.main.temperature: 7 is out of range, it must be from 0 to 2\n"},
    {"gateway : { port = ;",
     "etc/chela.conf:1: syntax error in this line, or a missing ';' or '}' before it\n"},
    {"@include \"none.conf\"\n", "etc/chela.conf:1: cannot open include file (the name is "
                                 "relative to this file's folder; for all files of a folder "
                                 "use conf.d/)\n"},
    {"plugins : { path = [\"lib/x\"]; };",
     "etc/chela.conf:1: plugins.path.0: \"lib/x\" is not an absolute path\n"},
    {"plugins : { defaults = [\"../x\"]; };",
     "etc/chela.conf:1: plugins.defaults: \"../x\" can't be a module's name\n"},
};

static void each_mistake_names_file_line_and_remedy(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(mistakes); i++)
        assert_string_equal(mistakes_of(mistakes[i].file), mistakes[i].mistake);
}

static void mistakes_of_several_files_are_reported_together(void **state)
{
    (void)state;
    put("etc/conf.d/a.conf", "\nx = ;");
    put("home/.config/chela/chela.conf", "gateway : { prt = 1; };");
    assert_string_equal(
        mistakes_of("logging : { level = \"loud\"; };"),
        "etc/conf.d/a.conf:2: syntax error in this line, or a missing ';' or '}' before it\n"
        "etc/chela.conf:1: logging.level: \"loud\" is none of its values: error, warn, info, "
        "debug\n"
        "home/.config/chela/chela.conf:1: gateway.prt: unknown option (did you mean \"port\"?)\n");
}

static void numbers_of_an_included_file_are_scanned_too(void **state)
{
    (void)state;
    put("etc/more.conf", "gateway : {\n port = 99999999999; };");
    assert_string_equal(mistakes_of("@include \"more.conf\"\n"),
                        "etc/more.conf:2: the number 99999999999 is too large (write an L behind "
                        "it if it is meant)\n");
    put("etc/more.conf", "gateway : {\n prot = 9; };");
    assert_string_equal(mistakes_of("@include \"more.conf\"\n"),
                        "etc/more.conf:2: gateway.prot: unknown option (did you mean \"port\"?)\n");
}

static void links_of_plugins_enabled_must_lead_somewhere_and_not_collide(void **state)
{
    (void)state;
    CLEANUP(freep) char *link = xprintf("%s/etc/plugins-enabled/gone.conf", t.root);
    put("etc/plugins-enabled/a.conf", "providers : { x : { type = \"openai\"; }; };");
    put("etc/plugins-available/b.conf", "providers : { y : { type = \"openai\"; }; };");
    CLEANUP(freep) char *good = xprintf("%s/etc/plugins-enabled/b.conf", t.root);
    assert_int_equal(symlink("../plugins-available/b.conf", good), 0);
    assert_string_equal(read_all(NULL), "");
    assert_string_equal(settings_member(t.settings, "providers", 1), "y");
    assert_int_equal(symlink("/nowhere", link), 0);
    assert_non_null(strstr(read_all(NULL), "gone.conf: leads nowhere: was the plugin's package"));
    unlink(link);
    put("etc/plugins-enabled/z.conf", "providers : { x : { type = \"openai\"; }; };");
    assert_non_null(
        strstr(read_all(NULL), "z.conf:1: the instance providers.x is defined already"));
    assert_non_null(strstr(buf_text(&t.errors), "plugins-enabled/a.conf:1"));
}

static void a_file_that_others_may_write_is_refused(void **state)
{
    (void)state;
    CLEANUP(freep) char *path = xprintf("%s/etc/chela.conf", t.root);
    put("etc/chela.conf", "");
    chmod(path, 0666);
    assert_non_null(strstr(read_all(NULL), "mode 666, but must be root's or mine"));
    chmod(path, 0600);
    assert_string_equal(read_all(NULL), "");
    /* a project's is ignored: nobody asked for it */
    put("work/.chela/chela.conf", "agents : { main : { name = \"x\"; }; };");
    CLEANUP(freep) char *project = xprintf("%s/work/.chela/chela.conf", t.root);
    chmod(project, 0666);
    assert_string_equal(read_all("work"), "");
    assert_string_equal(text("agents.main.name"), "");
}

static void what_is_shown_has_its_origin_and_no_secret(void **state)
{
    (void)state;
    struct buf shown = {0};
    put("etc/chela.conf",
        "gateway : { auth : { token = \"very-secret-token\"; }; };\n"
        "providers : { x : { type = \"openai\"; api_key = \"very-secret-key\"; };\n"
        " };");
    assert_string_equal(read_all(NULL), "");
    settings_show(t.settings, false, &shown);
    assert_non_null(strstr(buf_text(&shown), "gateway.auth.token"));
    assert_non_null(strstr(buf_text(&shown), "\"***\"  # "));
    assert_non_null(strstr(buf_text(&shown), "etc/chela.conf:2\n"));
    assert_null(strstr(buf_text(&shown), "very-secret"));
    buf_clear(&shown);
    settings_show(t.settings, true, &shown);
    assert_non_null(strstr(buf_text(&shown), "{\"path\":\"gateway.port\",\"value\":18789,\"type\":"
                                             "\"int\",\"origin\":\"default\",\"set\":false}"));
    assert_null(strstr(buf_text(&shown), "very-secret"));
    buf_free(&shown);
}

static void the_paths_are_listed(void **state)
{
    (void)state;
    struct buf out = {0};
    put("etc/chela.conf", "");
    put("work/.chela/chela.conf", "");
    CLEANUP(freep) char *directory = xprintf("%s/work", t.root);
    struct settings_sources sources = {.directory = directory, .environment = t.environment};
    settings_paths(&sources, &out);
    CLEANUP(freep)
    char *wanted = xprintf("%s/etc/chela.conf\n%s/home/.config/chela/chela.conf (absent)\n"
                           "%s/work/.chela/chela.conf (not trusted: chela trust)\n",
                           t.root, t.root, t.root);
    assert_string_equal(buf_text(&out), wanted);
    buf_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(each_mistake_names_file_line_and_remedy),
        TEST(mistakes_of_several_files_are_reported_together),
        TEST(numbers_of_an_included_file_are_scanned_too),
        TEST(links_of_plugins_enabled_must_lead_somewhere_and_not_collide),
        TEST(a_file_that_others_may_write_is_refused),
        TEST(what_is_shown_has_its_origin_and_no_secret),
        TEST(the_paths_are_listed),
    };
    return cmocka_run_group_tests_name("settings mistakes", tests, NULL, NULL);
}
