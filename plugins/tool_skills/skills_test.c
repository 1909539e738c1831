/* Skills: frontmatter, what is required, precedence, hot reload, manifests, commands. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chela/chela.h>

#include "skill.h"
#include "testkit/kit.h"

extern const struct chela_plugin tool_skills_LTX_chela_plugin;

static struct kit *k;
static char base[64], user[96], shipped[96], workspace[96];

static void write_skill(const char *root, const char *name, const char *text)
{
    char path[300];
    snprintf(path, sizeof path, "%s/%s", root, name);
    mkdir(root, 0700);
    mkdir(path, 0700);
    snprintf(path, sizeof path, "%s/%s/SKILL.md", root, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static int set_up(void **state)
{
    (void)state;
    snprintf(base, sizeof base, "/tmp/chela-skills-XXXXXX");
    assert_non_null(mkdtemp(base));
    snprintf(user, sizeof user, "%s/user", base);
    snprintf(shipped, sizeof shipped, "%s/system", base);
    snprintf(workspace, sizeof workspace, "%s/work", base);
    mkdir(workspace, 0700);
    static struct chela_pair options[] = {
        {CHELA_LIT("workspace"), CHELA_LIT("1")}, {CHELA_LIT("user"), {NULL, 0}},
        {CHELA_LIT("system"), {NULL, 0}},         {CHELA_LIT("command_timeout"), CHELA_LIT("1000")},
        {CHELA_LIT("config"), CHELA_LIT("1")},    {CHELA_LIT("config.0"), CHELA_LIT("mail")}};
    options[1].value = chela_s(user);
    options[2].value = chela_s(shipped);
    k = kit_open(&(struct kit_setup){.plugin = &tool_skills_LTX_chela_plugin,
                                     .options = options,
                                     .option_count = sizeof options / sizeof options[0]});
    assert_non_null(k);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    const void *open;
    while ((open = kit_request(k, CHELA_FN_INVOKE)))
        kit_answer_ok(k, ((const struct chela_invoke *)open)->h.call, "{}", 2);
    assert_int_equal(kit_close(k), 0);
    pid_t child = fork();
    if (child == 0) {
        execlp("rm", "rm", "-rf", base, (char *)NULL);
        _exit(1);
    }
    int status;
    return waitpid(child, &status, 0) == child ? 0 : -1;
}

static bool published(uint32_t what, const char *name, const char *part)
{
    const struct chela_publish *p = kit_published(k, what);
    for (uint64_t i = 0; p && i < p->items.n; i++)
        if (chela_str_is(p->items.v[i].name, name))
            return !part || strstr(p->items.v[i].value.s, part) != NULL;
    return false;
}

static const char *prompt(void)
{
    CHELA_ARGS(chela_prompt, p, 0);
    p.name = chela_s("skills");
    p.workspace = chela_s(workspace);
    kit_call(k, CHELA_FN_SERVICE_PROMPT, &p);
    return kit_done(k)->text.s;
}

static const char *run(const char *name, const char *arguments)
{
    CHELA_ARGS(chela_tool_run, r, 0);
    r.name = chela_s(name);
    r.arguments = chela_s(arguments);
    r.workspace = chela_s(workspace);
    kit_call(k, CHELA_FN_TOOL_RUN, &r);
    return kit_done(k) ? kit_done(k)->text.s : "";
}

static void a_skill_is_listed_and_read_on_demand(void **state)
{
    (void)state;
    write_skill(user, "tea",
                "---\nname: tea\ndescription: how to make tea\n---\nBoil {baseDir}.\n");
    kit_start(k);
    assert_non_null(strstr(prompt(), "<skill><name>tea</name><description>how to make tea<"));
    assert_null(strstr(prompt(), "Boil"));
    assert_true(published(CHELA_TOOLS, "skill_tea", "how to make tea"));
    assert_true(published(CHELA_COMMANDS, "tea", NULL));
    char wanted[200];
    snprintf(wanted, sizeof wanted, "Boil %s/tea.", user);
    assert_non_null(strstr(run("read_skill", "{\"name\":\"tea\"}"), wanted));
    assert_non_null(strstr(run("skill_tea", "{}"), wanted));
}

static void what_is_required_gates_it(void **state)
{
    (void)state;
    write_skill(user, "a", "---\ndescription: a\nrequires:\n  bins: [sh]\n  config: [mail]\n---\n");
    write_skill(user, "b", "---\ndescription: b\nrequires: {bins: [no-such-program]}\n---\n");
    write_skill(user, "c", "---\ndescription: c\nos: [darwin]\n---\n");
    write_skill(user, "d",
                "---\ndescription: d\nmetadata: "
                "{\"openclaw\":{\"requires\":{\"env\":[\"NO_SUCH_VAR\"]}}}\n---\n");
    write_skill(user, "e", "---\ndescription: e\ndisable-model-invocation: true\n---\n");
    write_skill(user, "f", "---\ndescription: f\nuser-invocable: false\n---\n");
    write_skill(user, "g", "no frontmatter");
    kit_start(k);
    const char *list = prompt();
    assert_non_null(strstr(list, "<name>a</name>"));
    assert_null(strstr(list, "<name>b</name>"));
    assert_null(strstr(list, "<name>c</name>"));
    assert_null(strstr(list, "<name>d</name>"));
    assert_null(strstr(list, "<name>e</name>"));
    assert_true(published(CHELA_COMMANDS, "e", NULL));
    assert_false(published(CHELA_COMMANDS, "f", NULL));
    CHELA_ARGS(chela_method, q, 0);
    q.name = chela_s("skills.status");
    q.params = chela_s("{}");
    kit_call(k, CHELA_FN_SERVICE_METHOD, &q);
    assert_non_null(strstr(kit_done(k)->text.s, "the program no-such-program is missing"));
    assert_non_null(strstr(kit_done(k)->text.s, "does not begin with a frontmatter"));
}

static void the_nearest_place_wins_and_changes_count_at_once(void **state)
{
    char inside[128];
    (void)state;
    snprintf(inside, sizeof inside, "%s/skills", workspace);
    write_skill(shipped, "x", "---\ndescription: shipped\n---\n");
    kit_start(k);
    assert_non_null(strstr(prompt(), "shipped"));
    write_skill(user, "x", "---\ndescription: of the user\n---\n");
    assert_non_null(strstr(prompt(), "of the user"));
    assert_null(strstr(prompt(), "shipped"));
    write_skill(inside, "x", "---\ndescription: of the workspace\n---\n");
    assert_non_null(strstr(prompt(), "of the workspace"));
    write_skill(inside, "x", "---\ndescription: changed in the workspace\n---\n");
    assert_non_null(strstr(prompt(), "changed in the workspace"));
}

static void tools_of_the_frontmatter_run_their_command(void **state)
{
    (void)state;
    write_skill(user, "t",
                "---\ndescription: t\ncommand-dispatch: tool\ncommand-tool: count\ntools:\n"
                "  - name: count\n    description: counts\n    command: wc -c\n"
                "    parameters: {type: object, properties: {text: {type: string}}}\n---\n");
    kit_start(k);
    assert_true(published(CHELA_TOOLS, "count", "\"requiresApproval\":true"));
    run("count", "{\"text\":\"a'; rm -rf x\"}");
    const struct chela_spawn *s = kit_request(k, CHELA_FN_SPAWN);
    assert_non_null(s);
    assert_string_equal(s->arguments.v[2].value.s, "wc -c");
    assert_string_equal(s->environment.v[0].name.s, "ARG_TEXT");
    assert_string_equal(s->environment.v[0].value.s, "a'; rm -rf x");
    assert_int_equal(s->confine, CHELA_CONFINE_WORKSPACE);
    uint64_t call = s->h.call;
    CHELA_ARGS(chela_output, o, 0);
    o.stream = 1;
    o.data = chela_s("12\n");
    kit_tell(k, call, CHELA_FN_OUTPUT, &o);
    kit_answer_ok(k, call, "", 0);
    assert_string_equal(kit_done(k)->text.s, "12\n");
    CHELA_ARGS(chela_command, c, 0);
    c.name = chela_s("t");
    c.arguments = chela_s("some words");
    kit_call(k, CHELA_FN_SERVICE_COMMAND, &c);
    s = kit_request(k, CHELA_FN_SPAWN);
    assert_non_null(s);
    assert_string_equal(s->environment.v[0].value.s, "some words");
    kit_answer_ok(k, s->h.call, "", 0);
}

static void yaml_is_bounded(void **state)
{
    (void)state;
    char *error = NULL;
    json_object *o = yaml_read("a: 1\nb: \"2\"\nc: [true, x]\n", 25, &error);
    assert_string_equal(chela_json_text(o, NULL), "{\"a\":1,\"b\":\"2\",\"c\":[true,\"x\"]}");
    json_object_put(o);
    static const char bomb[] = "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\n"
                               "c: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: [*c,*c,*c,*c,*c,*c,*c,*c]\n";
    o = yaml_read(bomb, sizeof bomb - 1, &error);
    assert_non_null(o);
    assert_true(strlen(chela_json_text(o, NULL)) < 50000);
    json_object_put(o);
    assert_null(yaml_read("a: [", 4, &error));
    assert_non_null(error);
    free(error);
}

int main(void)
{
#define SKILL_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        SKILL_TEST(a_skill_is_listed_and_read_on_demand),
        SKILL_TEST(what_is_required_gates_it),
        SKILL_TEST(the_nearest_place_wins_and_changes_count_at_once),
        SKILL_TEST(tools_of_the_frontmatter_run_their_command),
        cmocka_unit_test(yaml_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
