# bash completion for chela: subcommands and options by its own help, sessions and models by the running gateway.
# Silent when there is no gateway.

_chela() {
    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} words=
    COMPREPLY=()
    case $previous in
    --session | -s) words=$(chela sessions list --keys 2>/dev/null) ;;
    --model | probe) words=$(chela models --names 2>/dev/null) ;;
    --config | -c | check | info | trust)
        mapfile -t COMPREPLY < <(compgen -f -- "$current")
        return
        ;;
    --by) words="channel day model provider sender session" ;;
    export | reset | delete) words=$(chela sessions list --keys 2>/dev/null) ;;
    set)
        case ${COMP_WORDS[1]} in
        models) words=$(chela models --names 2>/dev/null) ;;
        *) words=$(chela sessions list --keys 2>/dev/null) ;;
        esac
        ;;
    allow-once | allow-always | deny)
        words=$(chela approvals list --json 2>/dev/null | grep -oE '"id":"[^"]*"' | cut -d '"' -f 4)
        ;;
    chela)
        words=$(chela help --commands 2>/dev/null)
        words=${words:-agent allowlist approvals audit channels chat config cron dashboard devices doctor gateway health help import logs mcp memory message models onboard pairing plugin reload route sessions skills status tools trace trust usage version}
        ;;
    *)
        case ${COMP_WORDS[1]} in
        config) words="check path show" ;;
        plugin) words="check info list options" ;;
        models) words="list probe set" ;;
        route) words="explain" ;;
        sessions) words="delete export list reset set" ;;
        allowlist) words="add list remove" ;;
        tools) words="explain list" ;;
        cron) words="add disable enable list remove run runs show" ;;
        approvals) words="allow-always allow-once deny list" ;;
        channels) words="list login logout status" ;;
        devices) words="approve list reject remove revoke rotate" ;;
        pairing) words="approve list revoke" ;;
        message) words="send" ;;
        help) words=$(chela help --commands 2>/dev/null) ;;
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
