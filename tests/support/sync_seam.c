// SPDX-License-Identifier: Apache-2.0
#include "tests/support/sync_seam.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

int (*seam_sync)(int fd) = NULL;
struct seam_synced seam_synced[8];
size_t seam_count = 0;

// Opens the file again, because a descriptor that is synced is usually write-only.
static void read_content(int fd, char* content, size_t size) {
    char path[32];
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    const int again = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t length = read(again, content, size - 1);
    content[length < 0 ? 0 : length] = '\0';
    (void)close(again);
}

static void record(int fd) {
    struct stat st;
    if (seam_count == sizeof seam_synced / sizeof *seam_synced || fstat(fd, &st) < 0)
        abort();
    struct seam_synced* synced = &seam_synced[seam_count++];
    synced->directory = S_ISDIR(st.st_mode);
    synced->content[0] = '\0';
    if (!synced->directory)
        read_content(fd, synced->content, sizeof synced->content);
}

static int instead(int fd) {
    record(fd);
    return seam_sync(fd);
}

int __wrap_fsync(int fd) {
    return seam_sync == NULL ? __real_fsync(fd) : instead(fd);
}

int __wrap_fdatasync(int fd) {
    return seam_sync == NULL ? __real_fdatasync(fd) : instead(fd);
}
