/* Mcp serve: the gateway as a server of the Model Context Protocol on standard input and output:
 * its sessions, their messages, and sending to one, as tools. Called by cmd_mcp.c. */
#ifndef CLI_MCP_SERVE_H
#define CLI_MCP_SERVE_H

#include "cli/command_line.h"

/* Until standard input ends; the exit status. */
int mcp_serve(const struct common *common);

#endif
