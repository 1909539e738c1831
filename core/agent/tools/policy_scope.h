/*
 * For whom a tool is judged. A NULL or "" is not known (yet), and no rule about it fits.
 */
#ifndef AGENT_POLICY_SCOPE_H
#define AGENT_POLICY_SCOPE_H

struct policy_scope {
    const char *agent, *channel, *sender;
    const char *provider; /* instance of the model that is about to be called */
    /* What who began the turn (a sub-agent's parent, a job) leaves of it: names, globs and groups,
     * parted by blanks; "" or NULL: everything, and nothing taken away. */
    const char *only, *without;
};

#endif
