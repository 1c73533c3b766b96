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
    std::size_t directory = 0; ///< index of its directory in the search path; a higher index has precedence
    bool ours = false;         ///< gpuhost wrote the file
    std::optional<Spec> spec;  ///< nullopt if the file can't be parsed
    std::vector<std::string> problems; ///< reasons for which runtimes refuse the file
    /// Sentences about parts that do not match the host, such as missing files. Containers with devices of
    /// the file then do not start, or get the wrong driver.
    std::vector<std::string> stale;

    [[nodiscard]] bool is_good() const { return problems.empty(); }
};

/// Checks the file at `path` with the content `text`. Never fails: the result contains all problems, also a
/// `text` that could not be read.
[[nodiscard]] SpecFile check_spec_file(const base::Root& host, const std::string& path,
                                       const base::Result<std::string>& text);

/// Returns the files in /etc/cdi and /run/cdi, by directory and name. Reads at most 1 MiB of each.
[[nodiscard]] std::vector<SpecFile> read_spec_files(const base::Root& host);

/// First line of gpuhost's files without a hook; YAML readers treat it as a comment. Files with a hook are
/// recognized by the hook's path.
inline constexpr std::string_view own_mark = "# Written by gpuhostd: section [CDI] of gpuhostd.conf(5)\n";
/// Returns true if gpuhost wrote the text: it contains the hook's path, or begins with the mark. Does not
/// parse the text, because another program may have written it.
[[nodiscard]] bool is_ours(std::string_view text);
/// Returns the version of the driver whose libraries `spec` mounts; "" if it mounts none.
[[nodiscard]] std::string driver_version(const Spec& spec);

/// A device as containers request it. If another file has a device with this name, `state` shows which one is
/// used.
struct DeviceClaim {
    enum class State {
        Used,
        Shadowed, ///< a file in a directory with higher precedence has the device too
        Conflict, ///< two files of one directory have the device, so no container gets it
    };
    std::string name; ///< "nvidia.com/gpu=0"
    const SpecFile* file;
    const SpecDevice* device;
    State state = State::Used;
    const SpecFile* other = nullptr; ///< the file that shadows or conflicts; nullptr if `state` is Used
};

/// Returns the devices of valid files, ordered by name: "gpu=2" precedes "gpu=10". They point into `files`.
[[nodiscard]] std::vector<DeviceClaim> device_claims(const std::vector<SpecFile>& files);

} // namespace gpuhost::runtime
