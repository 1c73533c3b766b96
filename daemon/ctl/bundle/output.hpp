// SPDX-License-Identifier: Apache-2.0
// Writes a bundle to one file, or to volumes: FILE.001, FILE.002 …
#pragma once

#include "daemon/ctl/cli/output_file.hpp"
#include "daemon/ctl/cli/verb.hpp"
#include "images/bundle/writer.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace gpuhost::ctl {

class Session;

inline constexpr Option volume_size_option{"volume-size", "SIZE",
                                           "split the bundle into volumes of at most SIZE bytes"};

/// Returns --volume-size rounded down to the alignment of a bundle's data; 0 without the option.
[[nodiscard]] base::Result<std::uint64_t> chosen_volume_size(const Session& session);

/// Writes the files of a bundle. They get their names in finish(), after all data has been written. Without
/// finish() no file remains.
class BundleFiles : public images::BundleOutput {
  public:
    /// `volume_size` is in bytes; 0: one file.
    BundleFiles(std::string path, std::uint64_t volume_size)
        : path_(std::move(path)), volume_size_(volume_size) {}

    /// Fails with InvalidArgument if there would be more volumes than one import accepts.
    [[nodiscard]] base::Result<void> begin(std::uint64_t size) override;
    [[nodiscard]] base::Result<void> write(std::string_view bytes) override;
    /// Gives the files their names. Also removes volumes FILE.* with higher numbers, which an earlier, larger
    /// bundle left.
    [[nodiscard]] base::Result<void> finish();
    /// Valid after finish(): "FILE", or "FILE.001", …
    [[nodiscard]] const std::vector<std::string>& names() const { return names_; }

  private:
    [[nodiscard]] base::Result<void> next_file();

    std::string path_;
    std::uint64_t volume_size_;
    std::vector<OutputFile> files_;
    std::uint64_t written_ = 0; ///< bytes in the last file
    std::vector<std::string> names_;
};

/// Returns "FILE" or "FILE.001 to FILE.007".
[[nodiscard]] std::string described(const BundleFiles& files);

} // namespace gpuhost::ctl
