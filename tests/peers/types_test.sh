#!/bin/bash
# The golden requests of tests/requests against the types of the vendors' own SDKs, by the TypeScript compiler: an
# unknown member, a missing one or a wrong value is an error. Where a type is looser or stricter than the service, that
# is said beside it. llama.cpp's native endpoint and DeepSeek have no published types.
. "${CHELA_TEST_SRCDIR:-$(dirname "$0")/../..}/tests/lib/tap.sh"
. "$top/tests/peers/peers.sh"

need types typescript/bin/tsc
compiler=$peer_file
golden=$top/tests/requests/golden
work=$(mktemp -d "$peers/types/check.XXXXXX") # beside node_modules, where the compiler looks
trap 'rm -rf "$work"' EXIT

# Enumerations as the strings that they are on the wire.
plain='type Plain<T> = T extends string ? `${T}` : T extends (infer U)[] ? Plain<U>[] : T extends object ? { [K in keyof T]: Plain<T[K]> } : T;'
# The SDK fills in what has a default.
loose='type Loose<T> = T extends (infer U)[] ? Loose<U>[] : T extends object ? { [K in keyof T]?: Loose<T[K]> } : T;'

request() { # GOLDEN TYPE IMPORTS
    {
        printf '%s\n%s\n%s\n' "$3" "$plain" "$loose"
        printf 'export const request: %s = ' "$2"
        cat "$golden/$1.json"
    } >"$work/$1.ts"
    ok "$node" "$compiler" --noEmit --strict --target es2022 --module nodenext --moduleResolution nodenext --skipLibCheck \
        "$work/$1.ts" -- "$1: $2"
}

google='import type { Content, Tool, ToolConfig, GenerationConfig } from "@google/genai";
type Body = Plain<{ contents: Content[]; systemInstruction?: Content; tools?: Tool[]; toolConfig?: ToolConfig; generationConfig?: GenerationConfig }>;'
mistral='import type { ChatCompletionStreamRequest$Outbound } from "@mistralai/mistralai/models/components/chatcompletionstreamrequest.js";'
# the SDK knows a few keywords of schemas only; the server passes them on to the model
ollama='import type { ChatRequest } from "ollama"; type Body = Omit<ChatRequest, "tools"> & { tools?: unknown[] };'
for kind in "" -thinking; do
    request "anthropic$kind" Anthropic.MessageCreateParams 'import type Anthropic from "@anthropic-ai/sdk";'
    request "openai$kind" OpenAI.ChatCompletionCreateParams 'import type OpenAI from "openai";'
    request "openai_responses$kind" OpenAI.Responses.ResponseCreateParams 'import type OpenAI from "openai";'
    request "google$kind" Body "$google"
    request "google_openapi$kind" Body "$google"
    request "mistral$kind" 'Loose<ChatCompletionStreamRequest$Outbound>' "$mistral"
    request "ollama$kind" Body "$ollama"
done
done_testing
