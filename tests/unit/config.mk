# Tests of the configuration, the options, the loader and the registry.
unit_tests += tests/unit/doctor_test tests/unit/examples_test tests/unit/settings_manual_test tests/unit/options_test tests/unit/settings_test tests/unit/settings_mistakes_test

# Plugins that must be refused (tests/plugin/bad/bad.c, one for each name), and two that are built into the test.
BAD_PLUGINS = $(addprefix tests/plugin/bad/,$(addsuffix .so,good_plain good_older good_newer bad_constructor \
	bad_symbol bad_magic bad_major bad_short bad_need bad_undefined bad_null bad_utf8 bad_name bad_no_iface \
	bad_null_ifaces bad_iface_size bad_type bad_type_null bad_type_twice bad_role bad_table bad_option_size \
	bad_option_type bad_option_name bad_option_twice bad_option_own bad_option_items))
TWINS = tests/plugin/bad/tool_twin_a.o tests/plugin/bad/tool_twin_b.o
BAD_COMPILE = $(CC) $(PLUGIN_CPPFLAGS) $(CHELA_CFLAGS) $(CFLAGS) -fPIC -DMODULE=$(*F) -DBAD_$(*F)
tests/plugin/bad/%.so: tests/plugin/bad/bad.c $(chelainclude_HEADERS)
	$(AM_V_CC)$(MKDIR_P) $(@D) && $(BAD_COMPILE) $(SANITIZE) -shared -o $@ $<
tests/plugin/bad/tool_twin_%.o: tests/plugin/bad/twin.c tests/plugin/bad/twin_helper.c
	$(AM_V_CC)$(MKDIR_P) $(@D) && for s in twin twin_helper; do \
	$(CC) $(PLUGIN_CPPFLAGS) $(CHELA_CFLAGS) $(CFLAGS) -fPIC -DMODULE=tool_twin_$* -DTWIN="'$*'" -c \
	  -o $(@D)/$$s.$*.part.o $(srcdir)/tests/plugin/bad/$$s.c || exit 1; done && \
	$(LD) -r -o $@ $(@D)/twin.$*.part.o $(@D)/twin_helper.$*.part.o && \
	$(OBJCOPY) --keep-global-symbol=tool_twin_$*_LTX_chela_plugin $@

unit_tests += tests/unit/module_test
tests_unit_module_test_LDADD = $(TEST_LIBS) $(TWINS)
EXTRA_tests_unit_module_test_DEPENDENCIES = $(BAD_PLUGINS) $(TWINS)
CLEANFILES += $(BAD_PLUGINS) $(TWINS) tests/plugin/bad/*.part.o

# A plugin for the registry's tests.
tests/plugin/life/tool_life.so: tests/plugin/life/tool_life.c $(chelainclude_HEADERS)
	$(AM_V_CC)$(MKDIR_P) $(@D) && $(CC) $(PLUGIN_CPPFLAGS) $(CHELA_CFLAGS) $(CFLAGS) -fPIC $(SANITIZE) -shared -o $@ $<
unit_tests += tests/unit/registry_test
EXTRA_tests_unit_registry_test_DEPENDENCIES = tests/plugin/life/tool_life.so chela-child$(EXEEXT)
CLEANFILES += tests/plugin/life/tool_life.so
