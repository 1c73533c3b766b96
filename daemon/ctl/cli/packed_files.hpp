// SPDX-License-Identifier: Apache-2.0
// Packs files of this host into one archive, if they are too many to pass to gpuhostd one by one.
#pragma once

#include "daemon/base/page_buffer.hpp"
#include "daemon/base/root.hpp"
#include "daemon/client/client.hpp"
#include "daemon/content/archive/tar_writer.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace gpuhost::ctl {

/// A tar archive in an unnamed file below $TMPDIR or /var/tmp. Fails with BadContent if it would have more
/// than 20,000 files or 2 GiB.
class PackedFiles {
  public:
    /// `name` is NAME-VERSION. The first file must be below usr/src/NAME-VERSION/, which shows gpuhostd what
    /// the archive is. For the source of a driver, all files must be below this directory.
    [[nodiscard]] static base::Result<PackedFiles> create(std::string name);

    /// Adds a regular file. Fails if `path` is a symbolic link. Fails with BadContent if it is a directory, a
    /// FIFO or a device.
    [[nodiscard]] base::Result<void> add_file(const base::Root& root, const std::string& path,
                                              const std::string& name_in_tar);
    [[nodiscard]] base::Result<void> add_link(const std::string& name_in_tar, const std::string& target);
    [[nodiscard]] base::Result<void> add_text(const std::string& name_in_tar, const std::string& text);
    [[nodiscard]] base::Result<client::InputFile> finish();

  private:
    PackedFiles(std::string name, base::UniqueFd fd, content::TarWriter tar)
        : name_(std::move(name)), fd_(std::move(fd)), tar_(std::move(tar)) {}
    [[nodiscard]] base::Result<void> count(std::uint64_t bytes);
    [[nodiscard]] base::Result<void> copy(int fd, std::uint64_t size, const std::string& what);

    std::string name_;
    base::UniqueFd fd_;
    content::TarWriter tar_;
    base::PageBuffer buffer_{std::size_t{256} << 10U};
    std::size_t files_ = 0;
    std::uint64_t bytes_ = 0;
};

} // namespace gpuhost::ctl
