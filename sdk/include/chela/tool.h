/*
 * chela/tool.h - tools that a model may call.
 *
 * An instance publishes its tools (answer.h: publish CHELA_TOOLS, name = tool's name, value = its
 * manifest), at start and whenever they change. A manifest is a JSON object:
 *   name, description, parameters (JSON Schema), returns (JSON Schema, optional),
 *   security {requiresApproval: bool, riskLevel: "low" | "medium" | "high"},
 *   execution "parallel" (default) | "sequential", repeatable (may run again after a crash),
 *   reads_only (has no effect outside), deferred (found by search only), sort_key,
 *   group (for profiles, e.g. "fs", "runtime", "web")
 */
#ifndef CHELA_TOOL_H
#define CHELA_TOOL_H

#include <chela/plugin.h>

/*
 * One tool call, for `prepare` and for `run`.
 *   name arguments   tool and its arguments (JSON object)
 *   call_id          id of the call in the transcript
 *   agent session    who asks; workspace: absolute folder that file tools are confined to
 *   source           JSON {"channel","account","chat","sender","thread"}
 *   binding          run: what prepare gave as "binding"; run refuses if it no longer holds
 *   run              id of the turn that the call is part of
 *   timeout_ms       run: the host cancels the call after this, 0 = none
 */
struct chela_tool_run {
    struct chela_head h;
    uint64_t timeout_ms;
    struct chela_str name, arguments, call_id, agent, session, workspace, source, binding, run;
};

/*
 * prepare  [loop] call, ended by decide (answer.h): looks at the arguments before they are
 * validated and before anyone is asked. Verdicts: CHELA_YES as they are; CHELA_CHANGE text = new
 *          arguments; CHELA_NO text = why it can't be done. extra = JSON, all optional:
 *          {"risk": "low"|"medium"|"high", "summary": what exactly will run, for the person asked,
 *          "binding": string bound to the approval, "kind": what "always" would cover, or null if
 *          it may not be allowed for always, "reads_only": bool, "warnings": [strings]}.
 *          NULL: the manifest's riskLevel and the arguments say all. Must have no effect.
 * run      [loop] call: progress (answer.h) any number of times, then done: text = content for the
 *          model, flags CHELA_IS_ERROR, CHELA_TERMINATE; extra = JSON: {"details": {} for people
 * and clients, "images": [{"hash","mime"}] for the model, "files": [{"name","hash","mime","size"}]
 *          that go to the person with the reply}. After cancel everything it started is ended
 * first.
 */
struct chela_tool {
    uint32_t size, zero;
    void (*prepare)(struct chela_inst *, const struct chela_tool_run *);
    void (*run)(struct chela_inst *, const struct chela_tool_run *);
};

#endif
