// SPDX-License-Identifier: Apache-2.0
// The file that a bundle is written to, or the volumes that it is split into: FILE.001, FILE.002 …
#pragma once

#include "daemon/ctl/cli/output_file.hpp"
#include "daemon/ctl/cli/verb.hpp"
#include "images/bundle/writer.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace gpuhost::ctl {

class Session;

inline constexpr Option volume_size_option{"volume-size", "SIZE", "split it into volumes of at most SIZE"};

/// Of --volume-size: 0 if it is not given, else a multiple of the alignment of a bundle's data.
[[nodiscard]] base::Result<std::uint64_t> chosen_volume_size(const Session& session);

/// Names are given when all of it is written; without finish() nothing is left.
class BundleFiles : public images::BundleOutput {
  public:
    /// `volume_size` 0: one file.
    BundleFiles(std::string path, std::uint64_t volume_size)
        : path_(std::move(path)), volume_size_(volume_size) {}

    /// InvalidArgument if an import could not take so many volumes.
    [[nodiscard]] base::Result<void> begin(std::uint64_t size) override;
    [[nodiscard]] base::Result<void> write(std::string_view bytes) override;
    /// Volumes that a larger bundle of this name had go: FILE.* is this one.
    [[nodiscard]] base::Result<void> finish();
    /// Once it is finished: "FILE", or "FILE.001", …
    [[nodiscard]] const std::vector<std::string>& names() const { return names_; }

  private:
    [[nodiscard]] base::Result<void> next_file();

    std::string path_;
    std::uint64_t volume_size_;
    std::vector<OutputFile> files_;
    std::uint64_t written_ = 0; ///< to the last of them
    std::vector<std::string> names_;
};

/// "FILE", "FILE.001 to FILE.007".
[[nodiscard]] std::string described(const BundleFiles& files);

} // namespace gpuhost::ctl
