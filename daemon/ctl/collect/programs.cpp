// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/collect/programs.hpp"

#include "daemon/base/parse.hpp"
#include "daemon/ctl/cli/session.hpp"
#include "daemon/ctl/cli/text.hpp"

#include <algorithm>
#include <cstdlib>

#include <poll.h>

namespace gpuhost::ctl {

using base::Errc;
using base::Result;

namespace {

constexpr std::size_t output_limit = std::size_t{32} << 20U;
constexpr std::size_t most_lines = 20; ///< of a failed program's output

/// Returns the variables that name proxies, certificates and credentials.
std::vector<std::string> passed_environment() {
    std::vector<std::string> passed;
    for (const char* name :
         {"HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR", "TMPDIR", "http_proxy", "https_proxy", "all_proxy",
          "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR",
          "CURL_CA_BUNDLE", "REGISTRY_AUTH_FILE", "DOCKER_CONFIG"})
        if (const char* const value = std::getenv(name)) // NOLINT(concurrency-mt-unsafe): one thread
            passed.push_back(std::string(name) + "=" + value);
    return passed;
}

} // namespace

Result<base::Finished> Programs::attempt(const Call& call) const {
    base::Command command;
    command.argv = {call.tool.program};
    command.argv.insert(command.argv.end(), call.words.begin(), call.words.end());
    command.environment = passed_environment();
    command.environment.insert(command.environment.end(), call.environment.begin(), call.environment.end());
    command.directory = call.directory;
    command.deadline = call.deadline;
    command.output_limit = output_limit;
    command.separate_errors = call.is_answer;
    command.interrupt = interrupt_.fd();
    command.on_line = call.on_line;
    auto finished = base::run(command);
    pollfd signal{interrupt_.fd(), POLLIN, 0};
    if (::poll(&signal, 1, 0) > 0)
        return base::fail(Errc::Cancelled, "interrupted");
    if (!finished && finished.error().code == Errc::NotFound)
        return base::fail(Errc::Unsupported, call.tool.program + " is not installed here",
                          "Install the package " + call.tool.package + ".");
    if (finished && finished->timed_out)
        return base::fail(Errc::Timeout, call.tool.program + " did not end in time");
    return finished;
}

Result<std::string> Programs::run(const Call& call) const {
    GPUHOST_TRY(finished, attempt(call));
    if (finished.exit_status == 0)
        return std::move(finished.output);
    const std::string& messages = call.is_answer ? finished.errors : finished.output;
    show(messages);
    return base::fail(Errc::Failed, call.tool.program + ": " + reason_in(messages));
}

void Programs::show(const std::string& output) const {
    const std::vector<std::string> lines = base::split(base::trim(output), '\n');
    const std::size_t first = lines.size() - std::min(lines.size(), most_lines);
    std::string text;
    for (std::size_t i = first; i < lines.size(); ++i)
        text += "  " + printable(lines[i]) + "\n";
    session_.warn(text);
}

void Programs::report(const std::string& line) const {
    session_.note(line + "\n");
}

std::string reason_in(std::string_view output) {
    for (const std::string& line : base::split(output, '\n'))
        if (base::starts_with(line, "E: "))
            return printable(line.substr(3));
    std::string last = base::last_line(output);
    // skopeo's log: time="…" level=fatal msg="Error …\"…\""
    if (const std::size_t at = last.find(" msg=\""); at != std::string::npos && last.back() == '"') {
        last = last.substr(at + 6, last.size() - at - 7);
        std::erase(last, '\\');
    }
    return last.empty() ? "failed without a message" : printable(last);
}

} // namespace gpuhost::ctl
