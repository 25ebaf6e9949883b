/* an_source.c - see an_source.h.  Sum the samples by stack, then walk the tree of stacks once.
 * SPDX-License-Identifier: Apache-2.0 */
#include "analyze/an_source.h"

#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/an_flat.h"
#include "analyze/an_walk.h"
#include "base/hash.h"
#include "base/search.h"
#include "base/sort.h"
#include "profile/limits.h"

enum { LINES_APART = 64 }; /* of the marks in a source text */

/* Return the weight by stack id - 1; the caller frees the array. */
static int64_t *weight_by_stack(const struct an_source_query *q)
{
    const struct profile *p = q->profile;
    int64_t *w = mem_zalloc((p->stack.n + 1) * sizeof *w);

    for (size_t i = 0; i < p->sample.n; i++) {
        uint32_t stack;
        unsigned kind;

        if (an_view_takes(&q->view, &p->sample.v[i], &stack, &kind) && stack)
            w[stack - 1] += p->sample.v[i].weight;
    }
    return w;
}

int64_t an_source_total(const struct an_source_query *q)
{
    return an_sum_of(&q->view).weight;
}

static struct profile_chain chain_of(const struct profile *p, uint32_t frame)
{
    return frame && frame <= p->chain.n ? p->chain.v[frame - 1] : (struct profile_chain){ 0 };
}

/* Treat functions with equal name and file as one, even from several units or modules. */
static bool same_function(const struct profile *p, uint32_t a, uint32_t b)
{
    return p->function.v[a - 1].name == p->function.v[b - 1].name &&
           p->function.v[a - 1].file == p->function.v[b - 1].file;
}

/* Return, by function id - 1, the first function id with the same name and file.  The caller frees
 * the array. */
static uint32_t *leaders(const struct profile *p)
{
    uint32_t *leader = mem_alloc((p->function.n + 1) * sizeof *leader);
    struct umap seen = { 0 };

    for (uint32_t id = 1; id <= p->function.n; id++) {
        const struct function *f = &p->function.v[id - 1];
        uint64_t key = ((uint64_t)f->name << 32) | f->file;

        leader[id - 1] = umap_find(&seen, key);
        if (!leader[id - 1])
            umap_put(&seen, key, leader[id - 1] = id);
    }
    umap_release(&seen);
    return leader;
}

struct ranked {
    uint32_t function;
    int64_t self;
};

static int by_cost(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;

    if (x->self != y->self)
        return x->self < y->self ? 1 : -1;
    return x->function < y->function ? -1 : 1;
}

/* Return the self cost by leading function, most expensive first.  The caller frees the array. */
static struct ranked *rank_functions(const struct an_source_query *q)
{
    const struct profile *p = q->profile;
    struct ranked *r = mem_zalloc((p->function.n + 1) * sizeof *r);
    int64_t *w = weight_by_stack(q);
    uint32_t *leader = leaders(p);

    for (size_t i = 0; i < p->function.n; i++)
        r[i].function = leader[i] == i + 1 ? leader[i] : 0;
    for (size_t i = 0; i < p->stack.n; i++) {
        struct profile_chain c = chain_of(p, p->stack.v[i].frame);

        if (w[i] && c.n)
            r[leader[p->location.v[c.first + c.n - 1].function - 1] - 1].self += w[i];
    }
    qsort(r, p->function.n, sizeof *r, by_cost);
    free(leader);
    free(w);
    return r;
}

size_t an_source_hottest(const struct an_source_query *q, double share, uint32_t *functions,
                         size_t most)
{
    struct ranked *r = rank_functions(q);
    double want = share * (double)an_source_total(q), got = 0;
    size_t n = 0;

    for (size_t i = 0; i < q->profile->function.n && n < most && got < want; i++) {
        if (!r[i].function || r[i].self <= 0)
            continue;
        functions[n++] = r[i].function;
        got += (double)r[i].self;
    }
    free(r);
    return n;
}

