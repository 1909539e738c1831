/* Command: the subcommands of `chela`, each in a cmd_*.c file; the table of them stands in
 * main_client.c. argv[0] is the subcommand's name; what is returned is the exit status. */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

int cmd_agent(int argc, char **argv);
int cmd_allowlist(int argc, char **argv);
int cmd_approvals(int argc, char **argv);
int cmd_channels(int argc, char **argv);
int cmd_audit(int argc, char **argv);
int cmd_chat(int argc, char **argv);
int cmd_config(int argc, char **argv);
int cmd_dashboard(int argc, char **argv);
int cmd_devices(int argc, char **argv);
int cmd_doctor(int argc, char **argv);
int cmd_gateway(int argc, char **argv);
int cmd_health(int argc, char **argv);
int cmd_import(int argc, char **argv);
int cmd_logs(int argc, char **argv);
int cmd_mcp(int argc, char **argv);
int cmd_cron(int argc, char **argv);
int cmd_memory(int argc, char **argv);
int cmd_message(int argc, char **argv);
int cmd_models(int argc, char **argv);
int cmd_onboard(int argc, char **argv);
int cmd_pairing(int argc, char **argv);
int cmd_plugin(int argc, char **argv);
int cmd_reload(int argc, char **argv);
int cmd_route(int argc, char **argv);
int cmd_sessions(int argc, char **argv);
int cmd_skills(int argc, char **argv);
int cmd_status(int argc, char **argv);
int cmd_tools(int argc, char **argv);
int cmd_trace(int argc, char **argv);
int cmd_trust(int argc, char **argv);
int cmd_usage(int argc, char **argv);
int cmd_version(int argc, char **argv);

#endif
