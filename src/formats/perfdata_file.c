/* perfdata_file.c - read the description in a perf.data: events, build ids, machine.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>

#include "formats/perfdata.h"
#include "perf/perf_event.h"

#define MAGIC "PERFILE2"
#define MAGIC_SWAPPED "2ELIFREP"
#define MAGIC_OLD "PERFFILE"

enum {
    FEATURE_BUILD_ID = 2,
    FEATURE_HOSTNAME = 3,
    FEATURE_OSRELEASE = 4,
    FEATURE_ARCH = 6,
    FEATURE_CPUDESC = 8,
    FEATURE_CMDLINE = 11,
    FEATURE_EVENT_DESC = 12,
    FEATURE_BITS = 256,
    PIPE_HEADER = 16,
    FILE_HEADER = 104,
    ATTR_MIN = 64,     /* the first version of struct perf_event_attr */
    ATTR_MAX = 4096,   /* the kernel's limit: one page */
    MAX_ATTRS = 65536,
    BUILD_ID_AREA = 24,
    MISC_BUILD_ID_SIZE = 1 << 15,
};

/* Bits of the flags. */
enum { ATTR_FREQ = 10, ATTR_SAMPLE_ID_ALL = 18, ATTR_SWITCHES = 26, ATTR_BUILD_ID = 34 };
enum { UPDATE_UNIT = 0, UPDATE_SCALE = 1, UPDATE_NAME = 2 };

bool perfdata_is(const void *data, size_t n)
{
    return n >= 8 && (memcmp(data, MAGIC, 8) == 0 || memcmp(data, MAGIC_SWAPPED, 8) == 0 ||
                      memcmp(data, MAGIC_OLD, 8) == 0);
}

/* A generic name, for events that the file does not name. */
static const char *general_name(const struct perf_attr *a)
{
    static const char *const types[] = { "hardware", "software", "tracepoint", "cache", "raw",
                                         "breakpoint" };
    const struct perf_event *known = perf_event_of(a->type, a->config);

    if (known)
        return known->name;
    return a->type < ARRAY_LEN(types) ? types[a->type] : "event";
}

/* A struct perf_event_attr of any version; C covers exactly its bytes. */
static struct perf_attr read_attr(struct cursor c)
{
    struct perf_attr a = { 0 };
    uint64_t flags;

    a.type = cur_u32(&c);
    cur_u32(&c); /* its size field; the size of C is used instead */
    a.config = cur_u64(&c);
    a.period = cur_u64(&c);
    a.sample_type = cur_u64(&c);
    a.read_format = cur_u64(&c);
    flags = cur_u64(&c);
    cur_skip(&c, 4 + 4 + 8 + 8); /* wake-up, breakpoint type, config1, config2 */
    a.branch_type = cur_left(&c) >= 8 ? cur_u64(&c) : 0;
    a.regs_user = cur_left(&c) >= 8 ? cur_u64(&c) : 0;
    a.is_frequency = flags >> ATTR_FREQ & 1;
    a.has_trailer = flags >> ATTR_SAMPLE_ID_ALL & 1;
    a.no_build_ids = !(flags >> ATTR_BUILD_ID & 1);
    a.is_clock = perf_event_is_clock(a.type, a.config);
    a.at_switch = a.type == PERF_TYPE_SOFTWARE && a.config == PERF_COUNT_SW_CONTEXT_SWITCHES &&
                  flags >> ATTR_SWITCHES & 1;
    a.name = general_name(&a);
    return a;
}

static size_t n_attrs(const struct perf_file *f)
{
    return f->engine->attrs.v.n;
}

static void add_ids(struct perf_file *f, size_t attr, struct cursor ids)
{
    while (cur_left(&ids) >= 8)
        perf_engine_id(f->engine, cur_u64(&ids), (uint32_t)attr);
}

static void add_attr(struct perf_file *f, struct cursor attr, struct cursor ids)
{
    struct perf_attr a = read_attr(attr);

    add_ids(f, perf_engine_attr(f->engine, &a), ids);
}

void perfdata_add_attr(struct perf_file *f, struct cursor body)
{
    struct cursor peek = body;
    uint32_t size;

    cur_u32(&peek);
    size = cur_u32(&peek);
    if (size < ATTR_MIN || size > cur_left(&body) || n_attrs(f) >= MAX_ATTRS)
        return;
    peek = cur_sub(&body, size);
    add_attr(f, peek, body);
}

