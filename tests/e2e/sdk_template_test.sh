#!/bin/bash
# The plugins of sdk/template build against an installed SDK by pkg-config alone, export one symbol each, and a turn
# goes through them: in by the channel, routed by the router, with both tools.
. "${CHELA_TEST_SRCDIR:-$(dirname "$0")/../..}/tests/lib/tap.sh"

command -v pkg-config >/dev/null || skip_all "no pkg-config"
root=$tmp/root
unset MAKEFLAGS MFLAGS MAKELEVEL
ok make -C "$build" -s install DESTDIR="$root" -- "the tree installs into a folder of its own"
pc=$(find "$root" -name chela-sdk.pc)
export PKG_CONFIG_SYSROOT_DIR=$root PKG_CONFIG_PATH=${pc%/*}
template=$(find "$root" -path '*/template/Makefile')
like "$template" 'chela/template/Makefile' "the template is installed"
cp -r "${template%/*}" "$tmp/template"
cd "$tmp/template" || bail "no template"
plugins="channel_pipe provider_lines router_hours tool_dice"
command -v "${CXX:-c++}" >/dev/null && plugins+=" tool_clock"
ok make CC="${CC:-cc}" CFLAGS="-O2 -Wall -Wextra -Werror" CXXFLAGS="-O2 -Wall -Wextra -Werror" PLUGINS="$plugins" \
    -- "they build by pkg-config alone, without a warning"
for plugin in $plugins; do
    is "$(nm -D --defined-only "$plugin.so" | awk '$2 != "A" { print $3 }')" "${plugin}_LTX_chela_plugin" \
        "$plugin exports its descriptor and nothing else"
done

start_background mock "$build/tests/fakes/mock_model"
mock_port=${ready##*port=}
configure <<END
providers : {
    model : { type = "openai"; base_url = "http://127.0.0.1:$mock_port/v1"; };
    plain : { type = "lines"; url = "http://127.0.0.1:$mock_port/nothing"; };
};
routers : { hours : { type = "hours"; day = "model/by-day"; night = "model/by-night"; }; };
tools : { dice : { type = "dice"; seed = 7; };
    $(case $plugins in *tool_clock) echo 'clock : { type = "clock"; };' ;; esac)
};
channels : { spool : { type = "pipe"; in = "$tmp/in"; out = "$tmp/out"; }; };
END
chmod -R go-w "$tmp/template"
export CHELA_PLUGIN_PATH="$CHELA_PLUGIN_PATH:$tmp/template"
cd "$tmp/work" || bail "no work"
start_gateway

echo 'mock: tool roll_dice {"count":3,"sides":6}' >"$tmp/in"
line=$(wait_for_line "$tmp/out" 'dice of 6 sides' 30)
like "$line" '3 dice of 6 sides: ([3-9]|1[0-8])' "a message of the channel comes back with what the tool rolled"

run chela agent --json -m 'again
mock: tool roll_dice {"count":2,"sides":2}'
is "$status" 0 "a turn of the terminal uses the tool too"
like "$out" 'by-(day|night)' "the router chose the model by the hour"

case $plugins in
*tool_clock)
    run chela agent -m 'the time
mock: tool local_time {}'
    like "$out" '[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9:]{8}' "the tool in C++ answers"
    ;;
esac
stop_gateway
is "$status" 0 "the gateway ends well with them"
done_testing
