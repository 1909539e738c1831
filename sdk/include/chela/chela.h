/*
 * chela/chela.h - the one header that a plugin includes.
 *
 * Version 0.10: all rules of versioning hold (chela/base.h, doc/abi.md), but 1.0 has not been
 * declared.
 */
#ifndef CHELA_CHELA_H
#define CHELA_CHELA_H

#include <chela/channel.h>
#include <chela/hook.h>
#include <chela/host.h>
#include <chela/plugin.h>
#include <chela/provider.h>
#include <chela/router.h>
#include <chela/service.h>
#include <chela/store.h>
#include <chela/tool.h>

#endif
