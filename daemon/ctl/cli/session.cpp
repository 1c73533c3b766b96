// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/cli/session.hpp"

#include "daemon/base/json.hpp"
#include "daemon/base/parse.hpp"
#include "daemon/ctl/cli/pager.hpp"
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

Session::Session(Arguments arguments, Screen out, Screen err)
    : arguments_(std::move(arguments)), out_(out), err_(err) {
    out_.legend = err_.legend = !arguments_.has("no-legend");
    out_.quiet = err_.quiet = arguments_.has("quiet");
}

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

void Session::page(std::string_view text) const {
    if (!out_.terminal || arguments_.has("no-pager") || rows_of(out_, text) < out_.rows)
        return print(text);
    (void)std::fflush(stdout);
    Pager pager;
    if (pager.start())
        pager.write(text);
    else
        print(text);
}

void Session::page_list(std::string_view rows, std::string_view none) const {
    if (rows.empty())
        note(std::string(none) + "\n");
    else
        page(rows);
}

void Session::print_json(const base::Json& value) const {
    const std::string form = arguments_.value(option::json).value_or("");
    if (form == "pretty" || (form.empty() && out_.terminal))
        page(base::dump_pretty(value) + "\n");
    else
        print(base::dump(value) + "\n");
}

void Session::note(std::string_view text) const {
    if (!err_.quiet)
        warn(text);
}

void Session::warn(std::string_view text) const {
    write_to(stderr, fit(err_, text));
}

void Session::complain(const base::Error& error) const {
    write_to(stderr, render_error(err_, error));
}

std::string render_error(const Screen& screen, const base::Error& error) {
    const auto line = [&](Style style, std::string_view label, std::string_view text) {
        return fit(screen, screen.paint(style, label) + " " + printable(text)) + "\n";
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
