// SPDX-License-Identifier: Apache-2.0
// apt with a root of its own: other sources, keys, lists and package status than those of this machine,
// which it neither reads nor changes. Needs no privileges.
#pragma once

#include "daemon/ctl/collect/apt_text.hpp"
#include "daemon/ctl/collect/programs.hpp"
#include "daemon/ctl/collect/request.hpp"

#include <functional>
#include <string>
#include <vector>

namespace gpuhost::ctl {

class Apt {
  public:
    /// Prepares apt, and fetches nothing. Indexes and packages are in `directory`. The configuration is in
    /// `private_directory`, as it may have passwords of proxies and archives. Both are absolute paths. Fails
    /// with NotFound if a keyring does not exist. `programs` must outlive the object.
    [[nodiscard]] static base::Result<Apt> open(const Programs& programs, const CollectRequest& request,
                                                std::string directory, std::string private_directory);

    /// Fetches the archive's index and verifies its signature. Fails if any of its parts can't be fetched.
    [[nodiscard]] base::Result<void> update() const;
    /// Returns all versions of the packages that the archive has, in the order of the archive's preference.
    /// Skips names that it does not have. A word may be "NAME=VERSION".
    [[nodiscard]] base::Result<std::vector<ArchivePackage>> show(const std::vector<std::string>& words) const;
    /// Returns the names in the archive that begin with `prefix`.
    [[nodiscard]] base::Result<std::vector<std::string>> names(const std::string& prefix) const;
    /// Returns the packages and their dependencies that a host lacks, sorted by name. `words` may have paths
    /// of .deb files, which are not in the result.
    [[nodiscard]] base::Result<std::vector<ArchivePackage>>
    resolve(const std::vector<std::string>& words) const;
    /// Sets the URL of each package.
    [[nodiscard]] base::Result<void> add_urls(std::vector<ArchivePackage>& packages) const;
    /// Downloads packages into the directory `incoming()`. Calls `on_begin` with the name of each when its
    /// download begins. Returns apt's output if not all were downloaded, else an empty text.
    [[nodiscard]] base::Result<std::string>
    download(const std::vector<ArchivePackage>& packages,
             const std::function<void(const std::string& name)>& on_begin) const;

    [[nodiscard]] std::string incoming() const { return directory_ + "/incoming"; }
    /// Returns the path at which download() writes a package.
    [[nodiscard]] std::string incoming(const ArchivePackage& package) const;

  private:
    Apt(const Programs& programs, std::string directory, std::string private_directory,
        std::string architecture)
        : programs_(&programs), directory_(std::move(directory)), private_(std::move(private_directory)),
          architecture_(std::move(architecture)) {}
    [[nodiscard]] base::Result<void> write_configuration(const CollectRequest& request) const;
    [[nodiscard]] base::Result<void> copy_keyrings(const CollectRequest& request) const;
    [[nodiscard]] Programs::Call call(std::string program, std::vector<std::string> words) const;

    const Programs* programs_;
    std::string directory_;
    std::string private_;
    std::string architecture_;
};

} // namespace gpuhost::ctl
