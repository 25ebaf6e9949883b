/* collapsed_read.c - collapsed ("folded") stacks: one line per stack, root first, then its count.
 *
 *     main;parse;read_[i];copy_user_[k] 42
 *
 * The last word is the count; names may contain spaces.  Suffixes mark kinds: _[k] kernel, _[i]
 * inlined into the previous frame, _[j] JIT.  A file in which every line ends in two counts is a
 * difference (before, after) and becomes two metrics.
 *
 * A frame with the calls inlined into it is one token, looked up by its bytes; stack ids are the
 * nodes of a trie over tokens.  Most lines start like the previous one: the nodes of the common
 * prefix are reused.  SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/trie.h"
#include "formats/collapsed.h"
#include "formats/pages.h"
#include "profile/intern.h"

enum {
    LOOK_BYTES = 1 << 16,   /* bytes read to recognize the format */
    SUFFIX = 4,             /* "_[k]" */
};

struct text { /* bytes of the input, not terminated */
    const char *s;
    size_t n;
};

struct step { /* end of a token of the previous line, and its stack */
    size_t end;
    uint32_t stack;
};

struct piece { /* a token of the line, before it is looked up */
    const char *s;
    size_t n;
    uint64_t hash;
    uint32_t frame; /* set by the lookup */
};

struct importer {
    struct sink *out;
    struct intern in;
    struct trie stacks; /* key: frame id; node: stack id */
    struct index tokens;
    VEC(struct text) token; /* by frame id - 1 */
    struct arena arena;
    VEC(struct location) chain;
    VEC(struct piece) piece;
    VEC(struct step) path;
    struct text before; /* the previous line, to which path belongs */
    int n_counts;
    uint32_t metric[2];
    uint64_t good, bad;
};

/* --- lines ------------------------------------------------------------------------------ */

static struct text next_line(struct text *rest)
{
    const char *nl = memchr(rest->s, '\n', rest->n);
    size_t n = nl ? (size_t)(nl - rest->s) : rest->n, used = n + (nl != NULL);
    struct text line = { rest->s, n };

    rest->s += used;
    rest->n -= used;
    while (line.n && (line.s[line.n - 1] == '\r' || line.s[line.n - 1] == ' '))
        line.n--;
    return line;
}

static bool is_skipped(struct text line)
{
    return line.n == 0 || (line.n > 1 && line.s[0] == '#' && line.s[1] == ' ');
}

/* Parse digits with an optional fraction (rounded); false if it is not a number or too long. */
static bool read_count(struct text word, int64_t *count)
{
    int64_t x = 0;
    size_t i = 0;
    bool over = false; /* too many digits: the largest count */

    if (word.n == 0 || word.n > 40)
        return false;
    for (; i < word.n && isdigit((unsigned char)word.s[i]); i++) {
        over |= __builtin_mul_overflow(x, 10, &x);
        over |= __builtin_add_overflow(x, word.s[i] - '0', &x);
    }
    if (i == 0)
        return false;
    if (i < word.n && word.s[i] == '.') {
        x += x < INT64_MAX && i + 1 < word.n && word.s[i + 1] >= '5' &&
             isdigit((unsigned char)word.s[i + 1]);
        for (i++; i < word.n && isdigit((unsigned char)word.s[i]);)
            i++;
    }
    *count = over ? INT64_MAX : x;
    return i == word.n;
}

/* Remove the last word of LINE, a count. */
static bool cut_count(struct text *line, int64_t *count)
{
    size_t at = line->n;

    while (at && line->s[at - 1] != ' ' && line->s[at - 1] != '\t')
        at--;
    if (at < 2 || !read_count((struct text){ line->s + at, line->n - at }, count))
        return false;
    while (at && (line->s[at - 1] == ' ' || line->s[at - 1] == '\t'))
        at--;
    line->n = at;
    return at > 0;
}

struct look {
    size_t lines, good, twice; /* lines that end in a count; in two */
    bool has_separator;
    size_t names; /* lines that start like a name */
};

static struct look look_at(const struct import_input *in)
{
    struct text rest = { (const char *)in->data, in->size };
    struct look l = { 0 };
    int64_t count;

    while (rest.n && (size_t)(rest.s - (const char *)in->data) < LOOK_BYTES) {
        struct text line = next_line(&rest);

        if (is_skipped(line))
            continue;
        l.lines++;
        l.names += isalpha((unsigned char)*line.s) || strchr("_[(<~", *line.s) != NULL;
        l.good += cut_count(&line, &count);
        l.has_separator |= memchr(line.s, ';', line.n) != NULL;
        l.twice += cut_count(&line, &count);
    }
    return l;
}

