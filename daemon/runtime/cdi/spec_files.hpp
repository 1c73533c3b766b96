// SPDX-License-Identifier: Apache-2.0
// The specifications that container runtimes on a host read, whoever wrote them.
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
    std::size_t directory = 0; ///< its place among those that are read: a later one outranks
    bool ours = false;
    std::optional<Spec> spec;          ///< nothing if it can't be read as one
    std::vector<std::string> problems; ///< for which runtimes refuse the file
    std::vector<std::string>
        stale; ///< what it says of the host and is not so: containers won't start, or with the wrong driver

    [[nodiscard]] bool is_good() const { return problems.empty(); }
};

/// A file that says `text`. Whatever is wrong with it, also that it can't be read, is in the result.
[[nodiscard]] SpecFile check_spec_file(const base::Root& host, const std::string& path,
                                       const base::Result<std::string>& text);

/// All in /etc/cdi and /run/cdi, by directory and name; each of at most 1 MiB.
[[nodiscard]] std::vector<SpecFile> read_spec_files(const base::Root& host);

/// The first line of files of ours in which no hook is. What reads YAML takes it for a comment.
inline constexpr std::string_view own_mark = "# Written by gpuhostd: section [CDI] of gpuhostd.conf(5)\n";
/// Did we write a file that says `text`: is our hook or our mark in it? Nothing is parsed of what may be another's.
[[nodiscard]] bool is_ours(std::string_view text);
/// Of the driver whose libraries it mounts; empty: of none.
[[nodiscard]] std::string driver_version(const Spec& spec);

/// A device as containers ask for it, and who else claims its name.
struct DeviceClaim {
    enum class State {
        Used,
        Shadowed, ///< by a file in a directory that outranks
        Conflict, ///< two files of one directory have it: nobody gets it of any
    };
    std::string name; ///< "nvidia.com/gpu=0"
    const SpecFile* file;
    const SpecDevice* device;
    State state = State::Used;
    const SpecFile* other = nullptr; ///< if not used
};

/// Of files that runtimes take, ordered by name: "gpu=2" is before "gpu=10". They point into `files`.
[[nodiscard]] std::vector<DeviceClaim> device_claims(const std::vector<SpecFile>& files);

} // namespace gpuhost::runtime
