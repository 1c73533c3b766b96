// SPDX-License-Identifier: Apache-2.0
// LD_PRELOAD library: measures a program's event loop. A pass of the loop is the time from the return of a wait
// to the next one. A wait is epoll_wait(), or poll() for two descriptors, which gpuhost-cluster uses. The loop
// is the first epoll descriptor, or second descriptor of poll(), with a wait that may block. Writes the longest
// pass, in microseconds, to $LOOP_WATCH/PROGRAM.PID.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

static int loop = -1;
static long long returned; // 0 before the first wait
static long long longest;

static long long now_us(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000LL + now.tv_nsec / 1000;
}

static void end_pass(int descriptor, int may_block) {
    if (loop < 0 && may_block)
        loop = descriptor;
    const char* directory = getenv("LOOP_WATCH");
    const long long pass = returned ? now_us() - returned : 0;
    if (directory == NULL || descriptor != loop || pass <= longest)
        return;
    longest = pass;
    char path[4096];
    snprintf(path, sizeof path, "%s/%s.%d", directory, program_invocation_short_name, (int)getpid());
    FILE* file = fopen(path, "we");
    if (file != NULL) {
        fprintf(file, "%lld\n", longest);
        fclose(file);
    }
}

static void begin_pass(int descriptor) {
    const int error = errno;
    if (descriptor == loop)
        returned = now_us();
    errno = error;
}

int epoll_wait(int epoll, struct epoll_event* events, int most, int timeout) {
    int (*next)(int, struct epoll_event*, int, int) = dlsym(RTLD_NEXT, "epoll_wait");
    end_pass(epoll, timeout != 0);
    const int count = next(epoll, events, most, timeout);
    begin_pass(epoll);
    return count;
}

int poll(struct pollfd* fds, nfds_t count, int timeout) {
    int (*next)(struct pollfd*, nfds_t, int) = dlsym(RTLD_NEXT, "poll");
    if (count != 2)
        return next(fds, count, timeout);
    end_pass(fds[1].fd, timeout != 0);
    const int ready = next(fds, count, timeout);
    begin_pass(fds[1].fd);
    return ready;
}
