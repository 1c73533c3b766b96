// SPDX-License-Identifier: Apache-2.0
#include "daemon/content/set/file_operation.hpp"

#include "daemon/base/parse.hpp"

namespace gpuhost::content {
namespace {

constexpr std::string_view state_directory = "/var/lib/gpuhost/";
constexpr mode_t readable = 0644;

} // namespace

bool is_ours(const base::Root& root, std::string_view path) {
    if (base::starts_with(path, state_directory))
        return true;
    const auto st = root.lstat(path);
    if (!st)
        return st.error().code == base::Errc::NotFound;
    if (S_ISLNK(st->st_mode))
        return base::starts_with(root.read_link(path).value_or(std::string()), state_directory);
    if (S_ISDIR(st->st_mode)) // another program may have removed the files and left the directory
        return root.list(path).value_or(std::vector<std::string>{"unreadable"}).empty();
    return S_ISREG(st->st_mode) && base::starts_with(root.read(path).value_or(std::string()), file_mark);
}

bool is_done(const base::Root& root, const FileOperation& operation) {
    switch (operation.type) {
    case FileOperation::Type::Link:
        return root.read_link(operation.path).value_or(std::string()) == operation.content;
    case FileOperation::Type::Write:
        return root.read(operation.path).value_or(std::string()) == operation.content;
    case FileOperation::Type::Remove:
        return !root.exists(operation.path);
    }
    return false;
}

base::Result<void> perform(const base::Root& root, const FileOperation& operation) {
    const std::string& path = operation.path;
    if (is_done(root, operation))
        return {};
    if (!is_ours(root, path))
        return base::fail(base::Errc::AlreadyExists, "'" + path + "' belongs to another program",
                          "Remove the package that installed it, or move it away.");
    const std::string directory = path.substr(0, path.rfind('/'));
    if (operation.type == FileOperation::Type::Remove) {
        GPUHOST_CHECK(root.remove(path));
        return root.sync_directory(directory);
    }
    GPUHOST_CHECK(root.make_directories(directory));
    if (const auto st = root.lstat(path); st && S_ISDIR(st->st_mode))
        GPUHOST_CHECK(root.remove(path)); // a rename cannot replace a directory
    return operation.type == FileOperation::Type::Link ? root.symlink_atomic(operation.content, path)
                                                       : root.write_atomic(path, operation.content, readable);
}

} // namespace gpuhost::content
