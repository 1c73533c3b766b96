// SPDX-License-Identifier: Apache-2.0
// The versions of the Container Device Interface that container runtimes read. A runtime ignores a file with
// a newer version completely.
#pragma once

#include "daemon/runtime/inspect/instance.hpp"

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace gpuhost::runtime {

/// Returns the newest CDI version, among those that gpuhostd generates, that this version of a runtime reads:
/// "0.7.0". Empty if it reads none of them or if its version is not known.
[[nodiscard]] std::string newest_cdi(RuntimeKind kind, const std::optional<RuntimeVersion>& version);
/// Returns the first version of a runtime that reads gpuhostd's lowest CDI version, for messages: "4.3".
[[nodiscard]] std::string first_with_cdi(RuntimeKind kind);

/// Returns whether a runtime with `newest` reads a specification of `version`. An empty version means that
/// there is no specification.
[[nodiscard]] bool reads_cdi(std::string_view newest, std::string_view version);
/// Returns instructions for a runtime that does not read it.
[[nodiscard]] std::string too_new_text(std::string_view version);

/// Limits that a host's runtimes set on the CDI version.
struct CdiReaders {
    /// "podman 4.3.1": does not read CDI 0.7.0, or its version is not known; empty: there is none.
    std::string old;
    /// Path → its stamp_of(). Includes paths without a program.
    std::map<std::string, std::string> programs;
};
/// Asks each runtime's program for its version.
[[nodiscard]] CdiReaders find_cdi_readers(const base::Root& host);

} // namespace gpuhost::runtime
