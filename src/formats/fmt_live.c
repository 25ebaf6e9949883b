/* fmt_live.c - import the live file that a killed program leaves behind (channel/live.h).
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "formats/formats.h"
#include "region/region.h"

struct file {
    struct intern in;
    struct umap threads;
    uint32_t process;
};

static uint32_t process_of(struct region_zones *z, const struct live_header *h)
{
    struct file *f = z->context;

    if (!f->process) {
        char comm[sizeof h->comm + 1] = "";

        memcpy(comm, h->comm, sizeof h->comm);
        f->process = intern_process(&f->in, &(struct process){
            .pid = h->pid, .parent_pid = h->parent_pid, .start_ns = h->start_ns,
            .name = intern_cstr(&f->in, comm) });
    }
    return f->process;
}

static uint32_t thread_of(struct region_zones *z, const struct live_header *h, uint32_t tid,
                          const char *name)
{
    struct file *f = z->context;
    uint32_t text = intern_cstr(&f->in, name);
    uint64_t key = (uint64_t)tid << 32 | text;
    uint32_t id = umap_find(&f->threads, key);

    if (!id) {
        id = intern_thread(&f->in, &(struct thread){ .process = process_of(z, h), .name = text,
                                                     .tid = tid });
        umap_put(&f->threads, key, id);
    }
    return id;
}

static int recognize(const struct import_input *in)
{
    return in->size >= 8 && memcmp(in->data, LIVE_MAGIC, 8) == 0 ? 100 : 0;
}

static void describe(struct sink *out, const struct region_zones *z, const struct import_input *in)
{
    char comm[17] = "";

    memcpy(comm, ((const struct live_header *)in->data)->comm, 16);
    sink_meta(out, "producer", "libfathom, live file");
    sink_meta(out, "command", comm);
    sink_meta(out, "clock", "monotonic");
    sink_meta_u64(out, "quality.dropped", z->dropped);
    sink_meta_u64(out, "quality.recorder_cpu_ns", z->overhead_ns);
}

static int import(const struct import_input *in, struct sink *out, struct err *e)
{
    struct file f = { 0 };
    struct region_zones z = { .in = &f.in, .thread = thread_of, .process = process_of,
                              .context = &f };
    int rc;

    intern_init(&f.in, out);
    rc = region_import(&z, in->data, in->size, e);
    if (rc == 0)
        describe(out, &z, in);
    if (sink_end(out, rc == 0 ? e : NULL) < 0)
        rc = -1;
    umap_release(&f.threads);
    intern_release(&f.in);
    return rc;
}

const struct format format_live = {
    .name = "live", .about = "live files of libfathom, left by killed programs",
    .recognize = recognize, .import = import };
