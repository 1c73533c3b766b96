// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/gpu/mig_minors.hpp"

#include "daemon/base/parse.hpp"

namespace gpuhost::runtime {

using base::Errc;
using base::Result;

namespace {

constexpr std::uint64_t last_minor = (1U << 20U) - 1;

std::string gpu_instance_name(unsigned gpu, unsigned instance) {
    return "gpu" + std::to_string(gpu) + "/gi" + std::to_string(instance);
}

} // namespace

Result<MigMinors> MigMinors::parse(std::string_view text) {
    MigMinors parsed;
    std::size_t number = 0;
    for (const std::string& line : base::split(text, '\n')) {
        ++number;
        if (line.empty())
            continue;
        const auto wrong = [&](const char* what) {
            return base::fail(Errc::BadContent, "line " + std::to_string(number) + " of " +
                                                    std::string(mig_minors_file) + " " + what);
        };
        const auto blank = line.find(' ');
        const auto minor =
            blank == std::string::npos ? std::nullopt : base::parse_uint(line.substr(blank + 1));
        if (blank == 0 || !minor || *minor > last_minor)
            return wrong("is not a capability with its minor number");
        const auto [entry, is_new] = parsed.minors_.emplace(line.substr(0, blank), *minor);
        if (!is_new && entry->second != *minor)
            return wrong("gives a capability a second minor number");
    }
    return parsed;
}

std::optional<std::string> MigMinors::of_gpu_instance(unsigned gpu, unsigned instance) const {
    return node(gpu_instance_name(gpu, instance) + "/access");
}

std::optional<std::string> MigMinors::of_compute_instance(unsigned gpu, unsigned gpu_instance,
                                                          unsigned instance) const {
    return node(gpu_instance_name(gpu, gpu_instance) + "/ci" + std::to_string(instance) + "/access");
}

std::optional<std::string> MigMinors::node(const std::string& capability) const {
    const auto found = minors_.find(capability);
    if (found == minors_.end())
        return std::nullopt;
    return "/dev/nvidia-caps/nvidia-cap" + std::to_string(found->second);
}

} // namespace gpuhost::runtime
