# The test suite: automake's parallel harness, every program and script speaking TAP. Areas append in fragments of
# their own (tests/unit/<area>.mk, tests/<folder>/local.mk, a plugin's local.mk); CONTRIBUTING.md shows how.
#   unit_tests    cmocka programs, fast (make check-quick)        plugin_tests  cmocka programs beside a plugin
#   e2e_tests     tests/e2e/*.sh against the built programs       arch_tests    rules of the tree, lint
#   long_tests    not part of make check (make check-long)
#   tsan_tests    those of them that are worth a run under ThreadSanitizer

TEST_LIBS = $(DAEMON_LIBS) core/libcli.a core/libbase.a $(CMOCKA_LIBS)
TESTKIT_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/sdk/testkit $(CMOCKA_CFLAGS)
TESTKIT_LIBS = sdk/wire/libwire.la sdk/support/libsupport.la $(JSONC_LIBS) $(CMOCKA_LIBS)
# what a test program links when its fragment says nothing else
LDADD = $(TEST_LIBS)

if HAVE_CMOCKA
check_PROGRAMS += $(unit_tests) $(plugin_tests)
TESTS = $(unit_tests) $(plugin_tests) $(e2e_tests) $(arch_tests)
else
TESTS = $(e2e_tests) $(arch_tests)
endif

TEST_EXTENSIONS = .sh
TAP_DRIVER = env AM_TAP_AWK='$(AWK)' $(SHELL) $(top_srcdir)/build-aux/tap-driver.sh
LOG_DRIVER = $(TAP_DRIVER)
LOG_COMPILER = $(BASH) $(top_srcdir)/tests/lib/cmocka-tap
SH_LOG_DRIVER = $(TAP_DRIVER)
SH_LOG_COMPILER = $(BASH)

# Tests find the tree by these; nothing is taken from the user's own configuration.
AM_TESTS_ENVIRONMENT = \
	CMOCKA_MESSAGE_OUTPUT=TAP; export CMOCKA_MESSAGE_OUTPUT; \
	CHELA_TEST_SRCDIR='$(abs_top_srcdir)'; export CHELA_TEST_SRCDIR; \
	CHELA_TEST_BUILDDIR='$(abs_top_builddir)'; export CHELA_TEST_BUILDDIR; \
	CHELA_TEST_BUILTINS='$(CHELA_BUILTINS)'; export CHELA_TEST_BUILTINS; \
	CHELA_TEST_PLUGINS='$(CHELA_PLUGINS)'; export CHELA_TEST_PLUGINS; \
	CHELA_TEST_SANITIZER='$(CHELA_SANITIZER)'; export CHELA_TEST_SANITIZER; \
	CC='$(CC)'; export CC; \
	CHELA_TEST_FLAGS='$(ARCH_FLAGS)'; export CHELA_TEST_FLAGS; \
	ASAN_OPTIONS="detect_stack_use_after_return=1:strict_string_checks=1$${ASAN_OPTIONS:+:$$ASAN_OPTIONS}"; \
	export ASAN_OPTIONS; \
	UBSAN_OPTIONS="print_stacktrace=1$${UBSAN_OPTIONS:+:$$UBSAN_OPTIONS}"; export UBSAN_OPTIONS; \
	TZ=UTC; export TZ; LC_ALL=C.UTF-8; export LC_ALL;

arch_tests += tests/arch/layers_test.sh tests/arch/lint_test.sh tests/arch/modules_test.sh

clean-local: clean-arch
clean-arch:
	rm -rf arch-objects

.PHONY: clean-arch check-quick check-long check-arch lint bench check-abi print-arch-flags
# for tests/arch, which compiles on its own
ARCH_FLAGS = $(CHELA_CPPFLAGS) -I$(abs_builddir) $(JSONC_CFLAGS) $(CONFIG_CFLAGS) $(UV_CFLAGS) \
	$(MICROHTTPD_CFLAGS) $(CURL_CFLAGS) $(CRYPTO_CFLAGS) $(MD4C_CFLAGS) $(PCRE2_CFLAGS) \
	$(XML_CFLAGS) $(YAML_CFLAGS) $(VTERM_CFLAGS)
print-arch-flags:
	@echo '$(ARCH_FLAGS)'
check-quick: all
	$(MAKE) $(AM_MAKEFLAGS) check TESTS='$(unit_tests)'
check-long: all
	$(MAKE) $(AM_MAKEFLAGS) check TESTS='$(long_tests)'
check-arch: all
	$(MAKE) $(AM_MAKEFLAGS) check TESTS='$(arch_tests)'
bench: all
	$(BASH) $(top_srcdir)/tests/bench/run $(abs_top_builddir)
check-abi: all
	$(BASH) $(top_srcdir)/tests/abi/check $(abs_top_builddir)
lint:
	CHELA_TEST_SRCDIR='$(abs_top_srcdir)' $(BASH) $(top_srcdir)/tests/arch/lint_test.sh
