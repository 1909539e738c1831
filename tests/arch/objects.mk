# Compiles what is under test plainly (-O0, no sanitizer, no built-in functions), for layers_test.sh:
#   make -f tests/arch/objects.mk OUT=FOLDER FLAGS=... CC=...
CORE := $(shell find core sdk/support sdk/wire -name '*.c')
PLUGINS := $(shell find plugins -name '*.c' ! -name '*_test.c')
PLAIN = $(CC) -std=c11 -Isdk/include -Isdk $(FLAGS) -U_FORTIFY_SOURCE -O0 -fno-builtin -w -MD -MP -c
FOLDERS = -DCHELA_PLUGIN_DIR='""' -DCHELA_LIBEXEC_DIR='""' -DCHELA_CONF_DIR='""' -DCHELA_DATA_DIR='""' -DCHELA_SKILLS_DIR='""' -DCHELA_LIBXML2='""' \
	-DWWW_DIR='"plugins/channel_webchat/www"'

all: $(CORE:%.c=$(OUT)/%.o) $(PLUGINS:%.c=$(OUT)/%.o)
# what is gone from the tree must not be looked at
	@find $(OUT) -name '*.o' | sed 's|^$(OUT)/\(.*\)o$$|\1c|' | while read -r f; do \
	  test -f "$$f" || rm -f "$(OUT)/$${f%c}o" "$(OUT)/$${f%c}d"; done
$(PLUGINS:%.c=$(OUT)/%.o): $(OUT)/%.o: %.c
	@mkdir -p $(dir $@) && $(PLAIN) $(FOLDERS) -o $@ $<
$(CORE:%.c=$(OUT)/%.o): $(OUT)/%.o: %.c
	@mkdir -p $(dir $@) && $(PLAIN) -Icore -DCHELA_FAULT_POINTS $(FOLDERS) -o $@ $<
-include $(CORE:%.c=$(OUT)/%.d) $(PLUGINS:%.c=$(OUT)/%.d)
