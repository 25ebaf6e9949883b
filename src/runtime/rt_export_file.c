/* rt_export_file.c - write a .fathom file (docs/format.md), uncompressed: libfathom has no zstd.
 *
 * zone_write() is the producer.  This consumer assigns ids to definitions, and its sink buffers
 * columns and writes them as complete chunks.  store.def defines the chunks and their columns.
 * SPDX-License-Identifier: Apache-2.0 */
#include "runtime/rt_export.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "store/store_encode.h"
#include "zones/zone_write.h"

enum { FLUSH_BYTES = 1 << 20, MOST_FLOWS = 1 << 20 };

struct table { /* buffered records of one type */
    uint32_t records;
    uint32_t first; /* id of the first buffered record */
    uint64_t total; /* records so far, including written ones */
    uint64_t last[STORE_MAX_COLUMNS];
    struct rt_out column[STORE_MAX_COLUMNS];
    struct rt_out text[STORE_MAX_COLUMNS]; /* bytes of a text column; the lengths precede them */
};

struct key { /* identifies a frame, a thread or a tag */
    uint32_t a, b;
    uint64_t c;
};

struct ids { /* an open hash table: slots hold ids */
    uint32_t *slot, mask, n;
};

struct file {
    struct zone_consumer consumer; /* first: its callbacks cast */
    struct sink sink;
    struct rt_out *o;
    const struct zone_rows *r;
    struct table table[STORE_TYPES];
    size_t waiting; /* buffered bytes, approximately */
    struct rt_out body;
    struct ids strings, frames, threads, tags;
    const char **string; /* indexed by id - 1, as are the arrays below */
    struct key *frame, *thread, *tag;
    uint32_t most_tags;
    uint32_t stacks, process;
    uint32_t *room;
    size_t bytes; /* of the mapping that holds all of this */
};

/* ---- Chunks ---- */

static void put_column(struct table *t, uint8_t i, const struct store_column *k,
                       const unsigned char *field)
{
    unsigned char bytes[STORE_MAX_FIELD];
    struct store_text text;
    size_t n = store_encode_field(bytes, k, field, (uint64_t)t->first + t->records, &t->last[i]);

    rt_out_add(&t->column[i], bytes, n);
    if (store_kind_is_text(k->kind)) {
        memcpy(&text, field, sizeof text);
        rt_out_add(&t->text[i], text.p, text.n);
    }
}

static void append(struct rt_out *to, struct rt_out *from)
{
    rt_out_add(to, from->data, from->n);
    to->failed |= from->failed;
    from->n = 0;
}

static void write_chunk(struct file *f, int type)
{
    const struct store_chunk *c = &store_chunks[type];
    struct table *t = &f->table[type];
    struct store_head h = { .type = (uint8_t)type, .columns = c->n_columns,
                            .records = t->records, .first = t->first };
    unsigned char bytes[STORE_HEAD_SIZE];

    f->body.n = 0;
    for (uint8_t i = 0; i < c->n_columns; i++) {
        rt_out_add(&f->body, bytes, leb_put(bytes, t->column[i].n + t->text[i].n));
        append(&f->body, &t->column[i]);
        append(&f->body, &t->text[i]);
        t->last[i] = 0;
    }
    t->records = 0;
    f->o->failed |= f->body.failed;
    if (f->o->failed)
        return;
    h.raw_size = h.stored_size = (uint32_t)f->body.n;
    h.crc = store_crc(f->body.data, f->body.n);
    store_encode_head(bytes, &h);
    rt_out_add(f->o, bytes, sizeof bytes);
    rt_out_add(f->o, f->body.data, f->body.n);
}

/* Write in the order of store.def: definitions precede uses. */
static void flush(struct file *f)
{
    for (int type = 1; type < STORE_TYPES; type++)
        if (f->table[type].records)
            write_chunk(f, type);
    f->waiting = 0;
}

/* Add RECORD, a struct of TYPE's kind.  Returns its id if records of TYPE have ids. */
static uint32_t put(struct file *f, enum store_type type, const void *record)
{
    const struct store_chunk *c = &store_chunks[type];
    struct table *t = &f->table[type];

    if (!t->records)
        t->first = c->defines ? (uint32_t)t->total + 1 : 0;
    for (uint8_t i = 0; i < c->n_columns; i++) {
        put_column(t, i, &c->column[i], (const unsigned char *)record + c->column[i].offset);
        f->waiting += 2;
    }
    t->records++;
    return (uint32_t)++t->total;
}

static void put_and_flush(struct file *f, enum store_type type, const void *record)
{
    put(f, type, record);
    if (f->waiting >= FLUSH_BYTES)
        flush(f);
}

/* ---- Ids ---- */

static uint64_t hash_words(uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t h = (a * 0x9e3779b97f4a7c15u + b) * 0x9e3779b97f4a7c15u + c;

    return (h ^ h >> 32) * 0x9e3779b97f4a7c15u >> 32;
}

