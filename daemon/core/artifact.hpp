// SPDX-License-Identifier: Apache-2.0
// The list of a bundle's files that are not container images, such as driver packages. The step
// bundle.receive writes it to the transaction's staging directory. Later steps of the driver's and the
// toolkit's subsystems import the files, before the step bundle.commit publishes the bundle.
#pragma once

#include "daemon/base/json_fwd.hpp"
#include "daemon/base/root.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::core {

struct ArtifactFile {
    std::string name; ///< "nvidia-smi_550.163.01-1_amd64.deb"; one path component
    std::string path; ///< the file's content, below the root; valid while the transaction runs
    std::string sha256;
};

struct Artifact {
    std::string kind;    ///< "driver-packages", "driver-modules"
    std::string name;    ///< "550.163.01"
    std::string kernel;  ///< release of the kernel that built modules are for; else empty
    std::string flavour; ///< "open" or "proprietary", of built modules; empty if the bundle does not name it
    std::vector<ArtifactFile> files;
};

struct Artifacts {
    std::vector<Artifact> list;
    /// True if the same bundle was imported before. A subsystem that still has these files need not import
    /// them again.
    bool known = false;
};

[[nodiscard]] base::Result<void> write_artifacts(const base::Root& root, const std::string& staging,
                                                 const Artifacts& artifacts);
[[nodiscard]] base::Result<Artifacts> read_artifacts(const base::Root& root, const std::string& staging);

} // namespace gpuhost::core
