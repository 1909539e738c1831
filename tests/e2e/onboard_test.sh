#!/bin/bash
# chela onboard: finds a key and a model server, tries them, writes a configuration that is good and never writes over
# one; by options, and at a terminal (tmux). systemctl is a script that writes down what it is asked.
. "${CHELA_TEST_SRCDIR:-$(dirname "$0")/../..}/tests/lib/tap.sh"

unset OPENAI_API_KEY ANTHROPIC_API_KEY GEMINI_API_KEY MISTRAL_API_KEY GROQ_API_KEY DEEPSEEK_API_KEY XAI_API_KEY \
    OPENROUTER_API_KEY TELEGRAM_BOT_TOKEN DISCORD_BOT_TOKEN
export LLAMA_CPP_HOST=127.0.0.1:1 # nothing of this machine's counts, whatever runs on it
unset CHELA_CONFIG
file="$XDG_CONFIG_HOME/chela/chela.conf"
mkdir -p "$tmp/bin"
cat >"$tmp/bin/systemctl" <<END
#!/bin/bash
echo "\$*" >>"$tmp/systemctl.log"
[ "\$2" != cat ]
END
cat >"$tmp/bin/no-systemctl" <<'END'
#!/bin/bash
exit 1
END
chmod +x "$tmp/bin/systemctl" "$tmp/bin/no-systemctl"
path=$PATH
export TMPDIR="$tmp/trial"
mkdir "$TMPDIR"

