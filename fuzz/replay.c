/* replay.c - replay-x FILE|FOLDER...: run a fuzz target on stored inputs.
 * SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned long done;

static void replay_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    uint8_t *data;
    long size;

    if (!f || fseek(f, 0, SEEK_END) < 0 || (size = ftell(f)) < 0) {
        fprintf(stderr, "replay: cannot read %s\n", path);
        exit(1);
    }
    rewind(f);
    /* Allocate the exact size, so that a sanitizer detects a read past the end. */
    data = malloc((size_t)size + !size);
    if (!data || fread(data, 1, (size_t)size, f) != (size_t)size)
        exit(1);
    fclose(f);
    LLVMFuzzerTestOneInput(data, (size_t)size);
    free(data);
    done++;
}

static void replay(const char *path)
{
    struct stat st;
    DIR *d;

    if (stat(path, &st) < 0) {
        fprintf(stderr, "replay: no %s\n", path);
        exit(1);
    }
    if (!S_ISDIR(st.st_mode)) {
        replay_file(path);
        return;
    }
    d = opendir(path);
    for (struct dirent *it; d && (it = readdir(d));) {
        char below[4096];

        if (it->d_name[0] == '.')
            continue;
        snprintf(below, sizeof below, "%s/%s", path, it->d_name);
        replay(below);
    }
    if (d)
        closedir(d);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        replay(argv[i]);
    printf("%lu inputs\n", done);
    return done == 0;
}
