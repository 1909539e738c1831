# Recorded streams of model APIs, replayed into each provider (replay_test.c).
EXTRA_DIST += tests/streams/golden tests/streams/own
REPLAY_SOURCES = tests/streams/replay_test.c sdk/testkit/kit.c sdk/testkit/kit_host.c sdk/testkit/kit_trace.c
REPLAY_LIBS = core/libnet.a core/libbase.a $(TESTKIT_LIBS)
REPLAY_OPENAI = plugins/provider_openai/provider_openai.c plugins/provider_openai/preset.c plugins/provider_openai/request.c
REPLAY_CPPFLAGS = $(TESTKIT_CPPFLAGS) -DFORM=CHELA_SSE

plugin_tests += tests/streams/replay_anthropic tests/streams/replay_openai tests/streams/replay_groq \
	tests/streams/replay_xai tests/streams/replay_deepseek tests/streams/replay_ollama
tests_streams_replay_anthropic_SOURCES = $(REPLAY_SOURCES) plugins/provider_anthropic/provider_anthropic.c \
	plugins/provider_anthropic/request.c plugins/provider_anthropic/login.c
tests_streams_replay_anthropic_CPPFLAGS = $(REPLAY_CPPFLAGS) -DPLUGIN=provider_anthropic -DFOLDER='"anthropic"' \
	-DOWN='"anthropic"'
tests_streams_replay_anthropic_LDADD = $(REPLAY_LIBS)
tests_streams_replay_openai_SOURCES = $(REPLAY_SOURCES) $(REPLAY_OPENAI)
tests_streams_replay_openai_CPPFLAGS = $(REPLAY_CPPFLAGS) -DPLUGIN=provider_openai -DFOLDER='"openai-chat"' \
	-DOWN='"openai-chat"'
tests_streams_replay_openai_LDADD = $(REPLAY_LIBS)
tests_streams_replay_groq_SOURCES = $(REPLAY_SOURCES) $(REPLAY_OPENAI)
tests_streams_replay_groq_CPPFLAGS = $(REPLAY_CPPFLAGS) -DPLUGIN=provider_openai -DFOLDER='"groq"' -DOWN='"openai-chat"'
tests_streams_replay_groq_LDADD = $(REPLAY_LIBS)
tests_streams_replay_xai_SOURCES = $(REPLAY_SOURCES) $(REPLAY_OPENAI)
tests_streams_replay_xai_CPPFLAGS = $(REPLAY_CPPFLAGS) -DPLUGIN=provider_openai -DFOLDER='"xai"' -DOWN='"openai-chat"'
tests_streams_replay_xai_LDADD = $(REPLAY_LIBS)
tests_streams_replay_deepseek_SOURCES = $(REPLAY_SOURCES) $(REPLAY_OPENAI)
tests_streams_replay_deepseek_CPPFLAGS = $(REPLAY_CPPFLAGS) -DPLUGIN=provider_openai -DFOLDER='"deepseek"' \
	-DOWN='"openai-chat"'
tests_streams_replay_deepseek_LDADD = $(REPLAY_LIBS)
tests_streams_replay_ollama_SOURCES = $(REPLAY_SOURCES) plugins/provider_ollama/provider_ollama.c \
	plugins/provider_ollama/request.c
tests_streams_replay_ollama_CPPFLAGS = $(TESTKIT_CPPFLAGS) -DFORM=CHELA_LINES -DPLUGIN=provider_ollama \
	-DFOLDER='"ollama"' -DOWN='"ollama"'
tests_streams_replay_ollama_LDADD = $(REPLAY_LIBS)

# A model service that is scripted by the conversation.
check_PROGRAMS += tests/fakes/mock_model
tests_fakes_mock_model_SOURCES = tests/fakes/mock_model.c tests/fakes/mock_answer.c tests/fakes/mock_answer.h \
	tests/fakes/mock_http.c tests/fakes/mock_http.h
tests_fakes_mock_model_LDADD = sdk/support/libsupport.la $(JSONC_LIBS)
