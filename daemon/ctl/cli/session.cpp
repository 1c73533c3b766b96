// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/cli/session.hpp"

#include "daemon/base/json.hpp"
#include "daemon/base/parse.hpp"
#include "daemon/ctl/cli/text.hpp"
#include "daemon/ctl/cli/wrap.hpp"

#include <cstdio>

namespace gpuhost::ctl {

using base::Result;

namespace {

void write_to(std::FILE* stream, std::string_view text) {
    (void)std::fwrite(text.data(), 1, text.size(), stream); // main() checks ferror() once, at the end
}

} // namespace

Result<client::Client*> Session::client() {
    if (!client_) {
        GPUHOST_TRY(client, client::Client::connect(!arguments_.has("no-ask-password")));
        client_ = std::move(client);
    }
    return &*client_;
}

Result<void> Session::use_mounted(bool look) {
    const auto directory = arguments_.value(option::mounted);
    if (!directory)
        return {};
    if (arguments_.has(option::no_wait))
        return base::fail(base::Errc::InvalidArgument, "--no-wait cannot be used with --root",
                          "Leave out --no-wait: gpuhostd for the mounted system ends with this command.");
    GPUHOST_TRY(mounted, MountedDaemon::start(*directory, look));
    mounted_.emplace(std::move(mounted));
    GPUHOST_TRY(client, client::Client::over(mounted_->release_socket()));
    client_ = std::move(client);
    return {};
}

void Session::print(std::string_view text) const {
    write_to(stdout, text);
}

void Session::print_json(const base::Json& value) const {
    const bool one_line = arguments_.value(option::json) == "short";
    print((one_line ? base::dump(value) : base::dump_pretty(value)) + "\n");
}

void Session::note(std::string_view text) const {
    write_to(stderr, text);
}

void Session::complain(const base::Error& error) const {
    note(render_error(err_, error));
}

std::string render_error(const Screen& screen, const base::Error& error) {
    const auto line = [&](Style style, std::string_view label, std::string_view text) {
        const std::string whole = screen.paint(style, label) + " " + printable(text);
        return (screen.terminal ? wrap(whole, screen.columns, 0, 2) : whole) + "\n";
    };
    return line(Style::Bad, "gpuhostctl:", error.message) +
           (error.hint.empty() ? "" : line(Style::Bold, "Hint:", error.hint));
}

Result<std::uint64_t> chosen_operation(Session& session) {
    const auto& words = session.arguments().words();
    if (words.empty()) {
        GPUHOST_TRY(client, session.client());
        GPUHOST_TRY(rows, client->list_operations());
        if (rows.empty())
            return base::fail(base::Errc::NotFound, "no operation found");
        return rows.back().id;
    }
    const auto id = base::parse_uint(words[0]);
    if (!id || *id == 0)
        return base::fail(base::Errc::InvalidArgument, "'" + words[0] + "' is not an operation number",
                          "List them: gpuhostctl operation list.");
    return *id;
}

} // namespace gpuhost::ctl
