// SPDX-License-Identifier: Apache-2.0
// Uses cmocka with the same seam as root_sync_test.cpp. The mock always has a value to return, because a
// failed assertion in it would jump over C++ frames.
#include "tests/support/sync_seam.h"
#include "tests/unit/base/root_shim.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// cmocka.h needs these headers first.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

static int cmocka_fsync(int fd) {
    (void)fd;
    errno = EIO;
    return mock_type(int);
}

static int set_up(void** state) {
    char* directory = strdup("/tmp/gpuhost-test-XXXXXX");
    seam_sync = cmocka_fsync;
    seam_count = 0;
    *state = directory;
    return directory == NULL || mkdtemp(directory) == NULL;
}

static int tear_down(void** state) {
    char path[64];
    seam_sync = NULL;
    (void)snprintf(path, sizeof path, "%s/file", (char*)*state);
    (void)unlink(path);
    const int failed = rmdir(*state); // fails when a temporary file was left
    free(*state);
    return failed;
}

static void writes_when_all_is_synced(void** state) {
    will_return_count(cmocka_fsync, 0, 2);
    assert_int_equal(shim_write_atomic(*state, "new"), 0);
    assert_int_equal(seam_count, 2);
    assert_false(seam_synced[0].directory);
    assert_string_equal(seam_synced[0].content, "new");
    assert_true(seam_synced[1].directory);
}

static void fails_when_the_file_is_not(void** state) {
    will_return(cmocka_fsync, -1);
    assert_int_equal(shim_write_atomic(*state, "new"), -1);
}

static void fails_when_the_directory_is_not(void** state) {
    will_return(cmocka_fsync, 0);
    will_return(cmocka_fsync, -1);
    assert_int_equal(shim_write_atomic(*state, "new"), -1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(writes_when_all_is_synced, set_up, tear_down),
        cmocka_unit_test_setup_teardown(fails_when_the_file_is_not, set_up, tear_down),
        cmocka_unit_test_setup_teardown(fails_when_the_directory_is_not, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("root_sync", tests, NULL, NULL);
}
