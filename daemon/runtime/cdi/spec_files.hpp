// SPDX-License-Identifier: Apache-2.0
// The specifications that a host's container runtimes read, from gpuhost and from other tools.
#pragma once

#include "daemon/base/root.hpp"
#include "daemon/runtime/cdi/spec.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::runtime {

struct SpecFile {
    std::string path;
    std::size_t directory = 0; ///< its index in the search path: later ones take precedence
    bool ours = false;
    std::optional<Spec> spec;          ///< nothing if it can't be parsed
    std::vector<std::string> problems; ///< reasons for which runtimes refuse the file
    /// Sentences on where it does not match the host. Containers do not start, or get the wrong driver.
    std::vector<std::string> stale;

    [[nodiscard]] bool is_good() const { return problems.empty(); }
};

/// Checks a file with this text. All problems are in the result, also that it could not be read.
[[nodiscard]] SpecFile check_spec_file(const base::Root& host, const std::string& path,
                                       const base::Result<std::string>& text);

/// Returns the files in /etc/cdi and /run/cdi, by directory and name. Reads at most 1 MiB of each.
[[nodiscard]] std::vector<SpecFile> read_spec_files(const base::Root& host);

/// The first line of gpuhost's files that contain no hook. YAML readers treat it as a comment.
inline constexpr std::string_view own_mark = "# Written by gpuhostd: section [CDI] of gpuhostd.conf(5)\n";
/// Returns whether gpuhost wrote the text: it contains the hook or the mark. Does not parse it, since it may
/// be another program's.
[[nodiscard]] bool is_ours(std::string_view text);
/// Returns the version of the driver whose libraries it mounts; empty: none.
[[nodiscard]] std::string driver_version(const Spec& spec);

/// A device as containers request it, and the other file that claims its name.
struct DeviceClaim {
    enum class State {
        Used,
        Shadowed, ///< by a file in a directory with higher precedence
        Conflict, ///< two files of one directory have it, so it is unavailable
    };
    std::string name; ///< "nvidia.com/gpu=0"
    const SpecFile* file;
    const SpecDevice* device;
    State state = State::Used;
    const SpecFile* other = nullptr; ///< set unless `state` is Used
};

/// Returns the devices of valid files, ordered by name: "gpu=2" precedes "gpu=10". They point into `files`.
[[nodiscard]] std::vector<DeviceClaim> device_claims(const std::vector<SpecFile>& files);

} // namespace gpuhost::runtime
