/* doc_gpu.c - GPU launch latency and copies through the CUDA driver library, which is loaded at run
 * time if present.  Types and numbers are those of the driver's stable C ABI.
 * SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "doctor/doc_measure.h"

/* An empty kernel in PTX, which the driver compiles for the installed card. */
static const char empty_kernel[] = ".version 6.0\n.target sm_30\n.address_size 64\n"
                                   ".visible .entry empty() { ret; }\n";

struct cuda {
    void *library;
    int (*init)(unsigned flags);
    int (*device_get)(int *device, int ordinal);
    int (*device_name)(char *name, int n, int device);
    int (*ctx_create)(void **ctx, unsigned flags, int device);
    int (*ctx_destroy)(void *ctx);
    int (*ctx_synchronize)(void);
    int (*mem_alloc)(uint64_t *at, size_t bytes);
    int (*mem_free)(uint64_t at);
    int (*mem_alloc_host)(void **at, size_t bytes);
    int (*mem_free_host)(void *at);
    int (*copy_to_device)(uint64_t to, const void *from, size_t bytes);
    int (*module_load)(void **module, const void *image);
    int (*module_unload)(void *module);
    int (*function_get)(void **function, void *module, const char *name);
    int (*launch)(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                  unsigned bz, unsigned shared, void *stream, void **parameters, void **extra);
    void *ctx;
};

static bool find_all(struct cuda *c)
{
    const struct {
        void *at;
        const char *name;
    } calls[] = {
        { &c->init, "cuInit" },
        { &c->device_get, "cuDeviceGet" },
        { &c->device_name, "cuDeviceGetName" },
        { &c->ctx_create, "cuCtxCreate_v2" },
        { &c->ctx_destroy, "cuCtxDestroy_v2" },
        { &c->ctx_synchronize, "cuCtxSynchronize" },
        { &c->mem_alloc, "cuMemAlloc_v2" },
        { &c->mem_free, "cuMemFree_v2" },
        { &c->mem_alloc_host, "cuMemAllocHost_v2" },
        { &c->mem_free_host, "cuMemFreeHost" },
        { &c->copy_to_device, "cuMemcpyHtoD_v2" },
        { &c->module_load, "cuModuleLoadData" },
        { &c->module_unload, "cuModuleUnload" },
        { &c->function_get, "cuModuleGetFunction" },
        { &c->launch, "cuLaunchKernel" },
    };

    for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
        void *call = dlsym(c->library, calls[i].name);

        if (!call)
            return false;
        memcpy(calls[i].at, &call, sizeof call); /* ISO C has no cast to a function pointer */
    }
    return true;
}

static void cuda_close(struct cuda *c)
{
    if (c->ctx)
        c->ctx_destroy(c->ctx);
    if (c->library)
        dlclose(c->library);
}

/* Create a context on the first device and put its name into NOTE; on failure false, with the
 * reason in NOTE. */
static bool cuda_open(struct cuda *c, char *note)
{
    int device, rc;

    *c = (struct cuda){ .library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL) };
    snprintf(note, DOC_NOTE, "no GPU driver (libcuda.so.1)");
    if (!c->library)
        return false;
    snprintf(note, DOC_NOTE, "the GPU driver is too old");
    if (!find_all(c))
        return false;
    if ((rc = c->init(0)) || (rc = c->device_get(&device, 0)) ||
        (rc = c->ctx_create(&c->ctx, 0, device))) {
        c->ctx = NULL;
        snprintf(note, DOC_NOTE, "the GPU cannot be used (CUDA error %d)", rc);
        return false;
    }
    c->device_name(note, DOC_NOTE, device);
    return true;
}

double doc_gpu_launch(char *note)
{
    enum { N = 500 };
    void *module = NULL, *function;
    uint64_t start = 0;
    struct cuda c;
    double ns = NAN;
    int rc = -1;

    if (cuda_open(&c, note) && (rc = c.module_load(&module, empty_kernel)) == 0 &&
        (rc = c.function_get(&function, module, "empty")) == 0) {
        for (int i = -10; i < N && rc == 0; i++) { /* the first ten warm up */
            if (i == 0)
                start = clock_mono_ns();
            rc = c.launch(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
            rc = rc ? rc : c.ctx_synchronize();
        }
        if (rc == 0)
            ns = (double)(clock_mono_ns() - start) / N;
    }
    if (c.ctx && rc)
        snprintf(note, DOC_NOTE, "the GPU refused an empty kernel (CUDA error %d)", rc);
    if (module)
        c.module_unload(module);
    cuda_close(&c);
    return ns;
}

/* Nanoseconds for one copy of BYTES from pinned memory. */
static double copy_ns(char *note, size_t bytes, int n)
{
    uint64_t device = 0, start = 0;
    void *host = NULL;
    struct cuda c;
    double ns = NAN;
    int rc = -1;

    if (cuda_open(&c, note) && (rc = c.mem_alloc(&device, bytes)) == 0 &&
        (rc = c.mem_alloc_host(&host, bytes)) == 0) {
        memset(host, 1, bytes);
        for (int i = -2; i < n && rc == 0; i++) {
            if (i == 0)
                start = clock_mono_ns();
            rc = c.copy_to_device(device, host, bytes);
        }
        if (rc == 0)
            ns = (double)(clock_mono_ns() - start) / n;
    }
    if (c.ctx && rc)
        snprintf(note, DOC_NOTE, "the GPU refused a copy (CUDA error %d)", rc);
    if (host)
        c.mem_free_host(host);
    if (device)
        c.mem_free(device);
    cuda_close(&c);
    return ns;
}

double doc_gpu_copy_small(char *note)
{
    return copy_ns(note, 4, 500);
}

double doc_gpu_copy_gbs(char *note)
{
    enum { BYTES = 64 << 20 };
    double ns = copy_ns(note, BYTES, 5);

    return BYTES / ns;
}