static size_t take_matching(const struct an_source_query *q, const void *word,
                            bool (*match)(const struct profile *, uint32_t, const void *),
                            uint32_t *functions, size_t most)
{
    struct ranked *r = rank_functions(q);
    size_t n = 0;

    for (size_t i = 0; i < q->profile->function.n && n < most; i++)
        if (r[i].function && match(q->profile, r[i].function, word))
            functions[n++] = r[i].function;
    free(r);
    return n;
}

static bool is_named(const struct profile *p, uint32_t f, const void *word)
{
    const char *name = profile_string(p, p->function.v[f - 1].name);
    size_t n = strlen(word);

    /* "run" matches run, and also run(int) of C++. */
    return strncmp(name, word, n) == 0 && (name[n] == 0 || name[n] == '(' || name[n] == '<');
}

static bool holds_name(const struct profile *p, uint32_t f, const void *word)
{
    return strstr(profile_string(p, p->function.v[f - 1].name), word) != NULL;
}

size_t an_source_named(const struct an_source_query *q, const char *name, uint32_t *functions,
                       size_t most)
{
    size_t n = take_matching(q, name, is_named, functions, most);

    return n ? n : take_matching(q, name, holds_name, functions, most);
}

static bool fits_pattern(const struct profile *p, uint32_t f, const void *pattern)
{
    return regexec(pattern, profile_string(p, p->function.v[f - 1].name), 0, NULL, 0) == 0;
}

size_t an_source_like(const struct an_source_query *q, const char *pattern, uint32_t *functions,
                      size_t most)
{
    regex_t re;
    size_t n;

    if (regcomp(&re, pattern, REG_EXTENDED | REG_NOSUB) != 0)
        return 0;
    n = take_matching(q, &re, fits_pattern, functions, most);
    regfree(&re);
    return n;
}

static bool is_in_file(const struct profile *p, uint32_t f, const void *word)
{
    const char *path = word, *file = profile_string(p, p->function.v[f - 1].file);
    size_t n = strlen(file), m = strlen(path);

    return n >= m && m && strcmp(file + n - m, path) == 0 && (n == m || file[n - m - 1] == '/');
}

size_t an_source_of_file(const struct an_source_query *q, const char *path, uint32_t *functions,
                         size_t most)
{
    return take_matching(q, path, is_in_file, functions, most);
}

/* State while a listing is built. */
struct builder {
    struct an_listing *l;
    const struct an_source_query *q;
    const struct profile *p;
    unsigned char *covered; /* by function id - 1 */
    VEC(struct an_source_line) line;
    struct umap line_at;     /* line number + 1 -> index + 1 */
    struct umap inlined_at;  /* (line, function) -> index + 1 */
    VEC(uint32_t) on_path;   /* by line index: how often it is in the stack that is visited */
    uint32_t covered_on_path;
    struct umap instr_self;  /* (module, address) hash -> index + 1 into cost */
    VEC(int64_t) cost;
    uint32_t modules[64];    /* with cost in the covered functions */
    size_t n_modules;
};

static uint32_t line_index(struct builder *b, uint32_t line)
{
    uint32_t i = umap_find(&b->line_at, (uint64_t)line + 1);

    if (i)
        return i - 1;
    *vec_add(&b->line) = (struct an_source_line){ .line = line };
    vec_push(&b->on_path, 0);
    umap_put(&b->line_at, (uint64_t)line + 1, (uint32_t)b->line.n);
    return (uint32_t)b->line.n - 1;
}

/* Return index + 1 of the innermost covered position in the chain, 0 if there is none. */
static uint32_t covered_position(const struct builder *b, struct profile_chain c)
{
    for (uint32_t k = c.n; k > 0; k--)
        if (b->covered[b->p->location.v[c.first + k - 1].function - 1])
            return k;
    return 0;
}

static void add_inlined(struct builder *b, uint32_t line, uint32_t function, int64_t weight)
{
    uint64_t key = (((uint64_t)line << 32) | function) + 1;
    uint32_t i = umap_find(&b->inlined_at, key);

    if (!i) {
        *vec_add(&b->l->inlined) = (struct an_inlined){ line, function, 0 };
        umap_put(&b->inlined_at, key, i = (uint32_t)b->l->inlined.n);
    }
    b->l->inlined.v[i - 1].self += weight;
}

static uint64_t place_key(uint32_t module, uint64_t address)
{
    return hash_pair(module, address) | 1;
}

