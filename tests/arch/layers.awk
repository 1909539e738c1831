# layers.awk: reads layers.txt, then the facts (is, has, needs, sees) that layers_test.sh collected; prints TAP.

function starts(path, prefix) { return substr(path, 1, length(prefix)) == prefix }

function expand(text,    words, n, i, result) {
    n = split(text, words, " ")
    for (i = 1; i <= n; i++)
        result = result " " (words[i] ~ /^@/ ? sets[substr(words[i], 2)] : words[i])
    return result
}

function is_client(path) { return starts(path, "core/cli/") || starts(path, "core/main_client") }

function any(path, prefixes,    words, n, i) {
    n = split(prefixes, words, " ")
    for (i = 1; i <= n; i++)
        if (starts(path, words[i]))
            return 1
    return 0
}

# the row that a file belongs to: the longest prefix, which ends at a border of a name
function row(file,    i, best, next_letter) {
    if (file in row_of)
        return row_of[file]
    best = ""
    for (i = 1; i <= rows; i++) {
        next_letter = substr(file, length(who[i]) + 1, 1)
        if (starts(file, who[i]) && (who[i] !~ /[a-z0-9]$/ || next_letter !~ /[a-z0-9]/) && length(who[i]) > length(best))
            best = who[i]
    }
    # each plugin is a world of its own
    if (best == "plugins")
        best = substr(file, 1, index(substr(file, 9), "/") + 7)
    return row_of[file] = best
}

function complain(rule, text) {
    if (!((rule, text) in said)) {
        said[rule, text] = 1
        bad[rule] = bad[rule] "#   " text "\n"
    }
}

function edge(from, to, how,    r) {
    r = row(from)
    if (r == "" || r == row(to))
        return
    if (!any(to, may[starts(r, "plugins/") ? "plugins" : r]))
        complain("row " (starts(r, "plugins/") ? "plugins" : r), from " uses " to " (" how ")")
}

NR == FNR {
    sub(/^#.*/, "")
    if ($0 !~ /[^ ]/)
        next
    split($0, part, / : /)
    kind = part[1]
    sub(/ .*/, "", kind)
    sub(/^[a-z]+ +/, "", part[1])
    if (kind == "set") {
        sets[part[1]] = expand(part[2])
    } else if (part[3] == "") {
        complain("every row gives its reason", $0)
    } else if (kind == "who") {
        who[++rows] = part[1]
        may[part[1]] = expand(part[2])
        rule["row " part[1]] = ++rules
        name[rules] = "row " part[1]
    } else if (kind == "library") {
        library[part[1]] = part[2]
        rule["library " part[1]] = ++rules
        name[rules] = "library " part[1]
    } else if (kind == "symbol") {
        n = split(part[1], words, " ")
        for (i = 1; i <= n; i++) {
            symbol[words[i]] = part[2]
            symbol_rule[words[i]] = "symbols " part[1]
        }
        rule["symbols " part[1]] = ++rules
        name[rules] = "symbols " part[1]
    } else {
        complain("every row is understood", $0)
    }
    next
}

$1 == "is" { if (row($2) == "") complain("every file has a row", $2); next }
# the client, the daemon and each plugin are of their own: a name may stand in several
$1 == "has" {
    if (is_client($2))
        client_home[$3] = $2
    else if (!starts($2, "plugins/") && (!($3 in home) || !starts($2, "core/main_")))
        home[$3] = $2
    next
}
$1 == "needs" { need_file[++needs] = $2; need_symbol[needs] = $3; next }
$1 == "sees" {
    if ($3 !~ /^\//) {
        edge($2, $3, "header")
    } else {
        for (l in library)
            if (index($3, "/include/" l) || index($3, "-linux-gnu/" l))
                if (!any($2, library[l]))
                    complain("library " l, $2)
    }
}

END {
    name[++rules] = "every file has a row"
    name[++rules] = "every row gives its reason"
    name[++rules] = "every row is understood"
    name[++rules] = "there are files to look at"
    if (needs == 0)
        bad["there are files to look at"] = "#   none\n"
    for (i = 1; i <= needs; i++) {
        s = need_symbol[i]
        if (s in symbol && !any(need_file[i], symbol[s]))
            complain(symbol_rule[s], need_file[i] " calls " s)
        if (is_client(need_file[i]) && s in client_home)
            edge(need_file[i], client_home[s], s)
        else if (s in home && !starts(need_file[i], "plugins/"))
            edge(need_file[i], home[s], s)
    }
    print "1.." rules
    for (i = 1; i <= rules; i++) {
        printf "%s %d - %s\n", (name[i] in bad) ? "not ok" : "ok", i, name[i]
        if (name[i] in bad)
            printf "%s", bad[name[i]]
    }
}