static int read_attrs(struct perf_file *f, struct cursor whole, struct cursor table,
                      uint64_t entry, struct err *e)
{
    uint64_t left = cur_left(&whole); /* for ids: each event has its own */

    if (entry < ATTR_MIN + 16 || entry > ATTR_MAX)
        return err_set(e, ERR_FORMAT, "unsupported perf.data: event descriptions of %llu bytes",
                       (unsigned long long)entry);
    while (cur_left(&table) >= entry && n_attrs(f) < MAX_ATTRS) {
        struct cursor attr = cur_sub(&table, entry - 16), ids = whole;
        uint64_t offset = cur_u64(&table), size = cur_u64(&table);

        cur_skip(&ids, offset);
        if (size > cur_left(&ids))
            size = 0;
        if (size > left)
            return err_set(e, ERR_FORMAT, "invalid perf.data: the id tables of its events overlap");
        left -= size;
        add_attr(f, attr, cur_sub(&ids, size));
    }
    return n_attrs(f) ? 0 : err_set(e, ERR_FORMAT, "perf.data has no events");
}

/* A length-prefixed, padded string of a feature section. */
static const char *feature_string(struct perf_file *f, struct cursor *c)
{
    uint32_t size = cur_u32(c);
    const unsigned char *p = cur_bytes(c, size);

    return p ? arena_strndup(&f->arena, (const char *)p, strnlen((const char *)p, size)) : "";
}

static const char *command_line(struct perf_file *f, struct cursor c)
{
    struct buf line = { 0 };
    const char *text;

    for (uint32_t n = cur_u32(&c); n && !c.failed && cur_left(&c) >= 4; n--) {
        if (line.n)
            buf_u8(&line, ' ');
        buf_str(&line, feature_string(f, &c));
    }
    text = arena_strndup(&f->arena, line.n ? (char *)line.data : "", line.n);
    buf_release(&line);
    return text;
}

static void name_event(struct perf_file *f, struct perf_attr *a, const char *name)
{
    if (*name)
        a->name = arena_strndup(&f->arena, name, strlen(name));
}

static void event_descriptions(struct perf_file *f, struct cursor c)
{
    uint32_t n = cur_u32(&c), size = cur_u32(&c);

    for (uint32_t i = 0; i < n && cur_left(&c) >= 8 && !c.failed; i++) {
        struct cursor ids;
        const char *name;
        uint32_t n_ids;

        cur_skip(&c, size);
        n_ids = cur_u32(&c);
        name = feature_string(f, &c);
        ids = cur_sub(&c, (size_t)n_ids * 8);
        if (i < n_attrs(f)) {
            name_event(f, f->engine->attrs.v.v[i], name);
            add_ids(f, i, ids);
        }
    }
}

static void build_ids(struct perf_file *f, struct cursor c)
{
    while (cur_left(&c) >= 8) {
        uint16_t misc, size;

        cur_u32(&c);
        misc = cur_u16(&c);
        size = cur_u16(&c);
        if (size < 8)
            return;
        perfdata_add_build_id(f, misc, cur_sub(&c, size - 8u));
    }
}

void perfdata_add_build_id(struct perf_file *f, uint16_t misc, struct cursor body)
{
    const unsigned char *id;
    const char *path;

    cur_u32(&body); /* pid */
    id = cur_bytes(&body, BUILD_ID_AREA);
    path = cur_cstr(&body);
    if (id && *path)
        perf_module_add_build_id(&f->engine->modules, path, id,
                                 misc & MISC_BUILD_ID_SIZE && id[20] <= 20 ? id[20] : 20);
}

static void set_arch(struct perf_file *f, const char *arch)
{
    f->arch = arch;
    if (strcmp(arch, "aarch64") == 0)
        perf_engine_arch(f->engine, UNW_AARCH64);
    else if (strcmp(arch, "x86_64") == 0)
        perf_engine_arch(f->engine, UNW_X86_64);
}

