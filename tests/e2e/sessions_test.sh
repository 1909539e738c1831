#!/bin/bash
# Conversations as tools: listing, reading, writing to another one, sub-agents and their bounds, messages to chats.
. "${CHELA_TEST_SRCDIR:-$(dirname "$0")/../..}/tests/lib/tap.sh"

[ -e "$build/plugins/.libs/tool_sessions.so" ] || skip_all "tool_sessions is not built here"
[ -e "$build/tests/plugin/.libs/channel_spool.so" ] || skip_all "the spool channel is not built here"
start_background mock "$build/tests/fakes/mock_model" --log "$tmp/requests"
mock_port=${ready##*port=}
mkdir -p "$tmp/plugins"
settings() { # TOOLS: options of tools.sessions
    configure <<END
plugins : { path = [ "$tmp/plugins" ]; };
providers : { model : { type = "openai"; base_url = "http://127.0.0.1:$mock_port/v1"; }; };
agents : { main : { model = "model/mock-1"; workspace = "$tmp/work"; default = true; }; other : { model = "model/mock-1"; }; };
channels : { spool : { in = "$tmp/spool"; out = "$tmp/spooled"; dm_policy = "open"; allow_from = [ "*" ]; }; };
tools : { security = "$1"; sessions : { type = "sessions"; $2 };
    rules = ( { channel = "spool"; deny = [ "sessions_history" ]; } ); };
END
}
ln -sf "$build/tests/plugin/.libs/channel_spool.so" "$tmp/plugins/"
turn() { run chela agent --session "$1" -m "$2"; }
result() { tail -n 1 "$tmp/requests" | jq -r '[.body.messages[] | select(.role == "tool")] | last | .content'; }
settings full ''
start_gateway

turn side 'mock: say the code word is heron'
turn main 'mock: say hello'
turn main 'mock: tool sessions_list {}
mock: say listed'
like "$(result)" 'agent:main:side' "sessions_list names the other conversation"
like "$(result)" 'agent:main:main.*this conversation' "and which one this is"
turn main 'mock: tool sessions_history {"sessionKey":"agent:main:side"}
mock: say read'
like "$(result)" 'assistant: the code word is heron' "sessions_history reads it"
turn main 'mock: tool session_status {"sessionKey":"agent:main:side"}
mock: say seen'
like "$(result)" 'Now: 20[0-9-]+ .*Session: agent:main:side' "session_status tells about it"

run chela agent --agent other -m 'mock: say of the other agent'
turn main 'mock: tool sessions_history {"sessionKey":"agent:other:main"}
mock: say tried'
like "$(result)" 'belongs to another agent' "another agent's conversation is not shown"
turn main 'mock: tool sessions_list {"limit":100}
mock: say again'
unlike "$(result)" 'agent:other' "nor listed"

turn main 'mock: tool sessions_send {"sessionKey":"agent:main:side","message":"what is it? mock: say it is heron"}
mock: say asked'
like "$(result)" '^it is heron' "sessions_send brings the answer of the other conversation"
turn main 'mock: tool sessions_send {"sessionKey":"agent:main:main","message":"x"}
mock: say tried'
like "$(result)" 'send to itself' "a conversation doesn't write to itself"
turn main 'mock: tool sessions_send {"sessionKey":"agent:main:side","message":"/new"}
mock: say sent'
like "$(result)" 'You said: .*/new' "what looks like a command is none"

# sub-agents
turn main 'mock: tool sessions_spawn {"task":"count them. mock: say mock: say the parent heard seven","label":"counter"}
mock: say waiting'
like "$(result)" '"status":"accepted","childSessionKey":"agent:main:subagent:' "sessions_spawn is answered at once"
child=$(result | jq -r .childSessionKey)
until_said() { # TEXT: a request whose last user message has it
    wait_for_line "$tmp/requests" "$1" 60
}
until_said 'Result of the sub-agent .{0,3}counter' >/dev/null
like "$(until_said 'Result of the sub-agent' | jq -r '.body.messages[-1].content | if type == "array" then map(.text) | join(" ") else . end')" \
    'counter.* \(agent:main:subagent:.*\): ok\. .*the parent heard seven' "its result comes to the parent as a message"
sub() { # TEXT: the first request of a sub-agent with this task
    wait_for_line "$tmp/requests" "You are a sub-agent.*$1" 60
}
isnt "$(sub 'count them')" '' "it is told what it is"
tools=$(sub 'count them' | jq -c '[.body.tools[].function.name]')
unlike "$tools" '"(message|sessions_send|sessions_spawn)"' "and has no tools to write to others or for more of its kind"
turn main 'mock: tool subagents {"action":"list"}
mock: say listed'
like "$(result)" "$child \"counter\": ended ok" "subagents lists it as ended"

turn main 'mock: tool sessions_spawn {"task":"only read. mock: tool read {\"path\":\"x\"}\nmock: say ended","tools":{"allow":["read","sessions_*"]}}
mock: say waiting'
is "$(sub 'only read[.] mock' | jq -c '[.body.tools[].function.name] | sort')" \
    "$(jq -cn '["read","sessions_history","sessions_list"]')" "a sub-agent's tools are those that the task names, less what it may not have"

# whoever may not use a tool on a channel can't have it used by a sub-agent
printf 'direct\tann\tann\t0\tmock: tool sessions_spawn {"task":"look around. mock: say done"}\n' >"$tmp/spool" &
names=$(sub 'look around' | jq -c '[.body.tools[].function.name]')
unlike "$names" 'sessions_history' "the rules of the channel that it came from hold for it"
like "$names" 'sessions_list' "and only those"

# message
turn main 'mock: tool message {"channel":"spool","target":"ann","message":"good morning"}
mock: say told'
like "$(result)" 'on its way' "message is stored first"
like "$(wait_for_line "$tmp/spooled" 'good morning')" $'^send\tann\t' "and reaches the chat"
turn main 'mock: tool message {"channel":"nowhere","target":"x","message":"hi"}
mock: say done'
like "$(result)" 'no channel "nowhere"' "a channel that isn't there is told"
stop_gateway
is "$status" 0 "the gateway ends well"

# bounds
settings full 'subagents : { per_session = 1; max_depth = 2; tokens = 1; };'
start_gateway
turn b1 'mock: tool sessions_spawn {"task":"hold. mock: stall"} && sessions_spawn {"task":"one too many. mock: say x"}
mock: say tried'
like "$(tail -n 1 "$tmp/requests" | jq -r '[.body.messages[] | select(.role == "tool") | .content] | join(" ")')" \
    'accepted.*(of this conversation are at work)|at work.*accepted' "no more at once than allowed"
turn b1 'mock: tool subagents {"action":"list"}
mock: say listed'
child=$(result | grep -o 'agent:main:subagent:[0-9a-f-]*' | tail -n 1)
turn b1 "mock: tool subagents {\"action\":\"stop\",\"sessionKey\":\"$child\"}
mock: say stopped"
like "$(result)" 'Stopped' "one can be stopped"
like "$(until_said "$child.: stopped" | jq -c '.body.messages[-1].content')" 'half of' "and the parent is told of that, too"
turn b2 'mock: tool sessions_spawn {"task":"spend. mock: tool session_status {}\nmock: say spent"}
mock: say waiting'
is "$(sub 'spend.*"role":"tool"' | jq -r .body.tool_choice)" none "a sub-agent whose tokens are spent has to answer"
stop_gateway

settings ask ''
start_gateway
turn main 'mock: tool sessions_list {}
mock: say listed'
is "$status" 0 "reading is free when a person is asked for the rest"
RUN_TIMEOUT=5 run chela agent --session main -m 'mock: tool sessions_spawn {"task":"x"}
mock: say y'
like "$(chela approvals --json | jq -r '.[0].request.toolName // .approvals[0].request.toolName')" 'sessions_spawn' "a sub-agent waits for a yes"
stop_gateway
done_testing
