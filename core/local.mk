# The core: one convenience library for each folder, bottom to top, and the three programs. The sources of a folder
# are found by m4/fragments.sh; its local.mk holds what else it needs.

noinst_LIBRARIES += core/libbase.a core/libhost.a core/libnet.a core/libproc.a core/libagent.a \
	core/libgateway.a core/libcli.a
core_libbase_a_SOURCES =
core_libhost_a_SOURCES =
core_libnet_a_SOURCES =
core_libproc_a_SOURCES =
core_libagent_a_SOURCES =
core_libgateway_a_SOURCES =
core_libcli_a_SOURCES =

# folders that are compiled into the programs; only base/paths.c needs them
core_libbase_a_CPPFLAGS = $(AM_CPPFLAGS) -DCHELA_PLUGIN_DIR='"$(plugindir)"' \
	-DCHELA_LIBEXEC_DIR='"$(chelaexecdir)"' -DCHELA_CONF_DIR='"$(chelaconfdir)"' \
	-DCHELA_DATA_DIR='"$(pkgdatadir)"'

# what each program links; `chela` starts in milliseconds because it links little
CLIENT_LIBS = core/libcli.a core/libbase.a sdk/support/libsupport.la $(JSONC_LIBS) $(CONFIG_LIBS) \
	$(WSLAY_LIBS) $(MD4C_LIBS) $(CRYPTO_LIBS)
CHILD_LIBS = core/libhost.a core/libbase.a sdk/wire/libwire.la sdk/support/libsupport.la $(UV_LIBS) \
	$(LTDL_LIBS) $(JSONC_LIBS) $(CONFIG_LIBS) $(CRYPTO_LIBS)
DAEMON_LIBS = core/libgateway.a core/libagent.a core/libnet.a core/libproc.a core/libhost.a core/libbase.a \
	sdk/wire/libwire.la sdk/support/libsupport.la $(UV_LIBS) $(MICROHTTPD_LIBS) $(WSLAY_LIBS) $(CURL_LIBS) \
	$(CRYPTO_LIBS) $(JSONC_LIBS) $(CONFIG_LIBS) $(MD4C_LIBS) $(PCRE2_LIBS) $(LTDL_LIBS)

# Built-in plugins: the objects of one, joined into a single object that keeps one global name, so that helpers of
# the same name in two plugins do not meet. table.c is libltdl's own list of what is preloaded (libtool's -dlpreopen
# would write the same one, but exports the program's symbols with it); without built-in plugins it is empty.
BUILTIN_ARCHIVES = $(CHELA_BUILTINS:%=plugins/builtin/%.a)
BUILTIN_LIBS = plugins/builtin/libtable.a $(BUILTIN_ARCHIVES) \
	$(foreach p,$(CHELA_BUILTINS),$(filter-out %.la,$(plugins_$(p)_la_LIBADD)))
builtin_objects = $(foreach o,$(plugins_$*_la_OBJECTS),$(dir $(o)).libs/$(notdir $(o:.lo=.o)))
builtin_convenience = $(foreach l,$(filter %.la,$(plugins_$*_la_LIBADD)),$(dir $(l)).libs/$(notdir $(l:.la=.a)))
plugins/builtin/%.a: plugins/%.la
	$(AM_V_GEN)$(MKDIR_P) plugins/builtin && rm -f $@ && \
	$(LD) -r -o plugins/builtin/$*.o $(builtin_objects) $(builtin_convenience) && \
	$(OBJCOPY) --keep-global-symbol=$*_LTX_chela_plugin plugins/builtin/$*.o && \
	$(AR) cr $@ plugins/builtin/$*.o

noinst_LIBRARIES += plugins/builtin/libtable.a
nodist_plugins_builtin_libtable_a_SOURCES = plugins/builtin/table.c
plugins/builtin/table.c: Makefile
	$(AM_V_GEN)$(MKDIR_P) plugins/builtin && { \
	echo '#include <ltdl.h>'; \
	for p in $(CHELA_BUILTINS); do echo "extern char $${p}_LTX_chela_plugin;"; done; \
	echo 'extern const lt_dlsymlist lt__PROGRAM__LTX_preloaded_symbols[];'; \
	echo 'const lt_dlsymlist lt__PROGRAM__LTX_preloaded_symbols[] = {'; \
	echo '    {"@PROGRAM@", 0},'; \
	for p in $(CHELA_BUILTINS); do \
	  printf '    {"%s.a", 0},\n    {"%s_LTX_chela_plugin", &%s_LTX_chela_plugin},\n' $$p $$p $$p; \
	done; \
	echo '    {0, 0},'; echo '};'; } >$@
clean-local: clean-builtin
clean-builtin:
	rm -rf plugins/builtin