start_background service "$build/tests/fakes/mock_model" --log "$tmp/service.log"
port=${ready##*port=}

# --- by options -----------------------------------------------------------------------------------------------------

run chela onboard
like "$status:$err" "^2:.*nobody to ask" "without a terminal it wants --yes"
OLLAMA_HOST=127.0.0.1:1 run chela onboard --yes --no-service
if [ "$status" = 0 ]; then
    skip "something listens on this machine where model servers do" "without a key and a server it says what to do"
else
    like "$status:$err" "^1:.*no model" "without a key and a server it says what to do"
fi
[ ! -e "$file" ]
point $? "and nothing is written"

export OLLAMA_HOST=127.0.0.1:$port
run chela onboard --yes --no-service --model nobody/x
like "$status:$err" "^1:.*no service that was found has that model" "a model that nobody has is told"
run chela onboard --yes --no-service --channel fax
like "$status:$err" "^2:.*no channel of that name" "so is a channel"
run chela onboard --yes --no-service --channel telegram
like "$status:$err" "^2:.*needs its token" "and one whose token is not known"
[ ! -e "$file" ]
point $? "nothing is written by any of them"

run chela onboard --yes --no-service --model mock-1
is "$status" 0 "a local Ollama is found and taken" || diag "$out $err"
like "$out" "ollama: it listens at http://127.0.0.1:$port, 1 model" "it says where it was found"
like "$out" "Asking ollama/mock-1 \.\.\. You said: " "and lets the model answer a turn"
like "$out" "Written to $file, and the whole configuration is good" "then the file is written"
is "$(stat -c %a "$file")" 600 "which is the person's alone"
like "$(cat "$file")" "# Where models come from.*base_url = \"http://127.0.0.1:$port\".*# Which model answers.*model = \"ollama/mock-1\"" \
    "it is commented"
like "$out" "Start the gateway with: chela gateway" "and it says how to start"
is "$(ls "$TMPDIR")" "" "nothing of the trial stays"
run chela config check
is "$status" 0 "the configuration is good"
start_background gateway "$build/chelad" --port 0 --ready-fd 3
export CHELA_GATEWAY_PORT=${ready##*port=}
run chela agent -m "hello there"
is "$out" "You said: hello there" "a gateway that was started with it answers"
stop_gateway
unset CHELA_GATEWAY_PORT

# --- a key, a service of the user, and a file that is there already ------------------------------------------------

before=$(cat "$file")
export OPENAI_API_KEY=sk-test CHELA_PROVIDERS__OPENAI__BASE_URL="http://127.0.0.1:$port/v1" \
    CHELA_PROVIDERS__OPENAI__LIST_MODELS=true
PATH="$tmp/bin:$path" run chela onboard --yes --model openai/mock-1 --json
is "$status" 0 "a key of the environment is found" || diag "$out $err"
own="$XDG_CONFIG_HOME/chela/conf.d/20-onboard.conf"
is "$(jq -r '.file + " " + .model + " " + (.service | tostring)' <<<"$out")" "$own openai/mock-1 true" \
    "the report is JSON, and the service was started"
is "$(cat "$file")" "$before" "the file that was there is as it was"
key="$XDG_CONFIG_HOME/chela/keys/openai.key"
is "$(cat "$key"):$(stat -c %a "$key")" "sk-test:600" "the key is kept in a file of its own, since a service sees no shell"
like "$(cat "$own")" "api_key = \"file:$key\"" "which the configuration names"
grep -qi "authorization\":\"bearer sk-test" "$tmp/service.log"
point $? "the model was asked with it"
is "$(tr '\n' ';' <"$tmp/systemctl.log")" \
    "--user show-environment;--user cat chela.service;--user daemon-reload;--user enable chela.service;--user restart chela.service;" \
    "systemd is asked to run the unit"
like "$(cat "$XDG_CONFIG_HOME/systemd/user/chela.service")" "ExecStart=$build/chelad"$'\n'".*WantedBy=default.target" \
    "whose copy starts this daemon"
unset OPENAI_API_KEY
run chela config check
is "$status" 0 "the configuration is good without the variable"
unset CHELA_PROVIDERS__OPENAI__BASE_URL CHELA_PROVIDERS__OPENAI__LIST_MODELS

mv "$tmp/bin/no-systemctl" "$tmp/bin/systemctl"
PATH="$tmp/bin:$path" run chela onboard --yes --model ollama/mock-1
like "$status:$out" "^0:.*No systemd runs services for you here" "without systemd it says what to do instead"
like "$(cat "$own.old")" "openai/mock-1" "what it wrote before is kept beside"

# a configuration that would be wrong as a whole is not left behind
cp "$own" "$tmp/own"
echo 'nonsense = 1;' >"$XDG_CONFIG_HOME/chela/conf.d/95-wrong.conf"
run chela onboard --yes --no-service
is "$status" 78 "a configuration that is wrong stops it"
is "$(cat "$own")" "$(cat "$tmp/own")" "and changes nothing"
rm "$XDG_CONFIG_HOME/chela/conf.d/95-wrong.conf"

# --- a channel ------------------------------------------------------------------------------------------------------

start_background telegram "$build/tests/fakes/fake_telegram" --token 123:abc
telegram=${ready##*port=}
# what an admin wrote of it before stays; only the token is another one now
echo "channels : { telegram : { base_url = \"http://127.0.0.1:$telegram\"; token = \"123:old\"; }; };" \
    >"$XDG_CONFIG_HOME/chela/conf.d/10-telegram.conf"
export TELEGRAM_BOT_TOKEN=123:abc
run chela onboard --yes --no-service --channel telegram
like "$status:$out" "^0:.*telegram answers" "the channel is asked whether it works" || diag "$out $err"
like "$(cat "$own")" "telegram : \{.*token = \"file:$XDG_CONFIG_HOME/chela/keys/telegram.key\"" "its token is kept apart"
TELEGRAM_BOT_TOKEN=123:wrong run chela onboard --yes --no-service --channel telegram
is "$status" 1 "a token that is wrong is told" || diag "$out $err"
unset TELEGRAM_BOT_TOKEN

# --- at a terminal --------------------------------------------------------------------------------------------------

if ! command -v tmux >/dev/null; then
    skip "tmux is not installed" "questions at a terminal"
    done_testing
fi
rm -rf "$XDG_CONFIG_HOME/chela"
tmux() { command tmux -u -S "$tmp/tmux" -f /dev/null "$@"; }
shown() { tmux capture-pane -p -S - -t test | grep -qE -- "$1"; }
see() { wait_until shown "$1"; point $? "$2" || diag "$(tmux capture-pane -p -S - -t test)"; }
tmux new-session -d -s test -x 120 -y 50 "'$build/chela' onboard; read"
see 'Which model shall answer' "it asks which model"
tmux send-keys -t test -l 7
tmux send-keys -t test Enter
see 'none of them' "an answer that is none is asked again"
tmux send-keys -t test Enter
see 'Another channel' "then for a channel"
tmux send-keys -t test -l discord
tmux send-keys -t test Enter
see 'token.*not shown' "and for its token"
tmux send-keys -t test -l very-secret
tmux send-keys -t test Enter
see 'Written to ' "and writes the configuration"
! shown very-secret
point $? "the token was not shown"
is "$(cat "$XDG_CONFIG_HOME/chela/keys/discord.key")" very-secret "but kept"
tmux kill-server
done_testing
