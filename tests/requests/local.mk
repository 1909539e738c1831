# The sources of each provider, for tests/streams too.
SOURCES_anthropic = plugins/provider_anthropic/provider_anthropic.c plugins/provider_anthropic/request.c
SOURCES_openai = plugins/provider_openai/provider_openai.c plugins/provider_openai/preset.c plugins/provider_openai/request.c
SOURCES_openai_responses = plugins/provider_openai_responses/provider_openai_responses.c plugins/provider_openai_responses/request.c
SOURCES_google = plugins/provider_google/provider_google.c plugins/provider_google/request.c
SOURCES_mistral = plugins/provider_mistral/provider_mistral.c plugins/provider_mistral/request.c
SOURCES_ollama = plugins/provider_ollama/provider_ollama.c plugins/provider_ollama/request.c
SOURCES_llama_cpp = plugins/provider_llama_cpp/provider_llama_cpp.c plugins/provider_llama_cpp/request.c
KIT_SOURCES = sdk/testkit/kit.c sdk/testkit/kit_host.c sdk/testkit/kit_trace.c

# The requests of each provider, and the matrix of histories (request_test.c).
EXTRA_DIST += tests/requests/golden
REQUEST_SOURCES = tests/requests/request_test.c tests/streams/recording.c tests/streams/recording.h $(KIT_SOURCES)

plugin_tests += tests/requests/request_deepseek tests/requests/request_anthropic \
	tests/requests/request_openai \
	tests/requests/request_openai_responses \
	tests/requests/request_google \
	tests/requests/request_google_openapi \
	tests/requests/request_mistral \
	tests/requests/request_ollama \
	tests/requests/request_llamacpp
tests_requests_request_anthropic_SOURCES = $(REQUEST_SOURCES) $(SOURCES_anthropic)
tests_requests_request_anthropic_CPPFLAGS = $(TESTKIT_CPPFLAGS) -DPLUGIN=provider_anthropic -DGOLDEN='"anthropic"' \
	-DOWN='"anthropic"' -DOPTIONS='{CHELA_LIT("temperature"),CHELA_LIT("false")}'
tests_requests_request_anthropic_LDADD = $(TESTKIT_LIBS)
tests_requests_request_openai_SOURCES = $(REQUEST_SOURCES) $(SOURCES_openai)
tests_requests_request_openai_CPPFLAGS = $(TESTKIT_CPPFLAGS) -DPLUGIN=provider_openai -DGOLDEN='"openai"' \
	-DOWN='"openai"'
tests_requests_request_openai_LDADD = $(TESTKIT_LIBS)
tests_requests_request_openai_responses_SOURCES = $(REQUEST_SOURCES) $(SOURCES_openai_responses)
tests_requests_request_openai_responses_CPPFLAGS = $(TESTKIT_CPPFLAGS) -DPLUGIN=provider_openai_responses -DGOLDEN='"openai_responses"' \
	-DOWN='"openai-responses"' -DOPTIONS='{CHELA_LIT("encrypted_reasoning"),CHELA_LIT("true")},{CHELA_LIT("strict"),CHELA_LIT("true")}'
tests_requests_request_openai_responses_LDADD = $(TESTKIT_LIBS)
tests_requests_request_google_SOURCES = $(REQUEST_SOURCES) $(SOURCES_google)
tests_requests_request_google_CPPFLAGS = $(TESTKIT_CPPFLAGS) -DPLUGIN=provider_google -DGOLDEN='"google"' \
	-DOWN='"google"'
tests_requests_request_google_LDADD = $(TESTKIT_LIBS)
tests_requests_request_google_openapi_SOURCES = $(REQUEST_SOURCES) $(SOURCES_google)
tests_requests_request_google_openapi_CPPFLAGS = $(TESTKIT_CPPFLAGS) -DPLUGIN=provider_google -DGOLDEN='"google_openapi"' \
	-DOWN='"google"' -DOPTIONS='{CHELA_LIT("tool_schema"),CHELA_LIT("openapi")}'
tests_requests_request_google_openapi_LDADD = $(TESTKIT_LIBS)
tests_requests_request_mistral_SOURCES = $(REQUEST_SOURCES) $(SOURCES_mistral)
tests_requests_request_mistral_CPPFLAGS = $(TESTKIT_CPPFLAGS) -DPLUGIN=provider_mistral -DGOLDEN='"mistral"' \
	-DOWN='"mistral"'
tests_requests_request_mistral_LDADD = $(TESTKIT_LIBS)
tests_requests_request_ollama_SOURCES = $(REQUEST_SOURCES) $(SOURCES_ollama)
tests_requests_request_ollama_CPPFLAGS = $(TESTKIT_CPPFLAGS) -DPLUGIN=provider_ollama -DGOLDEN='"ollama"' \
	-DOWN='"ollama"'
tests_requests_request_ollama_LDADD = $(TESTKIT_LIBS)
tests_requests_request_llamacpp_SOURCES = $(REQUEST_SOURCES) $(SOURCES_llama_cpp)
tests_requests_request_llamacpp_CPPFLAGS = $(TESTKIT_CPPFLAGS) -DPLUGIN=provider_llama_cpp -DGOLDEN='"llamacpp"' \
	-DOWN='"llama.cpp"'
tests_requests_request_llamacpp_LDADD = $(TESTKIT_LIBS)
tests_requests_request_deepseek_SOURCES = $(tests_requests_request_openai_SOURCES)
tests_requests_request_deepseek_CPPFLAGS = $(TESTKIT_CPPFLAGS) -DPLUGIN=provider_openai -DGOLDEN='"deepseek"' \
	-DOWN='"openai"' -DOPTIONS='{CHELA_LIT("preset"),CHELA_LIT("deepseek")}'
