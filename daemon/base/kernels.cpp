// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/kernels.hpp"

#include "daemon/base/parse.hpp"

namespace gpuhost::base {

bool kernel_is_installed(const Root& root, const std::string& kernel) {
    const std::string directory = "/lib/modules/" + kernel;
    return is_kernel_release(kernel) &&
           (root.exists(directory + "/kernel") || root.exists(directory + "/modules.builtin"));
}

std::vector<std::string> installed_kernels(const Root& root) {
    auto kernels = root.list("/lib/modules").value_or(std::vector<std::string>());
    std::erase_if(kernels, [&](const std::string& kernel) { return !kernel_is_installed(root, kernel); });
    return kernels;
}

} // namespace gpuhost::base
