// SPDX-License-Identifier: Apache-2.0
#include "config.h"
#include "daemon/ctl/cli/help.hpp"
#include "daemon/ctl/cli/session.hpp"

#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include <poll.h>
#include <unistd.h>

namespace {

using namespace gpuhost;
using namespace gpuhost::ctl;

int fail(Session& session, const base::Error& error) {
    session.complain(error);
    return base::info(error.code).exit_code;
}

int run(const std::vector<std::string>& words) {
    const Screen out = screen_of(STDOUT_FILENO);
    Session nobody(Arguments{}, out, screen_of(STDERR_FILENO));
    auto arguments = Arguments::parse(words);
    if (!arguments)
        return fail(nobody, arguments.error());
    Session session(*std::move(arguments), out, screen_of(STDERR_FILENO));
    if (session.arguments().has("help"))
        session.page(help_for(out, session.arguments()));
    else if (session.arguments().has("version"))
        session.print("gpuhostctl " PACKAGE_VERSION "\n");
    else if (const auto status = session.arguments().verb()->run(session); status)
        return *status;
    else
        return fail(session, status.error());
    return 0;
}

/// Returns true if stdout is a pipe that nobody reads any more, as of "gpuhostctl status | head -n 1".
bool is_reader_gone() {
    pollfd out{STDOUT_FILENO, POLLOUT, 0};
    return ::poll(&out, 1, 0) > 0 && (out.revents & POLLERR) != 0;
}

} // namespace

int main(int argc, char** argv) {
    // Keeps the order of lines if both streams go to one pipe or file.
    (void)std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);
    try {
        const int status = run(std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc));
        if ((std::fflush(stdout) == 0 && std::ferror(stdout) == 0) || is_reader_gone())
            return status;
        std::perror("gpuhostctl: writing the output");
    } catch (const std::exception& e) {
        std::fprintf(stderr, "gpuhostctl: %s\n", e.what());
    }
    return base::info(base::Errc::Failed).exit_code;
}
