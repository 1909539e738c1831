#!/bin/bash
# The C in doc/plugin-guide.md compiles: each block's functions as they are, its other lines as the body of one.
. "${CHELA_TEST_SRCDIR:-$(dirname "$0")/../..}/tests/lib/tap.sh"

compiler=${CHELA_TEST_CC:-cc}
command -v "${compiler%% *}" >/dev/null || skip_all "no compiler"

# Writes block-N.c for each fenced block of C.
awk -v folder="$tmp" '
    function finish() {
        file = folder "/block-" ++blocks ".c"
        print "#include <chela/chela.h>\n#include <stdlib.h>\n#include <string.h>" > file
        if (kit) {
            print "#include <testkit/kit.h>\n#define assert_int_equal(a, b) (void)((a) == (b))" > file
            print "extern const struct chela_plugin tool_dice_LTX_chela_plugin;" > file
            print "extern const struct chela_pair options[];" > file
        }
        # what stands for the reader'"'"'s own
        print "extern const char *body; extern size_t length; extern uint64_t seconds;" > file
        print "extern struct chela_str id_of_the_event, where, who, what;" > file
        printf "%s", outside > file
        print "void statements(struct chela_inst *in, const struct chela_begin *b, const struct chela_arg *a);" > file
        print "void statements(struct chela_inst *in, const struct chela_begin *b, const struct chela_arg *a)\n{" > file
        print "(void)in; (void)b; (void)a;" > file
        printf "%s}\n", inside > file
        close(file)
    }
    /^```c$/ { block = 1; outside = inside = ""; depth = declares = kit = 0; next }
    /^```$/ && block { finish(); block = 0; next }
    !block { next }
    {
        if (depth == 0 && !declares) declares = /^(static|(struct|enum) [a-z_]* ?[{]|CHELA_PLUGIN|#include|int main)/
        if (/kit_/) kit = 1
        line = $0
        gsub(/"([^"\\]|\\.)*"/, "", line)
        sub(/\/\*.*\*\//, "", line)
        depth += gsub(/{/, "{", line) - gsub(/}/, "}", line)
        if (declares) outside = outside $0 "\n"; else inside = inside $0 "\n"
        if (declares && depth == 0 && line ~ /[;}][ \t]*$/) declares = 0
    }' "$top/doc/plugin-guide.md"

count=0
for file in "$tmp"/block-*.c; do
    [ -e "$file" ] || break
    count=$((count + 1))
    ok "$compiler" -std=c11 -Wall -Wextra -Werror -Wno-unused-function -Wno-unused-variable -Wno-unused-const-variable \
        -I"$top/sdk/include" -I"$top/sdk" -fsyntax-only "$file" -- "block $count of the guide compiles" || sed 's/^/# /' "$file"
done
ok test "$count" -ge 6 -- "there are blocks to compile"
done_testing
