// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/configure/change.hpp"

#include "daemon/base/parse.hpp"
#include "daemon/runtime/inspect/files.hpp"

#include <algorithm>

namespace gpuhost::runtime {

using base::Errc;
using base::Result;

std::vector<std::string> changeable_files(const RuntimeInstance& instance) {
    std::vector<std::string> paths;
    if (const std::string drop_in = drop_in_of(instance); !drop_in.empty())
        paths.push_back(drop_in);
    if (instance.kind != RuntimeKind::Crio)
        paths.push_back(instance.config);
    return paths;
}

RuntimeState without_ours(const RuntimeState& state) {
    const std::string drop_in = drop_in_of(state.instance);
    std::vector<ConfigFile> files = state.files;
    std::erase_if(files, [&](const ConfigFile& file) { return file.path == drop_in; });
    return configured(state.instance, std::move(files));
}

Result<RuntimeChange> runtime_change(const RuntimeState& state, const DesiredConfig& desired,
                                     const std::map<std::string, Text>& texts, const KnownFiles& known) {
    Result<RuntimeChange> change =
        state.instance.kind == RuntimeKind::Docker ? docker_change(state, desired, texts, known)
        : state.instance.kind == RuntimeKind::Crio ? crio_change(state, desired, texts)
                                                   : containerd_change(state, desired, texts);
    if (!change)
        return change;
    const auto& problems = change->after.config.problems;
    if (!problems.empty() && state.config.problems.empty())
        return base::fail(Errc::Refused,
                          "the change would make its configuration invalid: " + problems.front());
    if (const auto left = lacking(change->after.config, desired); !left.empty())
        return base::fail(
            Errc::Refused,
            "another file overrides gpuhost's part of the configuration: " + base::join(left, ", "),
            "See 'gpuhostctl runtime show " + state.instance.name + "' for the files that it reads.");
    return change;
}

} // namespace gpuhost::runtime