void perfdata_add_feature(struct perf_file *f, uint64_t feature, struct cursor c)
{
    switch (feature) {
    case FEATURE_BUILD_ID:
        build_ids(f, c);
        break;
    case FEATURE_HOSTNAME:
        f->host = feature_string(f, &c);
        break;
    case FEATURE_OSRELEASE:
        f->release = feature_string(f, &c);
        perfdata_host_kernel(f);
        break;
    case FEATURE_ARCH:
        set_arch(f, feature_string(f, &c));
        break;
    case FEATURE_CPUDESC:
        f->cpu = feature_string(f, &c);
        break;
    case FEATURE_CMDLINE:
        f->command = command_line(f, c);
        break;
    case FEATURE_EVENT_DESC:
        event_descriptions(f, c);
        break;
    default:
        break;
    }
}

void perfdata_update_event(struct perf_file *f, struct cursor body)
{
    uint64_t what = cur_u64(&body), id = cur_u64(&body);
    uint32_t attr = umap_find(&f->engine->attrs.of_id, id);

    if (what == UPDATE_NAME && attr)
        name_event(f, f->engine->attrs.v.v[attr - 1], cur_cstr(&body));
}

static void read_features(struct perf_file *f, struct cursor whole, uint64_t at,
                          const unsigned char *bits)
{
    struct cursor table = whole;

    cur_skip(&table, at);
    for (uint64_t bit = 0; bit < FEATURE_BITS && cur_left(&table) >= 16; bit++) {
        struct cursor section = whole;
        uint64_t offset, size;

        if (!(bits[bit / 8] >> (bit % 8) & 1))
            continue;
        offset = cur_u64(&table);
        size = cur_u64(&table);
        cur_skip(&section, offset);
        if (size <= cur_left(&section))
            perfdata_add_feature(f, bit, cur_sub(&section, size));
    }
}

static int open_file(struct perf_file *f, struct cursor whole, struct cursor c, struct err *e)
{
    uint64_t entry = cur_u64(&c), attrs_at = cur_u64(&c), attrs_size = cur_u64(&c);
    uint64_t data_at = cur_u64(&c), data_size = cur_u64(&c);
    const unsigned char *bits;
    struct cursor attrs = whole;

    cur_skip(&c, 16); /* event types: obsolete */
    bits = cur_bytes(&c, FEATURE_BITS / 8);
    if (!bits)
        return err_set(e, ERR_FORMAT, "perf.data is truncated in its header");
    cur_skip(&attrs, attrs_at);
    if (attrs_size > cur_left(&attrs))
        return err_set(e, ERR_FORMAT, "perf.data is truncated: its events are missing");
    if (read_attrs(f, whole, cur_sub(&attrs, attrs_size), entry, e) < 0)
        return -1;
    f->data = whole;
    cur_skip(&f->data, data_at);
    if (f->data.failed)
        return err_set(e, ERR_FORMAT, "perf.data is truncated: its records are missing");
    /* perf writes the size last: 0 means that it was killed. */
    if (data_size == 0 || data_size > cur_left(&f->data)) {
        f->cut = true;
        return 0;
    }
    f->data.end = f->data.p + data_size;
    read_features(f, whole, data_at + data_size, bits);
    return 0;
}

int perfdata_open(struct perf_file *f, struct perf_engine *engine, const void *data, size_t n,
                  struct err *e)
{
    struct cursor whole = cursor_of(data, n), c = whole;
    const unsigned char *magic = cur_bytes(&c, 8);
    uint64_t size;

    memset(f, 0, sizeof *f);
    f->engine = engine;
    f->host = f->release = f->arch = f->cpu = f->command = "";
    if (magic && memcmp(magic, MAGIC_SWAPPED, 8) == 0) {
        err_set(e, ERR_FORMAT, "perf.data from a machine with another byte order");
        err_hint(e, "run perf script on that machine and import its output");
        return -1;
    }
    if (!magic || memcmp(magic, MAGIC, 8) != 0)
        return err_set(e, ERR_FORMAT, "unsupported perf.data: written by perf 2.6.38 or older");
    size = cur_u64(&c);
    if (size == PIPE_HEADER) {
        f->data = c;
        return c.failed ? err_set(e, ERR_FORMAT, "perf.data is truncated in its header") : 0;
    }
    if (size < FILE_HEADER || size > ATTR_MAX)
        return err_set(e, ERR_FORMAT, "unsupported perf.data: a header of %llu bytes",
                       (unsigned long long)size);
    return open_file(f, whole, c, e);
}

void perfdata_close(struct perf_file *f)
{
    arena_release(&f->arena);
}
