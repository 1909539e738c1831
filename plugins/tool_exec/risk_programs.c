/*
 * What is known about programs, a line for each: data, in the syntax of risk_table.c. An admin's
 * lines of the same name replace these. When in doubt a program is left out, and with that it is
 * high.
 */
#include "risk_programs.h"

#include <stddef.h>

/* clang-format off */
const char *const risk_programs[] = {
    /* Reading and asking */
    "ls,dir,vdir,cat,head,tail,wc,nl,tac,rev,cut,paste,tr,comm,cmp,diff,join,fold,fmt,expand,unexpand,column,"
    "look,tsort,numfmt low",
    "stat,du,df,basename,dirname,realpath,readlink,seq,factor,expr,id,whoami,who,w,groups,logname,users,uname,"
    "uptime,free,nproc,arch low",
    "lscpu,lsblk,lsusb,lspci,lsmod,ps,pgrep,pidof,pstree,tty,locale,getent,printenv,cal,lsof,netstat,vmstat,"
    "iostat,sensors low",
    "md5sum,sha1sum,sha224sum,sha256sum,sha384sum,sha512sum,b2sum,cksum,sum,od,hexdump,strings,base64,base32,"
    "zcat,bzcat,xzcat,zstdcat,zgrep low",
    "grep,egrep,fgrep,jq,bc,sleep,which,whereis,sync,clear,readelf low",
    "nm,size,objdump low high=--plugin",
    "ldd high -- may run the program that it looks at",
    "uniq low value=-f,-s,-w most=1",
    "xxd low value=-l,-s,-c,-g,-o,-n most=1",
    "rg low high=--pre,--hostname-bin",
    "ag,ack high alone=--version -- may run a pager of somebody's choice",
    "sort low medium=-o,--output high=--compress-program value=-k,-t,-S,-T,--key,--field-separator,"
    "--buffer-size,--parallel paths=all",
    "shuf low medium=-o,--output value=-n,-i paths=all",
    "tree low medium=-o,-R value=-L,-P,-I,-H,-T paths=all",
    "file low medium=-C,--compile",
    "ss low high=-K,--kill",
    "date low high=-s,--set,0*,1*,2*,3*,4*,5*,6*,7*,8*,9* value=-d,--date,-r,--reference,-f,--file",
    "hostname low strict free=-f,-s,-i,-I,-d,-A most=0",
    "find low find high=-delete medium=-fprint,-fprint0,-fprintf,-fls value=-amin,-anewer,-atime,-cmin,-cnewer,"
    "-ctime,-gid,-group,-ilname,-iname,-inum,-ipath,-iregex,-links,-lname,-maxdepth,-mindepth,-mmin,-mtime,"
    "-name,-newer,-newerct,-newermt,-path,-perm,-printf,-regex,-regextype,-samefile,-size,-type,-uid,-used,"
    "-user,-wholename,-xtype free=-nouser,-nogroup,-empty,-depth,-d,-mount,-xdev,-follow,-L,-H,-P,-print,"
    "-print0,-ls,-prune,-quit,-and,-a,-or,-o,-not,-true,-false,-executable,-readable,-writable,-daystart,-warn,"
    "-nowarn,-noleaf,-version,--version",
    "fd,fdfind low high=-x,-X,--exec,--exec-batch",
    "sed low sed free=-n,-E,-r,-s,-u,-z,--quiet,--silent,--posix,--regexp-extended,--separate,--unbuffered,"
    "--null-data,--debug,--sandbox,--version,--help",
    "awk,gawk,mawk,nawk low awk value=-F,-v free=--version,-V",
    "yq low high=--security* medium=-i,--inplace,-s,--split-exp paths=all",
    "less,more,most,man,info,top,htop,nano,pico medium high=+*,-P,--pager,-H,--html,-o,-O,-k,-K,--lesskey*,"
    "--log-file,--LOG-FILE,-f,--rcfile,--speller paths=all -- works on the screen, where keys can do more",
    "dig,host,nslookup,whois,ping,ping6,traceroute,tracepath,mtr medium -- asks the network",

    /* Of the shell */
    "cd,pushd,popd,dirs,pwd,:,true,false,exit,return,break,continue,shift,times,type low builtin",
    "wait low builtin high=-p",
    "jobs low builtin high=-x",
    "echo medium builtin -- writes what it is given",
    "printf medium high=-v builtin -- writes what it is given",
    "test,[,[[ low test builtin",
    "command low command low=-v,-V free=-p builtin",
    "set low strict free=-e,-u,-x,-f,-eu,-ex,-eux,-ux,-euo,-eo,-euxo,+e,+u,+x value=-o builtin",
    "umask,ulimit medium builtin -- changes the limits of what follows",
    "read low names free=-r,-s builtin",
    "unset low names free=-v builtin",
    "export medium names builtin -- changes the environment",
    "eval,source,. high builtin -- runs what isn't seen here",
    "exec,getopts,trap,alias,unalias,enable,builtin,bind,complete,compgen,fc,history,hash,let,declare,typeset,"
    "local,readonly,mapfile,readarray,shopt,caller,disown,suspend,logout,fg,bg high builtin -- changes what "
    "later commands mean or run",
    "kill high builtin -- ends processes",

    /* What runs others */
    "env low env value=-u,--unset free=-i,-,-0,--null,--ignore-environment",
    "nice low wrap value=-n,--adjustment",
    "ionice low wrap value=-c,-n,--class,--classdata free=-t",
    "nohup medium wrap -- goes on when the session ends",
    "timeout low wrap:1 value=-k,-s,--kill-after,--signal free=-v,--verbose,--preserve-status,--foreground",
    "stdbuf low wrap value=-i,-o,-e,--input,--output,--error",
    "taskset low wrap:1 free=-c",
    "time low wrap free=-p,-v value=-f",
    "xargs medium xargs value=-n,-P,-L,-I,-d,-s,-a,-E,--max-args,--max-procs,--max-lines,--delimiter,"
    "--arg-file,--max-chars free=-0,-r,-t,-x,-i,--null,--no-run-if-empty,--verbose,--exit,--replace",
    "sh,bash,dash,ksh,zsh,ash,rbash high shell",
    "fish,csh,tcsh,pwsh,busybox,toybox high -- a shell that runs what isn't seen here",
    "sudo,doas,su,pkexec,runuser,sudoedit,chroot,unshare,nsenter,setpriv,capsh,gosu,su-exec high -- works with "
    "another's rights",
    "setsid,daemonize,start-stop-daemon,systemd-run,at,batch,screen,tmux,script,expect,watch,parallel,flock,"
    "entr,xdg-open,open,run-parts,dbus-send,gdb,strace,ltrace,perf high -- runs others out of sight",
    "python,python2,python3,perl,ruby,node,nodejs,deno,bun,php,lua,luajit,Rscript,R,java,julia,ghci,runghc,"
    "scala,groovy,tclsh,wish,guile,osascript,pypy,pypy3,ipython,gawk5,m4 high alone=--version,-V -- an "
    "interpreter that runs what isn't seen here",
    "npx,bunx,pipx,uvx,pnpx,dlx high -- fetches a program and runs it",
    "vim,vi,nvim,view,ex,ed,emacs,emacsclient,rvim,rview,vimdiff,ranger,mc high -- an editor that can run "
    "anything",
    "sqlite3,psql,mysql,mariadb,mongosh,mongo,redis-cli high alone=--version -- a client that can change data "
    "and run commands",

    /* Writing */
    "mkdir,touch,rmdir,unlink,link,mktemp,tee,split,csplit,ln,mkfifo,patch,gzip,gunzip,bzip2,bunzip2,xz,unxz,"
    "zstd,unzstd,compress,uncompress,dos2unix,unix2dos,setfacl,chattr medium paths=all -- writes files",
    "mv medium paths=all -- moves files",
    "cp,install medium paths=last -- copies files",
    "rm medium paths=all high=-r,-R,-f,-d,--recursive,--force,--dir,--no-preserve-root -- deletes files",
    "chmod medium paths=all high=-R,--recursive,u+s*,g+s*,ug+s*,+s*,a+s*,777,0777,a+rwx,o+w*,a+w*,4755,4711,"
    "4777,6755,2755,04*,06*,02* -- changes who may use files",
    "tar medium bundled low=t,tf,tvf,tzf,tzvf,tjf,tjvf,tJf,ztf,-t,-tf,-tvf,-tzf,-tzvf,-tjf,-tjvf,-tJf,--list "
    "high=--checkpoint-action,--to-command,-I,--use-compress-program,-F,--info-script,--new-volume-script,"
    "--rsh-command,--rmt-command,--remove-files,-P,--absolute-names,--exclude-tag-all,--recursive-unlink,"
    "--unlink-first,-U,--overwrite-dir,--checkpoint paths=all -- packs or unpacks files",
    "unzip medium low=-l,-v,-Z paths=all -- unpacks files",
    "zip medium high=-T,-TT,--unzip-command,-m,--move paths=all -- packs files",
    "ar,cpio,7z medium paths=all -- packs or unpacks files",
    "curl medium high=-K,--config,--unix-socket,--abstract-unix-socket,--engine paths=all -- reaches the "
    "network",
    "wget medium high=-e,--execute,--use-askpass,-i,--input-file paths=all -- reaches the network",
    "scp,sftp medium high=-S,-o,-F,-D,-b,-J paths=last -- copies over the network",
    "rsync medium high=-e,--rsh,--rsync-path,--del*,--remove-source-files,--files-from,--daemon,-M,"
    "--remote-option paths=last -- copies files",
    "ssh,telnet,nc,ncat,netcat,socat,ftp,tftp,rsh,rlogin,mosh,ssh-keygen,ssh-copy-id,ssh-add,ssh-agent,mail,"
    "sendmail,mutt high -- reaches another machine or its keys",

    /* Building and testing */
    "make,gmake,ninja medium high=install,uninstall,-f,--file,--makefile,--eval,SHELL= -- runs the project's "
    "own steps",
    "cmake,meson,autoconf,automake,autoreconf,libtoolize,ctest medium high=--install,install,-P,-E -- runs the "
    "project's own steps",
    "gcc,cc,g++,c++,clang,clang++,ld,as,rustc,javac,tsc,cpp medium high=-wrapper,-fplugin*,-B,-specs*,@*,-C "
    "paths=all -- compiles",
    "pytest,tox,nox,mypy,pylint,flake8,black,ruff,isort,eslint,prettier,jest,vitest,mocha,webpack,vite,rollup,"
    "rspec,phpunit,clang-format,shellcheck medium high=-p,--pdbcls,--rulesdir,--plugin,"
    "--resolve-plugins-relative-to paths=all -- runs the project's own steps",
    "cargo high sub low=--version,-V free=-v,-q,--verbose,--quiet,--offline,--locked,--frozen -- a subcommand "
    "that isn't known",
    "cargo/build,cargo/b,cargo/check,cargo/c,cargo/test,cargo/t,cargo/run,cargo/r,cargo/bench,cargo/doc,"
    "cargo/fmt,cargo/clippy,cargo/clean,cargo/add,cargo/remove,cargo/update,cargo/fetch,cargo/new,cargo/init,"
    "cargo/tree,cargo/metadata,cargo/pkgid medium high=--config -- runs the project's own steps",
    "cargo/version low high=--config",
    "go high sub low=version -- a subcommand that isn't known",
    "go/build,go/test,go/vet,go/run,go/fmt,go/mod,go/get,go/generate,go/clean medium high=-exec,-toolexec,"
    "-vettool,-overlay,--exec,--toolexec -- runs the project's own steps",
    "go/list,go/doc medium high=-exec,-toolexec",
    "go/env low medium=-w,-u",
    "npm,pnpm,yarn high sub low=--version,-v free=-s,--silent,-q,--quiet -- a subcommand that isn't known",
    "npm/install,npm/i,npm/ci,npm/add,npm/uninstall,npm/remove,npm/rm,npm/update,npm/up,npm/test,npm/t,npm/run,"
    "npm/run-script,npm/start,npm/stop,npm/build,npm/rebuild,npm/init,npm/dedupe,npm/prune,npm/audit,npm/view,"
    "npm/info,npm/search,npm/outdated,npm/pack,npm/fund,npm/version medium high=-g,--global,--location*,"
    "--prefix,--script-shell,--userconfig,--globalconfig,--registry,--node-options,--git -- changes the project",
    "npm/ls,npm/list,npm/root,npm/bin,npm/help low high=--userconfig,--globalconfig,--viewer",
    "pnpm/install,pnpm/i,pnpm/add,pnpm/remove,pnpm/update,pnpm/test,pnpm/run,pnpm/build,pnpm/start medium "
    "high=-g,--global,--dir,-C,--script-shell -- changes the project",
    "pnpm/ls,pnpm/list low",
    "yarn/install,yarn/add,yarn/remove,yarn/upgrade,yarn/test,yarn/run,yarn/build,yarn/start medium high=--cwd,"
    "--global-folder,--use-yarnrc,--script-shell -- changes the project",
    "yarn/list,yarn/why low",
    "pip,pip3,uv high sub low=--version,-V free=-q,-v,--quiet,--verbose -- a subcommand that isn't known",
    "pip/install,pip3/install,pip/uninstall,pip3/uninstall,pip/download,pip3/download,pip/wheel,pip3/wheel "
    "medium high=-t,--target,--prefix,--root,--python,--break-system-packages,-i,--index-url,--extra-index-url,"
    "--trusted-host,--config-settings -- changes the environment",
    "pip/list,pip/show,pip/freeze,pip/check,pip3/list,pip3/show,pip3/freeze,pip3/check low high=--python,-i,"
    "--index-url",
    "uv/sync,uv/lock,uv/add,uv/remove,uv/venv medium -- changes the environment",
    "uv/tree low",
    "composer,bundle,gem,mvn,gradle,sbt,mix,dotnet,stack,cabal,poetry,pipenv,conda,mamba medium high=exec,"
    "console,shell,run,-g,--global,tool,script -- changes the project or its environment",

    /* git */
    "git high sub low=--version free=--no-pager,-P,--no-optional-locks,--literal-pathspecs,"
    "--no-replace-objects value=-C -- a subcommand that isn't known",
    "git/status,git/rev-parse,git/ls-files,git/ls-tree,git/cat-file,git/describe,git/shortlog,git/rev-list,"
    "git/for-each-ref,git/name-rev,git/merge-base,git/count-objects,git/check-ignore,git/check-attr,"
    "git/show-ref,git/cherry,git/whatchanged,git/version,git/var,git/diff-tree,git/diff-index,git/diff-files "
    "low medium=--output,-o high=--ext-diff,--textconv,--filters paths=all",
    "git/log,git/diff,git/show,git/blame,git/annotate,git/range-diff low medium=--output high=--ext-diff,"
    "--textconv,--contents value=-n,-S,-G,-L,--since,--until,--author,--grep,--format,--pretty paths=all",
    "git/grep low high=-O,--open-files-in-pager,--ext-grep,--textconv value=-e,-A,-B,-C",
    "git/branch medium low=-a,-r,-v,-vv,--list,-l,--show-current,--all,--remotes,--contains,--merged,"
    "--no-merged high=-D,-d,--delete,-f,--force,-M,-C,-m,-c,--move,--copy,--edit-description,-u,"
    "--set-upstream-to,--unset-upstream -- changes branches",
    "git/tag medium low=-l,--list,-n,--contains,--points-at high=-d,--delete,-f,--force,-s,--sign,-u,-e,--edit "
    "-- changes tags",
    "git/remote medium low=-v,show,get-url high=add,set-url,rename,remove,rm,prune,update,set-head,"
    "set-branches -- changes remotes",
    "git/stash medium low=list high=drop,clear -- changes the work tree",
    "git/reflog low high=expire,delete",
    "git/config high low=--get,--get-all,--get-regexp,-l,--list,get,list -- may name programs that git runs",
    "git/worktree medium low=list high=remove,prune,-f,--force -- changes the work tree",
    "git/add,git/commit,git/init,git/mv,git/apply,git/am,git/cherry-pick,git/revert,git/merge,git/notes,"
    "git/format-patch,git/archive,git/gc,git/switch,git/pull,git/fetch,git/rebase,git/clone,git/submodule,"
    "git/checkout,git/restore,git/reset,git/rm,git/bundle,git/ls-remote medium high=-f,--force,--hard,-x,"
    "--exec,--exec-path,-u,--upload-pack,--receive-pack,--template,-c,--config,foreach,ext::*,--remote,"
    "--gpg-sign,-S,-G,--strategy,-s,--discard-changes,-e,--edit,-i,--interactive,--recurse-submodules,"
    "--allow-empty-message,--separate-git-dir,--git-dir,--directory,--unsafe-paths,-p,--patch,-B,-C,-D,"
    "--prune* paths=all -- changes the repository",
    "git/push medium high=-f,--force,--force-with-lease,--force-if-includes,--mirror,--delete,-d,--prune,"
    "--receive-pack,--exec,--all,--tags,-o,+*,:*,ext::* -- sends commits to others",
    "git/reset medium high=--hard,--merge,--keep -- changes the index",
    "git/checkout,git/restore medium high=-f,--force,--,.,-p,--patch,--overwrite-ignore,--ours,--theirs,-m,"
    "--merge,-B,--worktree,-W,:*,*,--source,-s -- overwrites what isn't committed",
    "git/clean,git/filter-branch,git/filter-repo,git/bisect,git/difftool,git/mergetool,git/daemon,git/instaweb,"
    "git/web--browse,git/hook,git/maintenance,git/update-ref,git/update-index,git/replace,git/prune,git/fsck,"
    "git/credential,git/send-email,git/svn,git/p4,git/upload-pack,git/receive-pack,git/gui,git/citool,git/help "
    "high -- destroys work or runs others",

    /* Services, containers, packages */
    "docker,podman,nerdctl high sub -- a container's rights are those of the machine",
    "docker/ps,docker/images,docker/version,docker/info,docker/top,docker/port,docker/history,podman/ps,"
    "podman/images,podman/version,podman/info low",
    "docker/logs,docker/inspect,docker/stats,podman/logs,podman/inspect,podman/stats medium -- may show secrets",
    "kubectl high sub -- changes a cluster",
    "kubectl/get,kubectl/describe,kubectl/logs,kubectl/version,kubectl/explain,kubectl/api-resources,"
    "kubectl/top medium high=--kubeconfig,--token,-s,--server,--raw -- asks a cluster",
    "systemctl high sub -- changes services",
    "systemctl/status,systemctl/is-active,systemctl/is-enabled,systemctl/is-failed,systemctl/list-units,"
    "systemctl/list-unit-files,systemctl/list-timers,systemctl/show,systemctl/cat,systemctl/get-default low "
    "high=-H,--host,-M,--machine",
    "journalctl low medium=--cursor-file high=--vacuum*,--rotate,--flush,--sync,--relinquish-var,"
    "--smart-relinquish-var,--setup-keys,--update-catalog,--root,-D,--directory",
    "apt,apt-get,aptitude,dnf,yum,zypper,apk,pacman,brew,snap,flatpak,nix,nix-env,emerge,port,rpm high sub -- "
    "changes what is installed",
    "apt/list,apt/show,apt/search,apt/policy,apt/depends,apt/rdepends,dnf/list,dnf/info,dnf/search,yum/list,"
    "yum/info,yum/search,brew/list,brew/info,brew/search,snap/list,snap/info,flatpak/list low high=-o,--option,"
    "-c,--config-file,--config,--setopt,--installroot",
    "apt-cache low high=-o,--option,-c,--config-file,gencaches,-g,--generate",
    "dpkg,dpkg-query high low=-l,-L,-s,-S,--list,--listfiles,--status,--search,-p",
    "dpkg-query low high=--admindir,--root",
    "crontab,service,rc-service,update-rc.d,update-alternatives,ldconfig,depmod,modprobe,insmod,rmmod,sysctl,"
    "mount,umount,swapon,swapoff,losetup,dmsetup,lvm,cryptsetup,mdadm,udevadm,hostnamectl,timedatectl,"
    "localectl,loginctl,networkctl,resolvectl,nmcli,ip,ifconfig,route,iptables,ip6tables,nft,ufw,firewall-cmd,"
    "tc,brctl,iw,rfkill,hdparm,smartctl,nvme,sfdisk,fdisk,gdisk,cfdisk,parted,partprobe,mkswap,tune2fs,e2fsck,"
    "fsck,resize2fs,wipefs,blkdiscard,efibootmgr,grub-install,update-grub,kexec,dmesg,setenforce,aa-teardown,"
    "auditctl,visudo,vipw,ldapmodify,virsh,vagrant,terraform,ansible,ansible-playbook,helm,aws,gcloud,az high "
    "-- changes the system",
    "useradd,userdel,usermod,groupadd,groupdel,groupmod,adduser,deluser,passwd,chpasswd,chsh,chfn,gpasswd,"
    "chage,login,newgrp,sg high -- changes users",
    "chown,chgrp,setcap,restorecon,chcon high -- changes who owns files",
    "shutdown,reboot,halt,poweroff,init,telinit,rtcwake,pm-suspend high -- stops the machine",
    "pkill,killall,killall5,xkill,skill,fuser,tkill,renice high -- ends or changes processes",
    "dd,shred,truncate,fallocate,mknod,srm,wipe high -- overwrites files or devices",
    "mkfs,mkfs.ext2,mkfs.ext3,mkfs.ext4,mkfs.xfs,mkfs.btrfs,mkfs.vfat,mkfs.fat,mke2fs,mkdosfs,debugfs,"
    "xfs_repair,badblocks high -- makes a file system",
    NULL,
};
/* clang-format on */