static uint32_t string_id(struct zone_consumer *consumer, const char *text)
{
    struct file *f = (struct file *)consumer;
    uint64_t h = 0;
    uint32_t at;

    if (!*text)
        return 0;
    for (const char *s = text; *s; s++)
        h = hash_words(h, (unsigned char)*s, 0);
    for (at = (uint32_t)h & f->strings.mask; f->strings.slot[at]; at = (at + 1) & f->strings.mask)
        if (!strcmp(f->string[f->strings.slot[at] - 1], text))
            return f->strings.slot[at];
    f->strings.slot[at] = ++f->strings.n;
    f->string[f->strings.n - 1] = text;
    return put(f, STORE_string,
               &(struct store_string){ { (const unsigned char *)text, strlen(text) } });
}

/* Return the id of KEY.  Sets *IS_NEW if the id is new. */
static uint32_t key_id(struct ids *ids, struct key *list, struct key key, bool *is_new)
{
    uint32_t at = (uint32_t)hash_words(key.a, key.b, key.c) & ids->mask;

    for (; ids->slot[at]; at = (at + 1) & ids->mask) {
        const struct key *known = &list[ids->slot[at] - 1];

        if (known->a == key.a && known->b == key.b && known->c == key.c) {
            *is_new = false;
            return ids->slot[at];
        }
    }
    *is_new = true;
    ids->slot[at] = ++ids->n;
    list[ids->n - 1] = key;
    return ids->n;
}

static uint32_t process_id(struct zone_consumer *consumer)
{
    struct file *f = (struct file *)consumer;
    const struct live_header *h = &f->r->view.head;

    if (!f->process)
        f->process = put(f, STORE_process, &(struct process){
            .pid = h->pid, .parent_pid = h->parent_pid, .start_ns = h->start_ns,
            .name = string_id(consumer, h->comm) });
    return f->process;
}

static uint32_t thread_id(struct zone_consumer *consumer, uint32_t tid, const char *name)
{
    struct file *f = (struct file *)consumer;
    struct thread t = { .process = process_id(consumer), .name = string_id(consumer, name),
                        .tid = tid };
    bool is_new;
    uint32_t id = key_id(&f->threads, f->thread, (struct key){ tid, t.name, 0 }, &is_new);

    if (is_new)
        put(f, STORE_thread, &t);
    return id;
}

static uint32_t metric_id(struct zone_consumer *consumer)
{
    struct metric m = { .name = string_id(consumer, ZONE_METRIC_NAME),
                        .unit = string_id(consumer, ZONE_METRIC_UNIT),
                        .about = string_id(consumer, ZONE_METRIC_ABOUT),
                        .flags = ZONE_METRIC_FLAGS };

    return put((struct file *)consumer, STORE_metric, &m);
}

/* Without room in the table, the same tag is defined again. */
static uint32_t tag_id(struct zone_consumer *consumer, uint32_t parent, const char *key,
                       const char *text, uint64_t number)
{
    struct file *f = (struct file *)consumer;
    struct tag t = { .parent = parent, .key = string_id(consumer, key),
                     .text = text ? string_id(consumer, text) : 0, .value = (int64_t)number };
    struct key known = { parent, t.key, text ? (uint64_t)t.text << 32 : number };
    bool is_new = true;
    uint32_t id = 0;

    if (f->tags.n < f->most_tags)
        id = key_id(&f->tags, f->tag, known, &is_new);
    return is_new ? put(f, STORE_tag, &t) : id;
}

/* Rows differ by their place in the tree, so each has a stack of its own. */
static uint32_t stack_id(struct zone_consumer *consumer, uint32_t parent, const struct zone_row *w)
{
    struct file *f = (struct file *)consumer;
    struct function fn = { .name = string_id(consumer, w->name),
                           .file = string_id(consumer, w->file),
                           .line = w->line };
    bool is_new;
    uint32_t frame = key_id(&f->frames, f->frame,
                               (struct key){ fn.name, fn.file, fn.line }, &is_new);

    if (is_new) { /* a frame and its function have the same number */
        put(f, STORE_frame, &(struct store_frame){ .kind = FRAME_ZONE });
        put(f, STORE_function, &fn);
        put(f, STORE_location,
            &(struct store_location){ .frame = frame, .function = frame, .line = w->line });
    }
    return put(f, STORE_stack, &(struct store_stack){ parent, frame });
}

/* ---- The sink ---- */

static struct file *file_of(struct sink *s)
{
    return (struct file *)((char *)s - offsetof(struct file, sink));
}

static void write_sample(struct sink *s, const struct sample *x)
{
    put_and_flush(file_of(s), STORE_sample, x);
}

static void write_span(struct sink *s, const struct span *x)
{
    put_and_flush(file_of(s), STORE_span, x);
}

static void write_counter(struct sink *s, const struct counter *x)
{
    put_and_flush(file_of(s), STORE_counter, x);
}

