// SPDX-License-Identifier: Apache-2.0
#include "images/create/package_workshop.hpp"

#include "daemon/base/parse.hpp"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include <unistd.h>

namespace gpuhost::images {

using base::Errc;
using base::Result;
namespace fs = std::filesystem;

namespace {

/// A tool may have to read many packages, or wait for a passphrase.
constexpr std::chrono::hours tool_deadline{6};
/// Name of the file for the standard output of the running tool.
constexpr const char* written = "written";

/// Returns the environment variables that gpg needs to find its keys and to ask for a passphrase.
std::vector<std::string> passed_environment() {
    std::vector<std::string> passed;
    for (const char* name : {"HOME", "GNUPGHOME", "GPG_TTY", "TERM", "DISPLAY", "WAYLAND_DISPLAY",
                             "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS"})
        if (const char* const value = std::getenv(name)) // NOLINT(concurrency-mt-unsafe): one thread
            passed.push_back(std::string(name) + "=" + value);
    return passed;
}

} // namespace

Result<Workshop> Workshop::open(const std::string& scratch) {
    Workshop shop;
    std::string name = scratch + "/.gpuhost-packages-XXXXXX";
    if (::mkdtemp(name.data()) == nullptr)
        return base::fail_errno(name, errno);
    shop.directory_ = std::move(name);
    std::error_code error;
    fs::create_directory(shop.tree(), error);
    if (error)
        return base::fail_errno(shop.tree(), error.value());
    return shop;
}

Workshop::Workshop(Workshop&& other) noexcept
    : interrupt_(std::move(other.interrupt_)), directory_(std::exchange(other.directory_, {})) {}

Workshop::~Workshop() {
    std::error_code ignored;
    if (!directory_.empty())
        fs::remove_all(directory_, ignored);
}

Result<base::Finished> Workshop::attempt(const Tool& tool, std::vector<std::string> words) const {
    base::Command command;
    command.argv = {"/bin/sh", "-c", "exec \"$@\" >\"$0\"", path(written), tool.program};
    std::move(words.begin(), words.end(), std::back_inserter(command.argv));
    command.environment = passed_environment();
    command.directory = tree();
    command.deadline = tool_deadline;
    command.interrupt = interrupt_->fd();
    GPUHOST_TRY(finished, base::run(command));
    if (finished.exit_status == 127)
        return base::fail(Errc::Unsupported, tool.program + " is not installed here",
                          "Install " + tool.package + ".");
    return std::move(finished);
}

Result<void> Workshop::run(const Tool& tool, std::vector<std::string> words,
                           const std::string& output) const {
    GPUHOST_TRY(finished, attempt(tool, std::move(words)));
    if (finished.exit_status != 0)
        return base::fail(Errc::Failed, tool.program + ": " + std::string(base::trim(finished.output)));
    std::error_code error;
    if (!output.empty())
        fs::rename(path(written), tree() + "/" + output, error);
    return error ? base::fail_errno(path(written), error.value()) : Result<void>();
}

} // namespace gpuhost::images
