// SPDX-License-Identifier: Apache-2.0
// Lists what a bundle carries for other subsystems than images. bundle.receive writes the list to the
// transaction's staging directory. The steps of those subsystems import their files before bundle.commit
// publishes the bundle.
#pragma once

#include "daemon/base/json.hpp"
#include "daemon/base/root.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::core {

struct ArtifactFile {
    std::string name; ///< "nvidia-smi_550.163.01-1_amd64.deb"; one path component
    std::string path; ///< of its content, below the root; valid while the transaction runs
    std::string sha256;
};

struct Artifact {
    std::string kind;    ///< "driver-packages", "driver-modules"
    std::string name;    ///< "550.163.01"
    std::string kernel;  ///< of built modules
    std::string flavour; ///< of built modules; empty if the bundle does not name it
    std::vector<ArtifactFile> files;
};

struct Artifacts {
    std::vector<Artifact> list;
    /// True if the same bundle was imported before: subsystems that have its files need not import them
    /// again.
    bool known = false;
};

[[nodiscard]] base::Result<void> write_artifacts(const base::Root& root, const std::string& staging,
                                                 const Artifacts& artifacts);
[[nodiscard]] base::Result<Artifacts> read_artifacts(const base::Root& root, const std::string& staging);

} // namespace gpuhost::core