int collapsed_recognize(const struct import_input *in)
{
    size_t n = in->size < LOOK_BYTES ? in->size : LOOK_BYTES;
    struct look l;

    /* "[kernel];..." is a frame; in JSON no letter follows the first bracket. */
    if (memchr(in->data, 0, n) || (n && in->data[0] == '{') ||
        (n > 1 && in->data[0] == '[' && !isalpha(in->data[1])))
        return 0;
    l = look_at(in);
    if (!l.good || l.good * 10 < l.lines * 9)
        return 0;
    if (l.has_separator)
        return 70;
    return l.names == l.lines ? 10 : 0;
}

/* --- frames ----------------------------------------------------------------------------- */

static bool ends_inlined(const char *s, const char *end)
{
    return end - s > SUFFIX && memcmp(end - SUFFIX, "_[i]", SUFFIX) == 0;
}

static bool looks_python(struct text name)
{
    return name.n > 4 && name.s[name.n - 1] == ')' && memmem(name.s, name.n, ".py", 3);
}

/* Return the kind by the suffix and remove the suffix. */
static enum frame_kind cut_suffix(struct text *name)
{
    char c = 0;

    if (name->n > SUFFIX && memcmp(name->s + name->n - SUFFIX, "_[", 2) == 0 &&
        name->s[name->n - 1] == ']')
        c = name->s[name->n - 2];
    if (c == 'k' || c == 'i' || c == 'j')
        name->n -= SUFFIX;
    if (c == 'k')
        return FRAME_KERNEL;
    if (c == 'j')
        return FRAME_JIT;
    return looks_python(*name) ? FRAME_PYTHON : FRAME_NATIVE;
}

static uint32_t function_of(struct importer *im, struct text name)
{
    struct function f = { .name = name.n ? intern_string(&im->in, name.s, name.n)
                                         : intern_cstr(&im->in, "[unknown]") };

    return intern_function(&im->in, &f);
}

static uint32_t define_frame(struct importer *im, struct text token)
{
    struct frame f = { .kind = FRAME_NATIVE };
    struct text rest = token;

    vec_clear(&im->chain);
    for (bool first = true; first || rest.n; first = false) {
        const char *semi = memchr(rest.s, ';', rest.n);
        struct text name = { rest.s, semi ? (size_t)(semi - rest.s) : rest.n };
        size_t used = name.n + (semi != NULL);
        enum frame_kind kind = cut_suffix(&name);

        if (first)
            f.kind = kind;
        vec_push(&im->chain, ((struct location){ function_of(im, name), 0 }));
        rest = (struct text){ rest.s + used, rest.n - used };
    }
    vec_push(&im->token, ((struct text){ arena_strndup(&im->arena, token.s, token.n), token.n }));
    sink_frame(im->out, &f);
    sink_resolve(im->out, (uint32_t)im->token.n, im->chain.v, im->chain.n);
    return (uint32_t)im->token.n;
}

static uint32_t frame_of(struct importer *im, const struct piece *w)
{
    uint32_t id;

    for (uint32_t at = index_first(&im->tokens, w->hash);
         (id = index_id(&im->tokens, w->hash, &at));) {
        const struct text *t = &im->token.v[id - 1];

        if (t->n == w->n && memcmp(t->s, w->s, w->n) == 0)
            return id;
    }
    id = define_frame(im, (struct text){ w->s, w->n });
    index_add(&im->tokens, w->hash, id);
    return id;
}

/* --- stacks ----------------------------------------------------------------------------- */

static size_t common_prefix(struct text a, struct text b)
{
    size_t n = a.n < b.n ? a.n : b.n, i = 0;

    for (; i + 8 <= n; i += 8) {
        uint64_t x, y;

        memcpy(&x, a.s + i, 8);
        memcpy(&y, b.s + i, 8);
        if (x != y)
            return i + (size_t)__builtin_ctzll(x ^ y) / 8;
    }
    while (i < n && a.s[i] == b.s[i])
        i++;
    return i;
}

/* Truncate path to the steps that LINE shares with the previous line.  Drop the last shared step
 * too: whether a token ends there depends on the frame that follows it. */
static void keep_shared(struct importer *im, struct text line)
{
    size_t same = common_prefix(im->before, line), lo = 0, hi = im->path.n;

    while (lo < hi) {
        size_t mid = (lo + hi) / 2;

        if (im->path.v[mid].end < same)
            lo = mid + 1;
        else
            hi = mid;
    }
    im->path.n = lo ? lo - 1 : 0;
    im->before = line;
}