tests_requests_request_deepseek_LDADD = $(TESTKIT_LIBS)

# Model lists and embeddings of each (service_test.c).
SERVICE_SOURCES = tests/requests/service_test.c $(KIT_SOURCES)
plugin_tests += tests/requests/service_anthropic \
	tests/requests/service_openai \
	tests/requests/service_deepseek \
	tests/requests/service_openai_responses \
	tests/requests/service_google \
	tests/requests/service_mistral \
	tests/requests/service_ollama \
	tests/requests/service_llamacpp
tests_requests_service_anthropic_SOURCES = $(SERVICE_SOURCES) $(SOURCES_anthropic)
tests_requests_service_anthropic_CPPFLAGS = $(TESTKIT_CPPFLAGS) -DPLUGIN=provider_anthropic -DSERVICE='"anthropic"'
tests_requests_service_anthropic_LDADD = $(TESTKIT_LIBS)
tests_requests_service_openai_SOURCES = $(SERVICE_SOURCES) $(SOURCES_openai)
tests_requests_service_openai_CPPFLAGS = $(TESTKIT_CPPFLAGS) -DPLUGIN=provider_openai -DSERVICE='"openai"'
tests_requests_service_openai_LDADD = $(TESTKIT_LIBS)
tests_requests_service_deepseek_SOURCES = $(SERVICE_SOURCES) $(SOURCES_openai)
tests_requests_service_deepseek_CPPFLAGS = $(TESTKIT_CPPFLAGS) -DPLUGIN=provider_openai -DSERVICE='"deepseek"'
tests_requests_service_deepseek_LDADD = $(TESTKIT_LIBS)
tests_requests_service_openai_responses_SOURCES = $(SERVICE_SOURCES) $(SOURCES_openai_responses)
tests_requests_service_openai_responses_CPPFLAGS = $(TESTKIT_CPPFLAGS) -DPLUGIN=provider_openai_responses -DSERVICE='"openai-responses"'
tests_requests_service_openai_responses_LDADD = $(TESTKIT_LIBS)
tests_requests_service_google_SOURCES = $(SERVICE_SOURCES) $(SOURCES_google)
tests_requests_service_google_CPPFLAGS = $(TESTKIT_CPPFLAGS) -DPLUGIN=provider_google -DSERVICE='"google"'
tests_requests_service_google_LDADD = $(TESTKIT_LIBS)
tests_requests_service_mistral_SOURCES = $(SERVICE_SOURCES) $(SOURCES_mistral)
tests_requests_service_mistral_CPPFLAGS = $(TESTKIT_CPPFLAGS) -DPLUGIN=provider_mistral -DSERVICE='"mistral"'
tests_requests_service_mistral_LDADD = $(TESTKIT_LIBS)
tests_requests_service_ollama_SOURCES = $(SERVICE_SOURCES) $(SOURCES_ollama)
tests_requests_service_ollama_CPPFLAGS = $(TESTKIT_CPPFLAGS) -DPLUGIN=provider_ollama -DSERVICE='"ollama"'
tests_requests_service_ollama_LDADD = $(TESTKIT_LIBS)
tests_requests_service_llamacpp_SOURCES = $(SERVICE_SOURCES) $(SOURCES_llama_cpp)
tests_requests_service_llamacpp_CPPFLAGS = $(TESTKIT_CPPFLAGS) -DPLUGIN=provider_llama_cpp -DSERVICE='"llama.cpp"'
tests_requests_service_llamacpp_LDADD = $(TESTKIT_LIBS)

# What a provider knows of single models.
MODEL_SOURCES = tests/requests/model_test.c $(KIT_SOURCES)
plugin_tests += tests/requests/model_anthropic \
	tests/requests/model_openai \
	tests/requests/model_openai_responses \
	tests/requests/model_google \
	tests/requests/model_mistral
tests_requests_model_anthropic_SOURCES = $(MODEL_SOURCES) $(SOURCES_anthropic)
tests_requests_model_anthropic_CPPFLAGS = $(TESTKIT_CPPFLAGS) -DPLUGIN=provider_anthropic -DSERVICE='"anthropic"'
tests_requests_model_anthropic_LDADD = $(TESTKIT_LIBS)
tests_requests_model_openai_SOURCES = $(MODEL_SOURCES) $(SOURCES_openai)
tests_requests_model_openai_CPPFLAGS = $(TESTKIT_CPPFLAGS) -DPLUGIN=provider_openai -DSERVICE='"openai"'
tests_requests_model_openai_LDADD = $(TESTKIT_LIBS)
tests_requests_model_openai_responses_SOURCES = $(MODEL_SOURCES) $(SOURCES_openai_responses)
tests_requests_model_openai_responses_CPPFLAGS = $(TESTKIT_CPPFLAGS) -DPLUGIN=provider_openai_responses -DSERVICE='"openai-responses"'
tests_requests_model_openai_responses_LDADD = $(TESTKIT_LIBS)
tests_requests_model_google_SOURCES = $(MODEL_SOURCES) $(SOURCES_google)
tests_requests_model_google_CPPFLAGS = $(TESTKIT_CPPFLAGS) -DPLUGIN=provider_google -DSERVICE='"google"'
tests_requests_model_google_LDADD = $(TESTKIT_LIBS)
tests_requests_model_mistral_SOURCES = $(MODEL_SOURCES) $(SOURCES_mistral)
tests_requests_model_mistral_CPPFLAGS = $(TESTKIT_CPPFLAGS) -DPLUGIN=provider_mistral -DSERVICE='"mistral"'
tests_requests_model_mistral_LDADD = $(TESTKIT_LIBS)
