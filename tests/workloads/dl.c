/* dl.c - repeatedly load a library, work in it and unload it, then do the same with another, so
 * that both are mapped at the same addresses: 60 % in plugin_a, 40 % in plugin_b.
 * build: libdl-a.so gcc -O2 -g -shared -fPIC -DPLUGIN=plugin_a -DTIMES=6 -o @OUT@ @IN@
 * build: libdl-b.so gcc -O2 -g -shared -fPIC -DPLUGIN=plugin_b -DTIMES=4 -o @OUT@ @IN@
 * build: dl gcc -O2 -g -o @OUT@ @IN@ -ldl
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>

#ifdef PLUGIN
uint64_t PLUGIN(long n);
uint64_t PLUGIN(long n)
{
    uint64_t x = 88172645463325252u;

    for (long i = 0; i < n * TIMES; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
    }
    return x;
}
#else
#include <dlfcn.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>

static uint64_t use(const char *folder, const char *library, const char *name)
{
    char path[4096];
    void *handle;
    uint64_t (*plugin)(long);
    uint64_t x;

    snprintf(path, sizeof path, "%s/%s", folder, library);
    handle = dlopen(path, RTLD_NOW);
    if (!handle || !(plugin = (uint64_t(*)(long))dlsym(handle, name)))
        exit(1);
    x = plugin(400000);
    dlclose(handle);
    return x;
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 100;
    char *folder = dirname(argv[0]);
    uint64_t x = 0;

    for (int i = 0; i < rounds; i++) {
        x += use(folder, "libdl-a.so", "plugin_a");
        x += use(folder, "libdl-b.so", "plugin_b");
    }
    printf("%lu\n", (unsigned long)x);
    return 0;
}
#endif
