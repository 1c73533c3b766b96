// SPDX-License-Identifier: Apache-2.0
// cmocka.h requires the other headers before it.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

static void good(void** state) {
    (void)state;
}

static void bad(void** state) {
    (void)state;
    assert_int_equal(1, 2);
}

static void skipped(void** state) {
    (void)state;
    skip();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        {"sample.good", good, NULL, NULL, NULL},
        {"sample.bad", bad, NULL, NULL, NULL},
        {"sample.skipped", skipped, NULL, NULL, NULL},
    };
    return cmocka_run_group_tests_name("sample", tests, NULL, NULL);
}
