# Recorded streams of model APIs, replayed into each provider (replay_test.c).
EXTRA_DIST += tests/streams/golden tests/streams/own tests/streams/coverage.txt
REPLAY_SOURCES = tests/streams/replay_test.c tests/streams/recording.c tests/streams/recording.h $(KIT_SOURCES)
REPLAY_LIBS = core/libnet.a core/libbase.a $(TESTKIT_LIBS)
REPLAY_SSE = $(TESTKIT_CPPFLAGS) -DFORM=CHELA_SSE

plugin_tests += tests/streams/replay_anthropic tests/streams/replay_openai tests/streams/replay_groq \
	tests/streams/replay_xai tests/streams/replay_deepseek tests/streams/replay_ollama tests/streams/replay_google \
	tests/streams/replay_mistral tests/streams/replay_openai_responses tests/streams/replay_llamacpp
tests_streams_replay_anthropic_SOURCES = $(REPLAY_SOURCES) $(SOURCES_anthropic)
tests_streams_replay_anthropic_CPPFLAGS = $(REPLAY_SSE) -DPLUGIN=provider_anthropic -DFOLDER='"anthropic"' \
	-DOWN='"anthropic"' -DURI='"/v1/messages"' \
	-DOTHER_TWINS='"anthropic-json-tool.1.chunks.txt"'
tests_streams_replay_anthropic_LDADD = $(REPLAY_LIBS)
tests_streams_replay_openai_SOURCES = $(REPLAY_SOURCES) $(SOURCES_openai)
tests_streams_replay_openai_CPPFLAGS = $(REPLAY_SSE) -DPLUGIN=provider_openai -DFOLDER='"openai-chat"' \
	-DOWN='"openai-chat"' -DURI='"/v1/chat/completions"'
tests_streams_replay_openai_LDADD = $(REPLAY_LIBS)
tests_streams_replay_groq_SOURCES = $(REPLAY_SOURCES) $(SOURCES_openai)
tests_streams_replay_groq_CPPFLAGS = $(REPLAY_SSE) -DPLUGIN=provider_openai -DFOLDER='"groq"' \
	-DOWN='"openai-chat"' -DURI='"/v1/chat/completions"'
tests_streams_replay_groq_LDADD = $(REPLAY_LIBS)
tests_streams_replay_xai_SOURCES = $(REPLAY_SOURCES) $(SOURCES_openai)
tests_streams_replay_xai_CPPFLAGS = $(REPLAY_SSE) -DPLUGIN=provider_openai -DFOLDER='"xai"' \
	-DOWN='"openai-chat"' -DURI='"/v1/chat/completions"'
tests_streams_replay_xai_LDADD = $(REPLAY_LIBS)
tests_streams_replay_deepseek_SOURCES = $(REPLAY_SOURCES) $(SOURCES_openai)
tests_streams_replay_deepseek_CPPFLAGS = $(REPLAY_SSE) -DPLUGIN=provider_openai -DFOLDER='"deepseek"' \
	-DOWN='"openai-chat"' -DURI='"/v1/chat/completions"'
tests_streams_replay_deepseek_LDADD = $(REPLAY_LIBS)
tests_streams_replay_ollama_SOURCES = $(REPLAY_SOURCES) $(SOURCES_ollama)
tests_streams_replay_ollama_CPPFLAGS = $(TESTKIT_CPPFLAGS) -DFORM=CHELA_LINES -DPLUGIN=provider_ollama -DFOLDER='"ollama"' \
	-DOWN='"ollama"' -DURI='"/api/chat"'
tests_streams_replay_ollama_LDADD = $(REPLAY_LIBS)
tests_streams_replay_google_SOURCES = $(REPLAY_SOURCES) $(SOURCES_google)
tests_streams_replay_google_CPPFLAGS = $(REPLAY_SSE) -DPLUGIN=provider_google -DFOLDER='"google"' \
	-DOWN='"google"' -DURI='"/v1beta"'
tests_streams_replay_google_LDADD = $(REPLAY_LIBS)
tests_streams_replay_mistral_SOURCES = $(REPLAY_SOURCES) $(SOURCES_mistral)
tests_streams_replay_mistral_CPPFLAGS = $(REPLAY_SSE) -DPLUGIN=provider_mistral -DFOLDER='"mistral"' \
	-DOWN='"mistral"' -DURI='"/v1/none"'
tests_streams_replay_mistral_LDADD = $(REPLAY_LIBS)
tests_streams_replay_openai_responses_SOURCES = $(REPLAY_SOURCES) $(SOURCES_openai_responses)
tests_streams_replay_openai_responses_CPPFLAGS = $(REPLAY_SSE) -DPLUGIN=provider_openai_responses -DFOLDER='"openai-responses"' \
	-DOWN='"openai-responses"' -DURI='"/v1/responses"' \
	-DOTHER_TWINS='"openai-reasoning-encrypted-content.1.chunks.txt"'
tests_streams_replay_openai_responses_LDADD = $(REPLAY_LIBS)
tests_streams_replay_llamacpp_SOURCES = $(REPLAY_SOURCES) $(SOURCES_llama_cpp)
tests_streams_replay_llamacpp_CPPFLAGS = $(REPLAY_SSE) -DPLUGIN=provider_llama_cpp -DFOLDER='"llamacpp"' \
	-DOWN='"llamacpp"' -DURI='"/completion"' \
	-DPREPARES='"{\"prompt\":\"Hello\"}"'
tests_streams_replay_llamacpp_LDADD = $(REPLAY_LIBS)

# A model service that is scripted by the conversation.
check_PROGRAMS += tests/fakes/mock_model
tests_fakes_mock_model_SOURCES = tests/fakes/mock_model.c tests/fakes/mock_answer.c tests/fakes/mock_answer.h \
	tests/fakes/mock_embed.c tests/fakes/mock_embed.h tests/fakes/mock_http.c tests/fakes/mock_http.h
tests_fakes_mock_model_LDADD = sdk/support/libsupport.la $(JSONC_LIBS)

# A model service that fails in every way, in every wire form.
check_PROGRAMS += tests/fakes/fault_model
tests_fakes_fault_model_SOURCES = tests/fakes/fault_model.c tests/fakes/mock_answer.c tests/fakes/mock_answer.h \
	tests/fakes/mock_http.c tests/fakes/mock_http.h
tests_fakes_fault_model_LDADD = sdk/support/libsupport.la $(JSONC_LIBS)

# Web pages and search services for tests.
check_PROGRAMS += tests/fakes/fake_web
tests_fakes_fake_web_SOURCES = tests/fakes/fake_web.c tests/fakes/mock_answer.c tests/fakes/mock_answer.h \
	tests/fakes/mock_http.c tests/fakes/mock_http.h
tests_fakes_fake_web_LDADD = sdk/support/libsupport.la $(JSONC_LIBS)
