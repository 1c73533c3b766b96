// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/base/root_shim.h"

#include "daemon/base/root.hpp"

int shim_write_atomic(const char* directory, const char* content) {
    const auto root = gpuhost::base::Root::open(directory);
    return root && root->write_atomic("/file", content) ? 0 : -1;
}
