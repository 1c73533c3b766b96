// SPDX-License-Identifier: Apache-2.0
// What a bundle carries for other rooms than the images'. bundle.receive leaves the list in the transaction's staging
// directory; the steps of those rooms take what is theirs before bundle.commit makes the bundle be there.
#pragma once

#include "daemon/base/json.hpp"
#include "daemon/base/root.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::core {

struct ArtifactFile {
    std::string name; ///< "nvidia-smi_550.163.01-1_amd64.deb": a path component
    std::string path; ///< where its bytes lie, below the root; only as long as the transaction runs
    std::string sha256;
};

struct Artifact {
    std::string kind;    ///< "driver-packages", "driver-modules"
    std::string name;    ///< "550.163.01"
    std::string kernel;  ///< of modules that are built
    std::string flavour; ///< likewise; empty where the bundle does not say it
    std::vector<ArtifactFile> files;
};

struct Artifacts {
    std::vector<Artifact> list;
    bool known =
        false; ///< this very bundle was here before: whoever has what it carries need not take it again
};

[[nodiscard]] base::Result<void> write_artifacts(const base::Root& root, const std::string& staging,
                                                 const Artifacts& artifacts);
[[nodiscard]] base::Result<Artifacts> read_artifacts(const base::Root& root, const std::string& staging);

} // namespace gpuhost::core
