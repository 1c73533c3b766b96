// SPDX-License-Identifier: Apache-2.0
// Which versions of the Container Device Interface container runtimes read. A runtime that meets a newer specification
// ignores the whole file.
#pragma once

#include "daemon/runtime/inspect/instance.hpp"

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace gpuhost::runtime {

/// Returns the newest version of CDI, of those that gpuhostd makes, that this version of a runtime reads: "0.7.0". Empty where it
/// reads none of them, or where its version is not known.
[[nodiscard]] std::string newest_cdi(RuntimeKind kind, const std::optional<RuntimeVersion>& version);
/// Returns the first version of a runtime that reads what gpuhostd makes at the least, for messages: "4.3".
[[nodiscard]] std::string first_with_cdi(RuntimeKind kind);

/// Returns whether a runtime with `newest` reads a specification of `version`. An empty version is that of no specification.
[[nodiscard]] bool reads_cdi(std::string_view newest, std::string_view version);
/// Returns what a person is to do where it does not.
[[nodiscard]] std::string too_new_text(std::string_view version);

/// What the runtimes of a host mean for the version of its specifications.
struct CdiReaders {
    std::string
        old; ///< "podman 4.3.1": it does not read CDI 0.7.0, or its version is not known; empty: there is none
    std::map<std::string, std::string>
        programs; ///< path → what stamp_of() says of it, also where there is none yet
};
/// Asks each runtime's program for its version.
[[nodiscard]] CdiReaders find_cdi_readers(const base::Root& host);

} // namespace gpuhost::runtime
