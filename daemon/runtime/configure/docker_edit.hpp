// SPDX-License-Identifier: Apache-2.0
// Changes of Docker's daemon.json that keep the order of its keys and its indentation.
#pragma once

#include "daemon/base/json.hpp"
#include "daemon/base/result.hpp"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::runtime {

/// What is to be otherwise.
struct DockerEdit {
    std::optional<bool> cdi; ///< features.cdi
    bool drop_cdi = false;   ///< features.cdi is as if nobody had said it; `cdi` says nothing then
    std::map<std::string, std::string>
        runtimes; ///< name to path; one that has the path keeps what else it says
    std::map<std::string, base::Json>
        earlier_runtimes; ///< as they stood before `runtimes` were written over them
    std::vector<std::string> removed_runtimes;
    std::optional<std::string> default_runtime;        ///< of "" the key goes
    std::optional<std::vector<std::string>> spec_dirs; ///< cdi-spec-dirs; of none the key goes
};

/// No text is no file. Where nothing changes the text comes back as it is; of "features" and "runtimes" all other members
/// stay, and one that loses its last member goes. BadContent is what is no JSON object, or has another type in their place.
/// Refused is what an edit would lose something of: a key that is there twice, a number that would be written in another way.
[[nodiscard]] base::Result<std::string> edit_docker(std::string_view text, const DockerEdit& edit,
                                                    std::string_view what);

} // namespace gpuhost::runtime