static const char *frame_end(const char *s, const char *end)
{
    const char *semi = memchr(s, ';', (size_t)(end - s));

    return semi ? semi : end;
}

static uint32_t add_stack(struct importer *im, uint32_t parent, uint32_t frame)
{
    size_t n = im->stacks.node.n;
    uint32_t id = trie_child(&im->stacks, parent, frame);

    if (im->stacks.node.n > n)
        sink_stack(im->out, parent, frame);
    return id;
}

static void add_piece(struct importer *im, const char *s, size_t n)
{
    struct piece *w = vec_add(&im->piece);

    *w = (struct piece){ s, n, hash_bytes(s, n), 0 };
    if (im->tokens.slot)
        __builtin_prefetch(&im->tokens.slot[index_first(&im->tokens, w->hash)]);
}

/* Find all tokens of a line before looking up the first, so that the lookups overlap their cache
 * misses. */
static void split(struct importer *im, const char *s, const char *end)
{
    const char *stop = frame_end(s, end);

    vec_clear(&im->piece);
    for (;;) {
        const char *next = stop < end ? frame_end(stop + 1, end) : end;

        if (stop == end || !ends_inlined(stop + 1, next)) {
            add_piece(im, s, (size_t)(stop - s));
            s = stop + 1;
        }
        if (stop == end)
            return;
        stop = next;
    }
}

static uint32_t stack_of(struct importer *im, struct text line)
{
    uint32_t stack = 0;
    size_t from = 0;

    keep_shared(im, line);
    if (im->path.n) {
        stack = im->path.v[im->path.n - 1].stack;
        from = im->path.v[im->path.n - 1].end + 1;
    }
    split(im, line.s + from, line.s + line.n);
    for (size_t i = 0; i < im->piece.n; i++)
        im->piece.v[i].frame = frame_of(im, &im->piece.v[i]);
    for (size_t i = 0; i < im->piece.n; i++) {
        const struct piece *w = &im->piece.v[i];

        stack = add_stack(im, stack, w->frame);
        vec_push(&im->path, ((struct step){ (size_t)(w->s - line.s) + w->n, stack }));
    }
    return stack;
}

/* --- the file --------------------------------------------------------------------------- */

static void add_sample(struct importer *im, int which, uint32_t stack, int64_t count)
{
    struct sample m = { .stack = stack, .metric = im->metric[which], .cpu = -1, .weight = count,
                        .count = (uint64_t)count };

    if (count)
        sink_sample(im->out, &m);
}

static void take_line(struct importer *im, struct text line)
{
    int64_t count[2] = { 0 };
    uint32_t stack;

    for (int i = im->n_counts - 1; i >= 0; i--)
        if (!cut_count(&line, &count[i])) {
            im->bad++;
            return;
        }
    im->good++;
    stack = stack_of(im, line);
    for (int i = 0; i < im->n_counts; i++)
        add_sample(im, i, stack, count[i]);
}

static void define_metrics(struct importer *im, bool two)
{
    static const char *const names[2][2] = { { "samples", "" }, { "before", "after" } };
    uint32_t unit = intern_cstr(&im->in, "samples");

    im->n_counts = two ? 2 : 1;
    for (int i = 0; i < im->n_counts; i++)
        im->metric[i] = intern_metric(
            &im->in, &(struct metric){ .name = intern_cstr(&im->in, names[two][i]),
                                       .unit = unit });
}

static void write_skipped_lines(struct importer *im)
{
    if (im->bad)
        sink_meta_u64(im->out, "quality.lines_skipped", im->bad);
}

int collapsed_import(const struct import_input *in, struct sink *out, struct err *e)
{
    struct importer im = { .out = out };
    struct text rest = { (const char *)in->data, in->size };
    struct look l = look_at(in);
    size_t dropped = 0;

    intern_init(&im.in, out);
    trie_init(&im.stacks);
    define_metrics(&im, l.good && l.twice == l.lines);
    while (rest.n) {
        struct text line = next_line(&rest);

        if (!is_skipped(line))
            take_line(&im, line);
        if (im.before.s) /* the previous line is still needed */
            pages_drop(in, im.before.s, &dropped);
    }
    write_skipped_lines(&im);
    intern_release(&im.in);
    trie_release(&im.stacks);
    index_release(&im.tokens);
    vec_release(&im.token);
    vec_release(&im.chain);
    vec_release(&im.piece);
    vec_release(&im.path);
    arena_release(&im.arena);
    if (!im.good)
        err_set(e, ERR_FORMAT, "no line is a collapsed stack such as \"main;work 12\"");
    return sink_end(out, e) < 0 || !im.good ? -1 : 0;
}
