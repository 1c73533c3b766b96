// SPDX-License-Identifier: Apache-2.0
#include "daemon/host/manager/kubelet_files.hpp"

#include "daemon/base/json.hpp"

#include <cerrno>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace gpuhost::host {

using base::Errc;
using base::Json;
using base::Result;

namespace {

constexpr std::size_t longest = 64U << 10U;
constexpr std::size_t most_files = 64;

Result<std::string> read_one(const base::Root& root, const std::string& path) {
    GPUHOST_TRY(file, root.open_file(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    struct stat st {};
    if (::fstat(file.get(), &st) != 0)
        return base::fail(base::errno_error(path, errno));
    if (!S_ISREG(st.st_mode))
        return base::fail(Errc::Refused, "'" + path + "' is not a regular file");
    if ((st.st_uid != 0 && st.st_uid != ::geteuid()) || (st.st_mode & (S_IWGRP | S_IWOTH)) != 0)
        return base::fail(Errc::Refused, "'" + path + "' is writable by users other than root");
    return base::read_all(file.get(), longest, path);
}

} // namespace

Json read_kubelet_files(const base::Root& root, const std::vector<std::string>& paths) {
    Json files = Json::object();
    Json problems = Json::array();
    for (const std::string& path : paths) {
        if (files.size() == most_files) {
            problems.push_back("'" + path + "' and the files after it are left out: more than " +
                               std::to_string(most_files) + " files");
            break;
        }
        if (path.empty() || path.front() != '/') {
            problems.push_back("'" + path + "' is not an absolute path");
            continue;
        }
        auto text = read_one(root, path);
        if (text)
            files[path] = std::move(*text);
        else if (text.error().code != Errc::NotFound)
            problems.push_back(text.error().message);
    }
    return {{"files", std::move(files)}, {"problems", std::move(problems)}};
}

} // namespace gpuhost::host
