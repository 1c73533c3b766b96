// SPDX-License-Identifier: Apache-2.0
#include "kmod/build/log_file.hpp"

namespace gpuhost::kmod {

base::Result<LogFile> LogFile::create(const base::Root& root, const std::string& path) {
    GPUHOST_CHECK(root.make_directories(path.substr(0, path.rfind('/'))));
    GPUHOST_TRY(fd, root.open_file(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0644));
    return LogFile(std::move(fd));
}

void LogFile::line(std::string_view text) {
    if (room_ == 0)
        return;
    const bool fits = text.size() + 1 < room_;
    const std::string written =
        fits ? std::string(text) : "Output truncated: the log has reached its size limit.";
    (void)base::write_all(fd_.get(), written + "\n", "log");
    room_ = fits ? room_ - text.size() - 1 : 0;
}

} // namespace gpuhost::kmod
