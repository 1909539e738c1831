/*
 * What the demo says (see answer.h), in English and Chinese. Called by provider_demo.c.
 */
#include "answer.h"

#include <string.h>

void answer_introduction(FILE *out, bool chinese)
{
    fputs(chinese ? "> 这是离线演示：没有真正的模型，只懂少数几种请求，但工具调用和审批都是真的。\n"
                    "> 接入真正的模型：设置 `ANTHROPIC_API_KEY` 或 `OPENAI_API_KEY`，或在本机运行 "
                    "Ollama，然后重启网关。\n\n"
                  : "> This is the offline demo: no model is behind it and it understands a few "
                    "requests only, but the "
                    "tool calls and approvals are real.\n"
                    "> For a real model set `ANTHROPIC_API_KEY` or `OPENAI_API_KEY`, or run Ollama "
                    "on this machine, and "
                    "restart the gateway.\n\n",
          out);
}

void answer_help(FILE *out, bool chinese)
{
    fputs(chinese ? "演示可以做这些：\n\n"
                    "- 列出文件：`列出这里的文件`\n"
                    "- 读文件：`读取 README.md`\n"
                    "- 写文件（会请你批准）：`写 notes.txt: 你好`\n"
                    "- 搜索：`搜索 main`\n"
                    "- 运行命令（有风险的会请你批准）：`运行 uname -a`\n"
                    "- 天气样例：`北京天气`\n"
                  : "The demo can do this:\n\n"
                    "- list files: `list the files here`\n"
                    "- read a file: `read README.md`\n"
                    "- write a file (asks you first): `write notes.txt: hello`\n"
                    "- search: `search for main`\n"
                    "- run a command (asks you first if it changes something): `run uname -a`\n"
                    "- a sample of the weather: `weather in Paris`\n",
          out);
}

void answer_other(FILE *out, bool chinese)
{
    fputs(chinese ? "这个请求演示听不懂。" : "The demo does not understand that. ", out);
    answer_help(out, chinese);
}

void answer_weather(FILE *out, const struct intent *i)
{
    const char *city = i->text[0] ? i->text : i->chinese ? "北京" : "Beijing";
    if (i->chinese)
        fprintf(out, "%s：晴，28°C，湿度 45%%。（演示用的样例数据，不是真实天气。）", city);
    else
        fprintf(
            out,
            "%s: clear, 28 °C, humidity 45 %%. (Sample data of the demo, not the real weather.)",
            city);
}

void answer_no_tool(FILE *out, const char *tool, bool chinese)
{
    if (chinese)
        fprintf(out, "这需要工具 `%s`，但当前没有启用它。", tool);
    else
        fprintf(out, "That needs the tool `%s`, which is not enabled here.", tool);
}

static unsigned count_lines(const char *text, size_t n)
{
    unsigned lines = 0;
    bool begun = false;
    for (size_t i = 0; i < n; i++) {
        if (text[i] == '\n') {
            lines += begun;
            begun = false;
        } else {
            begun = true;
        }
    }
    return lines + begun;
}

/* The text as a code block whose fence is longer than any inside. */
static void put_block(FILE *out, const char *text, size_t n)
{
    size_t longest = 2, run = 0;
    for (size_t i = 0; i < n; i++) {
        run = text[i] == '`' ? run + 1 : 0;
        longest = run > longest ? run : longest;
    }
    for (size_t i = 0; i <= longest; i++)
        fputc('`', out);
    fputc('\n', out);
    fwrite(text, 1, n, out);
    if (n && text[n - 1] != '\n')
        fputc('\n', out);
    for (size_t i = 0; i <= longest; i++)
        fputc('`', out);
    fputc('\n', out);
}

static void put_count(FILE *out, const struct intent *i, unsigned count)
{
    if (i->chinese)
        fprintf(out, "\n一共 **%u** 项。\n", count);
    else
        fprintf(out, "\nThat is **%u** %s.\n", count, count == 1 ? "entry" : "entries");
}

void answer_result(FILE *out, const struct intent *i, const char *result, size_t length,
                   bool failed)
{
    bool zh = i->chinese;
    if (failed) {
        fputs(zh ? "没有成功：\n\n" : "That did not work:\n\n", out);
        put_block(out, result, length);
        return;
    }
    switch (i->kind) {
    case INTENT_LIST: fputs(zh ? "这里有：\n\n" : "Here is what is there:\n\n", out); break;
    case INTENT_READ: fprintf(out, zh ? "`%s` 的内容：\n\n" : "`%s` says:\n\n", i->path); break;
    case INTENT_WRITE:
        fprintf(out, zh ? "已经写好 `%s`。\n" : "`%s` is written.\n", i->path);
        return;
    case INTENT_SEARCH:
        fprintf(out, zh ? "找到“%s”的地方：\n\n" : "Where \"%s\" was found:\n\n", i->text);
        break;
    case INTENT_RUN: fputs(zh ? "命令的输出：\n\n" : "The command printed:\n\n", out); break;
    case INTENT_WEATHER:
    case INTENT_HELP:
    case INTENT_OTHER: break;
    }
    put_block(out, result, length);
    if (i->kind == INTENT_LIST || i->counts)
        put_count(out, i, count_lines(result, length));
}
