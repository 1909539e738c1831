# bash completion for chela: subcommands and options by its own help, sessions and models by the running gateway.
# Silent when there is no gateway.

_chela() {
    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} words=
    COMPREPLY=()
    case $previous in
    --session) words=$(chela sessions list --keys 2>/dev/null) ;;
    --model) words=$(chela models --names 2>/dev/null) ;;
    --config | --log-file)
        mapfile -t COMPREPLY < <(compgen -f -- "$current")
        return
        ;;
    chela)
        words=$(chela help --commands 2>/dev/null)
        words=${words:-agent approvals chat config doctor gateway help plugin reload sessions status trace trust version}
        ;;
    *)
        case ${COMP_WORDS[1]} in
        config) words="check show" ;;
        plugin) words="check list options" ;;
        sessions) words="export list set show" ;;
        approvals) words="approve deny list" ;;
        *) ;;
        esac
        if [[ $current == -* ]]; then
            words=$(chela "${COMP_WORDS[1]}" --help 2>/dev/null | grep -oE -- '--[a-z][a-z-]*' | sort -u)
        fi
        ;;
    esac
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}
complete -F _chela chela