static void note_module(struct builder *b, uint32_t module)
{
    for (size_t i = 0; i < b->n_modules; i++)
        if (b->modules[i] == module)
            return;
    if (module && b->n_modules < ARRAY_LEN(b->modules))
        b->modules[b->n_modules++] = module;
}

/* Add the self cost of the innermost frame of a stack: line, inlined call and instruction. */
static void add_leaf(struct builder *b, uint32_t frame, int64_t weight)
{
    const struct frame *f = &b->p->frame.v[frame - 1];
    struct profile_chain c = chain_of(b->p, frame);
    uint32_t at = covered_position(b, c), i;
    const struct location *where;

    if (!at)
        return;
    where = &b->p->location.v[c.first + at - 1];
    if (at == c.n) {
        b->line.v[line_index(b, where->line)].self += weight;
        b->l->self += weight;
    } else {
        add_inlined(b, where->line, where[1].function, weight);
    }
    note_module(b, f->module);
    if (!f->address)
        return;
    i = umap_find(&b->instr_self, place_key(f->module, f->address));
    if (!i) {
        vec_push(&b->cost, 0);
        umap_put(&b->instr_self, place_key(f->module, f->address), i = (uint32_t)b->cost.n);
    }
    b->cost.v[i - 1] += weight;
}

static void enter(void *with, uint32_t stack, int64_t total)
{
    struct builder *b = with;
    struct profile_chain c = chain_of(b->p, b->p->stack.v[stack - 1].frame);

    for (uint32_t k = 0; k < c.n; k++) {
        const struct location *where = &b->p->location.v[c.first + k];
        uint32_t i;

        if (!b->covered[where->function - 1])
            continue;
        i = line_index(b, where->line);
        if (b->on_path.v[i]++ == 0)
            b->line.v[i].total += total;
        if (b->covered_on_path++ == 0)
            b->l->total += total;
    }
}

static void leave(void *with, uint32_t stack)
{
    struct builder *b = with;
    struct profile_chain c = chain_of(b->p, b->p->stack.v[stack - 1].frame);

    for (uint32_t k = 0; k < c.n; k++) {
        const struct location *where = &b->p->location.v[c.first + k];

        if (!b->covered[where->function - 1])
            continue;
        b->on_path.v[line_index(b, where->line)]--;
        b->covered_on_path--;
    }
}

static void add_stacks(struct builder *b, const int64_t *weight)
{
    struct an_walk w;

    an_walk_init(&w, b->p);
    for (uint32_t s = 1; s <= b->p->stack.n; s++)
        if (weight[s - 1])
            an_walk_add(&w, s, weight[s - 1]);
    an_walk_run(&w, enter, leave, b);
    an_walk_release(&w);
    for (uint32_t s = 1; s <= b->p->stack.n; s++)
        if (weight[s - 1])
            add_leaf(b, b->p->stack.v[s - 1].frame, weight[s - 1]);
}

struct row { /* source position of the code from ADDRESS on */
    uint32_t module;
    uint64_t address;
    struct profile_chain chain;
};
struct rows {
    VEC(struct row) v;
};

static int by_address(const void *a, const void *b)
{
    const struct row *x = a, *y = b;

    if (x->module != y->module)
        return x->module < y->module ? -1 : 1;
    return x->address < y->address ? -1 : x->address > y->address;
}

/* The rows of one address are in the order in which they were found. */
static void keep_last_of_address(struct rows *r)
{
    size_t kept = 0;

    for (size_t i = 0; i < r->v.n; i++)
        if (i + 1 == r->v.n || r->v.v[i].module != r->v.v[i + 1].module ||
            r->v.v[i].address != r->v.v[i + 1].address)
            r->v.v[kept++] = r->v.v[i];
    r->v.n = kept;
}

