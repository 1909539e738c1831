# Configuration, units, completion.

systemdsystemunit_DATA = etc/chela.service
systemduserunitdir = $(prefix)/lib/systemd/user
sysusersdir = $(prefix)/lib/sysusers.d
tmpfilesdir = $(prefix)/lib/tmpfiles.d
completiondir = $(datadir)/bash-completion/completions
CLEANFILES += etc/chela.service etc/chela-user.service

etc/%.service: etc/%.service.in Makefile
	$(AM_V_GEN)$(MKDIR_P) etc && $(SED) 's|@chelaexecdir[@]|$(chelaexecdir)|g' $(top_srcdir)/etc/$*.service.in >$@
all-local: etc/chela-user.service

# Under the names that systemd and bash expect. An admin's chela.conf is never written over.
install-data-local: etc/chela-user.service
	$(MKDIR_P) $(DESTDIR)$(systemduserunitdir) $(DESTDIR)$(sysusersdir) $(DESTDIR)$(tmpfilesdir) \
	  $(DESTDIR)$(completiondir) $(DESTDIR)$(chelaconfdir)/plugins-enabled $(DESTDIR)$(chelaconfdir)/conf.d
	$(INSTALL_DATA) etc/chela-user.service $(DESTDIR)$(systemduserunitdir)/chela.service
	$(INSTALL_DATA) $(top_srcdir)/etc/sysusers.conf $(DESTDIR)$(sysusersdir)/chela.conf
	$(INSTALL_DATA) $(top_srcdir)/etc/tmpfiles.conf $(DESTDIR)$(tmpfilesdir)/chela.conf
	$(MKDIR_P) $(DESTDIR)$(docdir)/examples
	$(INSTALL_DATA) $(top_srcdir)/etc/nginx.conf $(top_srcdir)/etc/Caddyfile $(DESTDIR)$(docdir)/examples
	$(INSTALL_DATA) $(top_srcdir)/etc/completion.bash $(DESTDIR)$(completiondir)/chela
	test ! -f $(top_srcdir)/etc/chela.conf || test -f $(DESTDIR)$(chelaconfdir)/chela.conf || \
	  $(INSTALL_DATA) $(top_srcdir)/etc/chela.conf $(DESTDIR)$(chelaconfdir)/chela.conf
uninstall-local:
	rm -f $(DESTDIR)$(systemduserunitdir)/chela.service $(DESTDIR)$(sysusersdir)/chela.conf \
	  $(DESTDIR)$(tmpfilesdir)/chela.conf $(DESTDIR)$(completiondir)/chela \
	  $(DESTDIR)$(docdir)/examples/nginx.conf $(DESTDIR)$(docdir)/examples/Caddyfile
	! cmp -s $(top_srcdir)/etc/chela.conf $(DESTDIR)$(chelaconfdir)/chela.conf || \
	  rm -f $(DESTDIR)$(chelaconfdir)/chela.conf
	-rmdir $(DESTDIR)$(chelaconfdir)/plugins-enabled $(DESTDIR)$(chelaconfdir)/conf.d 2>/dev/null
