/*
 * Between risk_judge.c and risk_wrap.c: the parts of the judgement of one command.
 */
#ifndef TOOL_EXEC_RISK_JUDGE_H
#define TOOL_EXEC_RISK_JUDGE_H

#include "risk_internal.h"

/* risk_judge.c */
bool risk_listed(const struct list *list, const char *text);
/* Is text one of list's options or operands, clusters and abbreviated long names included? */
bool risk_matches(const struct list *list, const char *text, const struct list *values);
bool risk_is_option(const struct word *word); /* a literal that begins with '-' */
bool risk_is_free(const struct program *program, const char *text);
void risk_worse(struct verdict *verdict, enum risk_level level, const char *why);
struct verdict risk_weigh_plain(const struct program *program, const struct word *args,
                                size_t count);
struct verdict risk_weigh(struct run *run, const struct word *words, size_t count, unsigned depth);

/* risk_wrap.c */
struct verdict risk_weigh_sub(struct run *run, const struct program *program,
                              const struct word *args, size_t count, const char *name);
struct verdict risk_weigh_wrapper(struct run *run, const struct program *program,
                                  const struct word *args, size_t count, unsigned depth);
struct verdict risk_weigh_test(const struct word *words, size_t count);
struct verdict risk_weigh_names(const struct program *program, const struct word *args,
                                size_t count);
struct verdict risk_weigh_sed(const struct program *program, const struct word *args, size_t count);
struct verdict risk_weigh_awk(const struct program *program, const struct word *args, size_t count);

#endif