/* Find the rows of the line table, and every frame with an exact address. */
static void find_rows(struct rows *out, const struct profile *p)
{
    for (size_t i = 0; i < p->row.n; i++)
        vec_push(&out->v, ((struct row){ p->row.v[i].at.module, p->row.v[i].at.address,
                                         p->row.v[i].chain }));
    for (size_t i = 0; i < p->frame.n; i++) {
        const struct frame *f = &p->frame.v[i];

        if (f->module && !(f->flags & FRAME_RETURN))
            vec_push(&out->v, ((struct row){ f->module, f->address, p->chain.v[i] }));
    }
    sort_stable(out->v.v, out->v.n, sizeof *out->v.v, by_address);
    keep_last_of_address(out);
}

/* The rows before ADDRESS of MODULE. */
static size_t rows_before(const struct rows *r, uint32_t module, uint64_t address)
{
    return search(0, r->v.n, i, r->v.v[i].module < module || (r->v.v[i].module == module &&
                                                              r->v.v[i].address < address));
}

static void add_instr(struct builder *b, struct profile_chain c, uint32_t module,
                      const struct disasm_line *d)
{
    uint32_t at = covered_position(b, c), cost;
    const struct location *where, *inner;

    if (!at)
        return;
    where = &b->p->location.v[c.first + at - 1];
    inner = &b->p->location.v[c.first + c.n - 1];
    cost = umap_find(&b->instr_self, place_key(module, d->address));
    line_index(b, where->line);
    *vec_add(&b->l->instr) = (struct an_instr){ where->line, inner->function, inner->line,
                                                cost ? b->cost.v[cost - 1] : 0, *d };
}

/* Whether row number I lies in CODE. */
static bool is_in(const struct rows *r, size_t i, const struct code_bytes *code)
{
    return i < r->v.n && r->v.v[i].module == code->module &&
           r->v.v[i].address - code->address < code->size;
}

/* Do not disassemble code that has nothing of the listing. */
static bool has_covered(const struct builder *b, const struct rows *r, size_t first,
                        const struct code_bytes *code)
{
    for (size_t i = first; is_in(r, i, code); i++)
        if (covered_position(b, r->v.v[i].chain))
            return true;
    return false;
}

static void add_code(struct builder *b, const struct rows *r, const struct code_bytes *code)
{
    size_t first = rows_before(r, code->module, code->address), next = first, at = 0;
    struct disasm_line d;

    if (!has_covered(b, r, first, code))
        return;
    while (disasm_one(code->bytes + at, code->size - at, code->address + at, &d)) {
        while (is_in(r, next, code) && r->v.v[next].address <= d.address)
            next++;
        if (next > first)
            add_instr(b, r->v.v[next - 1].chain, code->module, &d);
        at += d.size;
    }
}

static void add_all_code(struct builder *b)
{
    const char *refusal = disasm_refusal(profile_meta(b->p, "arch"));
    struct rows rows = { 0 };

    b->l->no_code = refusal;
    if (*refusal)
        return;
    if (b->p->code.n)
        find_rows(&rows, b->p);
    for (size_t i = 0; i < b->p->code.n; i++)
        for (size_t k = 0; k < b->n_modules; k++)
            if (b->p->code.v[i].module == b->modules[k])
                add_code(b, &rows, &b->p->code.v[i]);
    vec_release(&rows.v);
    if (!b->l->instr.n)
        b->l->no_code = "the profile has no code for it";
}

static int line_order(const void *a, const void *b)
{
    const struct an_source_line *x = a, *y = b;

    return x->line < y->line ? -1 : x->line > y->line;
}

static int instr_order(const void *a, const void *b)
{
    const struct an_instr *x = a, *y = b;

    if (x->line != y->line)
        return x->line < y->line ? -1 : 1;
    return x->d.address < y->d.address ? -1 : x->d.address > y->d.address;
}

static int inlined_order(const void *a, const void *b)
{
    const struct an_inlined *x = a, *y = b;

    if (x->line != y->line)
        return x->line < y->line ? -1 : 1;
    return x->self > y->self ? -1 : x->self < y->self;
}

void an_listing_set_text(struct an_listing *l, const char *text, size_t size)
{
    const char *end = text + size, *at = text;

    l->text = text;
    l->text_size = size;
    l->mark.n = 0;
    for (uint32_t line = 0; at; line++) {
        if (line % LINES_APART == 0)
            vec_push(&l->mark, (size_t)(at - text));
        at = memchr(at, '\n', (size_t)(end - at));
        at += at != NULL;
    }
}

