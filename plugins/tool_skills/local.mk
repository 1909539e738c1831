# Skills: folders with a SKILL.md.
skillsdir = $(datadir)/chela/skills
plugin_LTLIBRARIES += %D%.la
skills_sources = %D%/publish.c %D%/run.c %D%/skill.c %D%/skill.h %D%/skills.h %D%/tool_skills.c %D%/yaml.c
%C%_la_SOURCES = $(skills_sources)
%C%_la_CPPFLAGS = $(PLUGIN_CPPFLAGS) $(YAML_CFLAGS) -DCHELA_SKILLS_DIR='"$(skillsdir)"'
%C%_la_CFLAGS = $(PLUGIN_CFLAGS)
%C%_la_LDFLAGS = $(PLUGIN_LINKFLAGS)
%C%_la_LIBADD = $(PLUGIN_LIBS) $(YAML_LIBS)

pluginconf_DATA += %D%/tool_skills.conf
skillweatherdir = $(skillsdir)/weather
skillweather_DATA = %D%/skills/weather/SKILL.md

plugin_tests += %D%/skills_test
%C%_skills_test_SOURCES = %D%/skills_test.c $(skills_sources) sdk/testkit/kit.c sdk/testkit/kit_host.c sdk/testkit/kit_trace.c
%C%_skills_test_CPPFLAGS = $(TESTKIT_CPPFLAGS) $(YAML_CFLAGS) -DCHELA_SKILLS_DIR='"$(skillsdir)"'
%C%_skills_test_LDADD = $(TESTKIT_LIBS) $(YAML_LIBS)