/* ---- The file ---- */

static void put_meta(struct file *f, const char *key, const char *value)
{
    struct store_meta m = { { (const unsigned char *)key, strlen(key) },
                            { (const unsigned char *)value, strlen(value) } };

    put(f, STORE_meta, &m);
}

static void put_meta_number(struct file *f, const char *key, double x)
{
    char number[40];

    snprintf(number, sizeof number, "%.0f", x);
    put_meta(f, key, number);
}

static void put_metas(struct file *f)
{
    const struct zone_rows *r = f->r;
    double lost = 0;

    for (int i = 0; i < FATHOM_LOST_CAUSES; i++)
        lost += (double)r->lost[i];
    put_meta(f, "producer", "libfathom " FATHOM_VERSION);
    put_meta(f, "command", r->view.head.comm);
    put_meta(f, "clock", "monotonic");
    put_meta_number(f, "start_ns", (double)r->view.head.start_ns);
    put_meta_number(f, "duration_ns", r->wall_ns);
    put_meta_number(f, "quality.dropped", lost);
    put_meta_number(f, "quality.recorder_cpu_ns", r->overhead_ns);
}

static void put_end(struct file *f)
{
    flush(f);
    for (uint32_t type = 1; type < STORE_end; type++)
        if (f->table[type].total)
            put(f, STORE_end, &(struct store_total){ type, f->table[type].total });
    put(f, STORE_end, &(struct store_total){ STORE_end, 1 });
    flush(f);
}

static uint32_t slots_for(size_t most)
{
    uint32_t n = 16;

    while (n < 2 * most)
        n *= 2;
    return n;
}

static uint64_t flows_of(const struct zone_rows *r)
{
    uint64_t n = 0;

    for (uint32_t i = 0; i < r->n; i++)
        n += r->row[i].kind == LIVE_FLOW ? r->row[i].count : 0;
    return n < MOST_FLOWS ? n : MOST_FLOWS;
}

struct sizes { /* the maximum number of each */
    size_t strings, frames, threads, tags;
};

static size_t bytes_for(const struct zone_rows *r, const struct sizes *n)
{
    size_t slots = (size_t)slots_for(n->strings) + slots_for(n->frames) + slots_for(n->threads) +
                   slots_for(n->tags);

    return sizeof(struct file) + n->strings * sizeof(char *) +
           (n->frames + n->threads + n->tags) * sizeof(struct key) +
           (slots + zone_write_room(r)) * 4;
}

static uint32_t *take_slots(struct ids *ids, uint32_t *at, size_t most)
{
    *ids = (struct ids){ at, slots_for(most) - 1, 0 };
    return at + slots_for(most);
}

static void lay_out(struct file *f, const struct sizes *n)
{
    f->string = (const char **)(f + 1);
    f->frame = (struct key *)(f->string + n->strings);
    f->thread = f->frame + n->frames;
    f->tag = f->thread + n->threads;
    f->most_tags = (uint32_t)n->tags;
    f->room = take_slots(&f->strings, (uint32_t *)(f->tag + n->tags), n->strings);
    f->room = take_slots(&f->frames, f->room, n->frames);
    f->room = take_slots(&f->threads, f->room, n->threads);
    f->room = take_slots(&f->tags, f->room, n->tags);
}

/* One mapping for everything; only the pages in use take memory. */
static struct file *new_file(struct rt_out *o, const struct zone_rows *r)
{
    size_t rows = (size_t)r->n + 1;
    struct sizes n = { 4 * rows + r->view.n_tasks + LIVE_MAX_NAMES + 16, rows,
                       r->view.n_tasks + (size_t)r->view.head.n_pages + 1,
                       3 * rows + (size_t)flows_of(r) };
    struct file *f = mmap(NULL, bytes_for(r, &n), PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (f == MAP_FAILED)
        return NULL;
    f->bytes = bytes_for(r, &n);
    f->o = o;
    f->r = r;
    lay_out(f, &n);
    f->sink = (struct sink){ .sample = write_sample, .span = write_span, .counter = write_counter };
    f->consumer = (struct zone_consumer){ &f->sink,   string_id, metric_id, process_id,
                                          thread_id, tag_id,    stack_id };
    return f;
}

static void free_file(struct file *f)
{
    for (int type = 0; type < STORE_TYPES; type++)
        for (int i = 0; i < STORE_MAX_COLUMNS; i++) {
            rt_out_release(&f->table[type].column[i]);
            rt_out_release(&f->table[type].text[i]);
        }
    rt_out_release(&f->body);
    munmap(f, f->bytes);
}

void rt_export_file(struct rt_out *o, const struct zone_rows *r)
{
    struct file *f = new_file(o, r);

    if (!f) {
        o->failed = true;
        return;
    }
    rt_out_add(o, STORE_MAGIC, 8);
    put_metas(f);
    zone_write(r, &f->consumer, f->room);
    put_end(f);
    free_file(f);
}