static void find_text(struct an_listing *l, const struct profile *p, uint32_t file)
{
    const struct source_text *source = NULL;

    for (size_t i = 0; i < p->source.n; i++)
        if (file && p->source.v[i].file == file)
            source = &p->source.v[i];
    if (source)
        an_listing_set_text(l, source->text, source->size);
    l->no_source = l->text ? ""
                   : file  ? "the profile has no source for it"
                           : "no debug information";
}

/* Length of a line of N bytes as far as it is shown, in whole characters. */
static size_t shown_bytes(const char *s, size_t n)
{
    if (n <= LIMIT_LINE)
        return n;
    for (n = LIMIT_LINE; n > LIMIT_LINE - 4 && ((unsigned char)s[n] & 0xc0) == 0x80;)
        n--;
    return n;
}

const char *an_listing_text(const struct an_listing *l, uint32_t number, size_t *n)
{
    const char *s, *end = l->text + l->text_size, *stop;

    *n = 0;
    if (!l->text || !number || (number - 1) / LINES_APART >= l->mark.n)
        return NULL;
    s = l->text + l->mark.v[(number - 1) / LINES_APART];
    for (uint32_t skip = (number - 1) % LINES_APART; skip; skip--) {
        stop = memchr(s, '\n', (size_t)(end - s));
        if (!stop)
            return NULL;
        s = stop + 1;
    }
    stop = memchr(s, '\n', (size_t)(end - s));
    *n = shown_bytes(s, (size_t)((stop ? stop : end) - s));
    return s;
}

static void link_parts(struct an_listing *l)
{
    size_t in = 0, at = 0;

    if (l->instr.n)
        qsort(l->instr.v, l->instr.n, sizeof *l->instr.v, instr_order);
    if (l->inlined.n)
        qsort(l->inlined.v, l->inlined.n, sizeof *l->inlined.v, inlined_order);
    for (size_t i = 0; i < l->line.n; i++) {
        struct an_source_line *line = &l->line.v[i];

        line->first_inlined = (uint32_t)in;
        while (in < l->inlined.n && l->inlined.v[in].line == line->line)
            in++;
        line->n_inlined = (uint32_t)in - line->first_inlined;
        line->first_instr = (uint32_t)at;
        while (at < l->instr.n && l->instr.v[at].line == line->line)
            at++;
        line->n_instr = (uint32_t)at - line->first_instr;
    }
}

static void cover(struct builder *b, uint32_t function, bool whole_file)
{
    const struct profile *p = b->p;
    uint32_t file = p->function.v[function - 1].file;

    b->covered = mem_zalloc(p->function.n + 1);
    for (uint32_t id = 1; id <= p->function.n; id++)
        b->covered[id - 1] = whole_file && file ? p->function.v[id - 1].file == file
                                                : same_function(p, id, function);
}

void an_listing_build(struct an_listing *l, const struct an_source_query *q, uint32_t function,
                      bool whole_file)
{
    struct builder b = { .l = l, .q = q, .p = q->profile };
    const struct function *f = &q->profile->function.v[function - 1];
    int64_t *w = weight_by_stack(q);

    *l = (struct an_listing){ .name = profile_string(q->profile, f->name),
                              .file = profile_string(q->profile, f->file),
                              .module = an_module_name(q->profile, f->module) };
    cover(&b, function, whole_file);
    add_stacks(&b, w);
    add_all_code(&b);
    if (b.line.n)
        qsort(b.line.v, b.line.n, sizeof *b.line.v, line_order);
    l->line.v = b.line.v;
    l->line.n = b.line.n;
    l->line.cap = b.line.cap;
    link_parts(l);
    find_text(l, q->profile, f->file);
    umap_release(&b.line_at);
    umap_release(&b.inlined_at);
    umap_release(&b.instr_self);
    vec_release(&b.on_path);
    vec_release(&b.cost);
    free(b.covered);
    free(w);
}

void an_listing_release(struct an_listing *l)
{
    vec_release(&l->line);
    vec_release(&l->inlined);
    vec_release(&l->instr);
    vec_release(&l->mark);
}
