#!/bin/bash
# Skills by the whole way: folders with a SKILL.md become a list in the prompt, tools, commands; the nearest place wins,
# what is missing gates, changes count from the next turn; the shipped skill `weather` by web_fetch.
. "${CHELA_TEST_SRCDIR:-$(dirname "$0")/../..}/tests/lib/tap.sh"

for plugin in tool_skills tool_web provider_openai; do
    [ -e "$build/plugins/.libs/$plugin.so" ] || skip_all "$plugin is not built here"
done
start_background mock "$build/tests/fakes/mock_model" --log "$tmp/requests"
mock_port=${ready##*port=}
# what wttr.in answers, from a web server of the test: the gateway of another configuration would be too much
start_background web "$build/tests/fakes/fake_web" "$tmp/web"
web_port=${ready##*port=}
work=$tmp/work user=$tmp/user shipped=$tmp/shipped
skill() { # ROOT NAME: the text on standard input
    mkdir -p "$1/$2"
    cat >"$1/$2/SKILL.md"
}
mkdir -p "$work" "$user" "$shipped/weather"
sed "s|https://wttr.in/PLACE|http://127.0.0.1:$web_port/PLACE|" "$top/plugins/tool_skills/skills/weather/SKILL.md" \
    >"$shipped/weather/SKILL.md"
cat >"$tmp/web" <<'END'
/Beijing?format=j1 200 application/json {"current_condition":[{"temp_C":"28","humidity":"45","weatherDesc":[{"value":"Sunny"}]}]}
END
skill "$shipped" tea <<<$'---\nname: tea\ndescription: how the shipped makes tea\n---\nShipped body.'
skill "$user" tea <<<$'---\nname: tea\ndescription: how the user makes tea\n---\nUser body in {baseDir}.'
skill "$user" missing <<<$'---\nname: missing\ndescription: needs much\nrequires:\n  bins: [no-such-program]\n---\n'
skill "$user" keyed <<<$'---\nname: keyed\ndescription: needs a variable\nrequires:\n  env: [SKILL_TEST_KEY]\n---\n'
skill "$user" set <<<$'---\nname: set\ndescription: needs a setting\nrequires:\n  config: [mail]\n---\n'
skill "$user" unset <<<$'---\nname: unset\ndescription: needs another setting\nrequires:\n  config: [printer]\n---\n'
skill "$user" elsewhere <<<$'---\nname: elsewhere\ndescription: of another system\nos: [darwin]\n---\n'
skill "$user" here <<<$'---\nname: here\ndescription: of this system\nos: [linux, darwin]\n---\n'
skill "$user" byhand <<<$'---\nname: byhand\ndescription: only for people\ndisable-model-invocation: true\n---\nBy hand: {baseDir}'
skill "$user" formodels <<<$'---\nname: formodels\ndescription: only for models\nuser-invocable: false\n---\nFor models.'
skill "$user" count <<'END'
---
name: count
description: counts
command-dispatch: tool
command-tool: count_words
tools:
  - name: count_words
    description: counts words
    parameters: {type: object, properties: {text: {type: string}}, required: [text]}
    command: printf '%s' "${ARG_TEXT:-$ARG_COMMAND}" | wc -w
---
Body of count.
END
skill "$user" broken <<<'no frontmatter at all'
configure <<END
providers : { model : { type = "openai"; base_url = "http://127.0.0.1:$mock_port/v1"; }; };
agents : { main : { model = "model/mock-1"; workspace = "$work"; }; };
tools : {
    security = "full";
    skills : { type = "skills"; user = "$user"; system = "$shipped"; config = [ "mail" ]; };
    web : { type = "web"; private = [ "127.0.0.1" ]; };
};
END
export SKILL_TEST_KEY=
unset SKILL_TEST_KEY
start_gateway
last() { tail -n 1 "$tmp/requests" | jq -r "$1"; }
system() { last '.body.messages[0].content | if type == "array" then map(.text) | join("\n") else . end'; }
offered() { last '[.body.tools[].function.name] | join(" ")'; }
result() { last '[.body.messages[] | select(.role == "tool")] | last | .content'; }
turn() { run chela agent -m "$1
mock: say done"; }

turn 'Hello'
list=$(system)
like "$list" '<name>tea</name><description>how the user makes tea<' "the user's skill comes before the shipped one"
unlike "$list" 'the shipped makes tea|User body' "which is hidden; bodies are not in the prompt"
like "$list" '<name>set</name>' "a setting that the configuration names lets its skill in"
like "$list" '<name>here</name>' "so does this system"
unlike "$list" 'needs much|needs a variable|needs another setting|another system' "a program, a variable, a setting, a system that is missing keeps it out"
unlike "$list" 'only for people' "disable-model-invocation hides it from models"
like "$list" 'only for models' "user-invocable: false does not"
like " $(offered) " ' count_words .*read_skill ' "tools: of a frontmatter are offered, and one that reads"
turn 'mock: tool tool_search {"query":"tea"}'
like "$(result)" 'skill_tea' "a skill without tools: is one tool, found by search"
turn 'mock: tool read_skill {"name":"tea"}'
like "$(result)" "User body in $user/tea" "a skill is read on demand"
turn 'mock: tool skill_formodels {}'
like "$(result)" 'For models' "that tool returns its body"
turn 'mock: tool count_words {"text":"one two three"}'
like "$(result)" '3' "a tool of a frontmatter runs its command"
turn 'mock: tool count_words {"text":"$(touch escaped); `touch escaped`"}'
like "$(result)" '4' "what a model says is an argument, never shell"
ok [ ! -e "$work/escaped" ] -- "and does nothing else"
turn 'mock: tool count_words {}'
like "$(result)" 'missing' "its arguments are checked by its schema"

run chela agent -m '/count one two three four'
like "$out" '4' "command dispatch: /count goes straight to the tool"
run chela agent -m '/byhand now'
like "$(last '.body.messages[-1].content')" "By hand: $user/byhand" "a command gives the skill and the words to the model"
run chela agent -m '/formodels x'
unlike "$(last '.body.messages[-1].content')" 'For models' "one that is not for people is no command"

skill "$work/skills" tea <<<$'---\nname: tea\ndescription: how the workspace makes tea\n---\nWorkspace body.'
turn 'Hello'
like "$(system)" 'how the workspace makes tea' "a new skill of the workspace counts from the next turn, before all others"
skill "$work/skills" tea <<<$'---\nname: tea\ndescription: how tea is made since today\n---\nNew body.'
turn 'mock: tool read_skill {"name":"tea"}'
like "$(result)" 'New body' "so does a change"
rm -r "$work/skills/tea"
turn 'Hello'
like "$(system)" 'how the user makes tea' "and one that goes gives way"

run chela skills list --json
is "$(jq -c '[.skills[] | select(.name == "tea") | .source]' <<<"$out")" '["user","system"]' "chela skills list tells where each stands"
run chela skills check
is "$status" 1 "chela skills check fails when one is broken"
like "$out" 'no-such-program' "says what is missing"
like "$out" 'broken.*frontmatter' "and what is wrong"

turn 'mock: tool read_skill {"name":"weather"}
mock: tool web_fetch {"url":"http://127.0.0.1:'"$web_port"'/Beijing?format=j1","extractMode":"text"}'
like "$(result)" '"temp_C":"28"' "the shipped weather skill fetches the weather"
stop_gateway
SKILL_TEST_KEY=x start_gateway
turn 'Hello'
like "$(system)" 'needs a variable' "a variable that is set lets its skill in"
stop_gateway
is "$status" 0 "the gateway ends well"
done_testing
