// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/fleet/source.hpp"

#include <array>
#include <cerrno>
#include <utility>

#include <poll.h>
#include <unistd.h>

namespace gpuhost::ctl {

using base::Errc;
using base::Result;

namespace {

constexpr std::size_t longest_line = 256U << 20U; ///< a few KiB for each Node, enough for any cluster
constexpr const char* by_hand = "See its output: gpuhost-cluster --fleet.";

} // namespace

Result<FleetSource> FleetSource::start(const std::string& root, const std::string& kubeconfig, bool watch) {
    base::Command command;
    command.argv = {"gpuhost-cluster", "--fleet", "--root=" + root};
    if (!kubeconfig.empty())
        command.argv.push_back("--kubeconfig=" + kubeconfig);
    if (watch)
        command.argv.emplace_back("--follow");
    command.drop_errors = true; // stdout has the errors, too
    auto program = base::Running::start(command);
    if (!program && program.error().code == Errc::NotFound)
        return base::fail(Errc::NotFound, "gpuhost-cluster not found in $PATH",
                          "Install the package gpuhostd or gpuhost-tools, or add /usr/sbin to $PATH.");
    if (!program)
        return base::fail(program.error());
    return FleetSource(*std::move(program));
}

Result<FleetSource::Event> FleetSource::wait(std::chrono::milliseconds most, int interrupt) {
    const auto end = std::chrono::steady_clock::now() + most;
    for (;;) {
        GPUHOST_TRY(taken, read_line());
        if (taken)
            return Event::Document;
        const auto left =
            std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
        if (left.count() <= 0)
            return Event::Timeout;
        std::array<pollfd, 2> polls{pollfd{program_.output(), POLLIN, 0}, pollfd{interrupt, POLLIN, 0}};
        if (::poll(polls.data(), polls.size(), static_cast<int>(left.count())) <= 0)
            continue;
        if (polls[1].revents != 0)
            return Event::Interrupted;
        GPUHOST_CHECK(read());
    }
}

Result<void> FleetSource::read() {
    std::array<char, 65536> bytes{};
    const ssize_t n = ::read(program_.output(), bytes.data(), bytes.size());
    if (n < 0 && errno != EAGAIN && errno != EINTR)
        return base::fail_errno("gpuhost-cluster", errno);
    if (n == 0 && document_.is_object() && document_.contains("error"))
        return base::fail(base::error_from_json(document_["error"]));
    if (n == 0)
        return base::fail(Errc::Failed, "gpuhost-cluster exited without output", by_hand);
    if (n > 0)
        buffer_.append(bytes.data(), static_cast<std::size_t>(n));
    return buffer_.size() > longest_line
               ? base::fail(Errc::BadContent, "the output of gpuhost-cluster is too long", by_hand)
               : Result<void>();
}

Result<bool> FleetSource::read_line() {
    const std::size_t end = buffer_.find('\n', searched_);
    searched_ = end == std::string::npos ? buffer_.size() : 0;
    if (end == std::string::npos)
        return false;
    GPUHOST_TRY(document,
                base::parse_json(std::string_view(buffer_).substr(0, end), "the output of gpuhost-cluster"));
    buffer_.erase(0, end + 1);
    document_ = std::move(document);
    return true;
}

} // namespace gpuhost::ctl
