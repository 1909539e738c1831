/*
 * Embeddings of mock_model that mean something: words of one row below lie in one direction, so a
 * test can ask for a car and find an automobile. Other words lie anywhere, by their letters.
 */
#include "tests/fakes/mock_embed.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fakes/mock_answer.h"

enum { NUMBERS = 192, ROW_WEIGHT = 4 };

static const char *const rows[] = {" car automobile vehicle ", " dog puppy hound ",
                                   " ill sick doctor hospital ", " boat ship ferry "};

/* Numbers of one direction, the same each time. */
static void add(double *v, unsigned seed, double weight)
{
    for (int i = 0; i < NUMBERS; i++) {
        seed = seed * 1103515245u + 12345u;
        v[i] += seed & 0x40000000u ? weight : -weight;
    }
}

static void add_word(double *v, const char *word, size_t n)
{
    char padded[40];
    unsigned seed = 5381;
    if (n > 30)
        return;
    snprintf(padded, sizeof padded, " %.*s ", (int)n, word);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (strstr(rows[i], padded)) {
            add(v, 77 + (unsigned)i, ROW_WEIGHT);
            return;
        }
    for (size_t i = 0; i < n; i++)
        seed = seed * 33 + (unsigned char)word[i];
    add(v, seed, 0.5);
}

static void add_text(double *v, const char *text)
{
    while (*text) {
        char word[64];
        size_t n = 0;
        while (*text && !isalnum((unsigned char)*text))
            text++;
        for (; isalnum((unsigned char)*text); text++)
            if (n < sizeof word)
                word[n++] = (char)tolower((unsigned char)*text);
        if (n)
            add_word(v, word, n);
    }
}

void embed_answer(int fd, json_object *body)
{
    json_object *input = NULL;
    char *text = NULL;
    size_t n;
    FILE *out = open_memstream(&text, &n);
    json_object_object_get_ex(body, "input", &input);
    fputs("{\"object\":\"list\",\"data\":[", out);
    for (size_t i = 0; input && i < json_object_array_length(input); i++) {
        double v[NUMBERS] = {0};
        add_text(v, json_object_get_string(json_object_array_get_idx(input, i)));
        fprintf(out, "%s{\"object\":\"embedding\",\"index\":%zu,\"embedding\":[", i ? "," : "", i);
        for (int k = 0; k < NUMBERS; k++)
            fprintf(out, "%s%g", k ? "," : "", v[k] / 10);
        fputs("]}", out);
    }
    fputs("],\"usage\":{\"prompt_tokens\":1,\"total_tokens\":1}}", out);
    fclose(out);
    answer_plain(fd, 200, "application/json", "", text);
    free(text);
}
