// SPDX-License-Identifier: Apache-2.0
// The input of 'upgrade': the words of its command line, told apart by their form and by the files' content.
#pragma once

#include "daemon/ctl/cli/input_files.hpp"

#include <string>
#include <vector>

namespace gpuhost::ctl {

struct UpgradeInput {
    enum class Kind {
        None,    ///< only what the store has
        Bundle,  ///< a signed bundle in files
        Stream,  ///< a signed bundle from standard input or another pipe, which can be read only once
        Drivers, ///< driver packages and modules
        Peer,    ///< a bundle that other hosts of the site have
    };
    Kind kind = Kind::None;
    std::string version;            ///< the named driver version; empty: none
    std::vector<std::string> paths; ///< of a bundle: its file, its volumes in order, or "-"
    DriverInputFiles drivers;
    bool has_imported_packages = false; ///< of `drivers`, so that only the modules are left
    std::string peer_bundle;            ///< name of the bundle

    [[nodiscard]] bool is_bundle() const { return kind == Kind::Bundle || kind == Kind::Stream; }
    /// Returns a noun for messages: "the import of /media/usb/site.bundle".
    [[nodiscard]] std::string noun() const;
};

/// Recognizes the words. A word of digits and dots is a driver version; a file of such a name needs a path,
/// "./550.163.01". A bundle is a tar archive whose first member is the signed manifest. `peer` is the value
/// of --peer; empty: not given.
[[nodiscard]] base::Result<UpgradeInput> recognize_input(const std::vector<std::string>& words,
                                                         const std::string& peer);

} // namespace gpuhost::ctl
