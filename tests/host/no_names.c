// SPDX-License-Identifier: Apache-2.0
// Simulates a directory server that does not answer: a search for a user by NSS never returns.
#include <pwd.h>
#include <unistd.h>

static int hang(void) {
    for (;;)
        pause();
}

struct passwd* getpwnam(const char* name) {
    (void)name;
    hang();
    return NULL;
}

struct passwd* getpwuid(uid_t uid) {
    (void)uid;
    hang();
    return NULL;
}

int getpwnam_r(const char* name, struct passwd* entry, char* buffer, size_t size, struct passwd** found) {
    (void)name, (void)entry, (void)buffer, (void)size, (void)found;
    return hang();
}

int getpwuid_r(uid_t uid, struct passwd* entry, char* buffer, size_t size, struct passwd** found) {
    (void)uid, (void)entry, (void)buffer, (void)size, (void)found;
    return hang();
}
