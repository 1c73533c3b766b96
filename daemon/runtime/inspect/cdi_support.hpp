// SPDX-License-Identifier: Apache-2.0
// The CDI versions that container runtimes read. A runtime ignores a whole file if its version is newer.
#pragma once

#include "daemon/runtime/inspect/instance.hpp"

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace gpuhost::runtime {

/// Returns the newest CDI version that this version of a runtime reads, among those that gpuhostd generates:
/// "0.7.0". Empty if the runtime reads none of them, or if its version is not known.
[[nodiscard]] std::string newest_cdi(RuntimeKind kind, const std::optional<RuntimeVersion>& version);
/// Returns the first version of a runtime that reads gpuhostd's lowest CDI version, for messages: "4.3".
[[nodiscard]] std::string first_with_cdi(RuntimeKind kind);

/// Returns true if a runtime whose newest_cdi() is `newest` reads a specification of CDI `version`. An empty
/// `version` means that there is no specification.
[[nodiscard]] bool reads_cdi(std::string_view newest, std::string_view version);
/// Returns the sentence for a runtime that does not read CDI `version`, with an instruction.
[[nodiscard]] std::string too_new_text(std::string_view version);

/// The limits that a host's runtimes set for the CDI version that gpuhostd writes.
struct CdiReaders {
    /// A runtime that does not read CDI 0.7.0 or has an unknown version: "podman 4.3.1". Empty if there is
    /// none.
    std::string old;
    /// Maps each path that a runtime's program may have to its stamp_of(). The stamp is empty if there is no
    /// program at the path.
    std::map<std::string, std::string> programs;
};
/// Examines all runtimes of the host. Runs their programs to get their versions.
[[nodiscard]] CdiReaders find_cdi_readers(const base::Root& host);

} // namespace gpuhost::runtime
