// SPDX-License-Identifier: Apache-2.0
// LD_PRELOAD library: kills a worker before its Nth change of a name. The file that DIE_AT names contains N,
// and the word "both" if the daemon is killed too. The file is removed first, so that one worker is killed.
#define _GNU_SOURCE // NOLINT(bugprone-reserved-identifier)
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

static void die_here(void) {
    static int count;
    const char* path = getenv("DIE_AT");
    if (path == NULL || strcmp(program_invocation_short_name, "fake-worker") != 0)
        return;
    FILE* file = fopen(path, "re");
    if (file == NULL)
        return;
    int wanted = 0;
    char who[16] = "";
    const int read = fscanf(file, "%d %15s", &wanted, who);
    fclose(file);
    if (read < 1 || ++count != wanted)
        return;
    syscall(SYS_unlinkat, AT_FDCWD, path, 0);
    if (strcmp(who, "both") == 0)
        kill(getppid(), SIGKILL);
    kill(getpid(), SIGKILL);
}

int renameat(int from_directory, const char* from, int to_directory, const char* to) {
    die_here();
    return (int)syscall(SYS_renameat2, from_directory, from, to_directory, to, 0);
}

int unlinkat(int directory, const char* name, int flags) {
    die_here();
    return (int)syscall(SYS_unlinkat, directory, name, flags);
}

int mkdirat(int directory, const char* name, mode_t mode) {
    die_here();
    return (int)syscall(SYS_mkdirat, directory, name, mode);
}
