/* build_profile.c - see build_profile.h.  SPDX-License-Identifier: Apache-2.0 */
#include "build_profile.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/intern.h"
#include "test.h"

struct builder {
    struct intern in;
    struct sink *sink;
    char names[8][64]; /* "process/thread" of threads 1..n; a process for each new name */
    uint32_t processes[8];
    uint32_t n;
    uint32_t wait; /* metric id, 0 until first used */
};

static uint32_t thread_of(struct builder *b, const char *name)
{
    char process[64];
    uint32_t at = 0;

    for (uint32_t i = 0; i < b->n; i++)
        if (strcmp(b->names[i], name) == 0)
            return i + 1;
    snprintf(process, sizeof process, "%.*s", (int)strcspn(name, "/"), name);
    for (uint32_t i = 0; i < b->n; i++)
        if (strncmp(b->names[i], process, strlen(process)) == 0)
            at = b->processes[i];
    if (!at)
        at = intern_process(&b->in, &(struct process){ .pid = 100 + b->n,
                                                       .name = intern_cstr(&b->in, process) });
    snprintf(b->names[b->n], sizeof b->names[0], "%s", name);
    b->processes[b->n++] = at;
    return intern_thread(&b->in, &(struct thread){
        .process = at, .tid = 100 + b->n,
        .name = intern_cstr(&b->in, strchr(name, '/') ? strchr(name, '/') + 1 : name) });
}

static struct location place_of(struct builder *b, char *text, uint32_t *module)
{
    char *bang = strchr(text, '!'), *colon, path[80];
    uint32_t line = 0;
    struct function f = { 0 };

    if (bang) {
        *bang = 0;
        snprintf(path, sizeof path, "/lib/%s", text);
        *module = intern_module(&b->in, &(struct module){ .path = intern_cstr(&b->in, path) });
        text = bang + 1;
    }
    colon = strchr(text, ':');
    if (colon) {
        *colon = 0;
        line = (uint32_t)strtoul(colon + 1, NULL, 10);
    }
    f.name = intern_cstr(&b->in, text);
    f.module = *module;
    f.file = line ? intern_cstr(&b->in, "a.c") : 0;
    f.line = line ? 1 : 0;
    return (struct location){ intern_function(&b->in, &f), line };
}

/* Frames with distinct text are distinct: the address is a hash of the text. */
static uint32_t frame_of(struct builder *b, char *text)
{
    uint64_t address = hash_fixed_bytes(text, strlen(text)) | 1;
    struct location chain[8];
    uint32_t n = 0, module = 0, known = (uint32_t)b->in.frame.n, frame;

    for (char *save, *part = strtok_r(text, "+", &save); part; part = strtok_r(NULL, "+", &save))
        chain[n++] = place_of(b, part, &module);
    frame = intern_frame(&b->in, &(struct frame){ .module = module, .address = address });
    if (frame > known && strcmp(text, "?") != 0)
        sink_resolve(b->sink, frame, chain, n);
    return frame;
}

static uint32_t metric_of(struct builder *b, const char *line)
{
    if (line[strlen(line) - 1] != 'w' && !strchr(line, '['))
        return 1;
    if (!b->wait)
        b->wait = intern_metric(&b->in, &(struct metric){
            .name = intern_cstr(&b->in, "wait"), .unit = intern_cstr(&b->in, "ns"),
            .flags = METRIC_OFF_CPU | METRIC_EXACT });
    return b->wait;
}

static void add_line(struct builder *b, char *line)
{
    uint32_t metric = metric_of(b, line);
    char *space = strchr(line, ' '), *stack = space + 1, *weight = strrchr(line, ' '), *at;
    uint64_t time_ns = 0;
    struct sample m = { .metric = metric, .cpu = -1, .count = 1 };

    *space = *weight = 0;
    at = strchr(line, '@');
    if (at) {
        *at = 0;
        time_ns = (uint64_t)(strtod(at + 1, NULL) * 1e9) + 1000;
    }
    m.thread = thread_of(b, line);
    for (char *save, *f = strtok_r(stack, ";", &save); f; f = strtok_r(NULL, ";", &save)) {
        if (*f == '[') {
            f[strlen(f) - 1] = 0;
            m.tags = intern_tag(&b->in, m.tags, strcmp(f + 1, "guessed") ? TAG_WAIT : TAG_STACK,
                                f + 1);
        } else {
            m.stack = intern_stack(&b->in, m.stack, frame_of(b, f));
        }
    }
    m.weight = strtol(weight + 1, NULL, 10);
    sample_ends_at(&m, time_ns, (uint64_t)m.weight);
    if (metric == b->wait)
        m.start_ns = time_ns;
    sink_sample(b->sink, &m);
}

struct profile *build_profile(const char *lines)
{
    struct profile *p = profile_new();
    struct builder b = { .sink = profile_sink(p) };
    char *text = strdup(lines);
    struct err e = { 0 };

    intern_init(&b.in, b.sink);
    intern_metric(&b.in, &(struct metric){ .name = intern_cstr(&b.in, "cpu"),
                                           .unit = intern_cstr(&b.in, "ns") });
    for (char *save, *l = strtok_r(text, "\n", &save); l; l = strtok_r(NULL, "\n", &save))
        add_line(&b, l);
    if (sink_end(b.sink, &e) < 0)
        test_fail(__FILE__, __LINE__, "%s", e.msg);
    intern_release(&b.in);
    free(text);
    return p;
}
