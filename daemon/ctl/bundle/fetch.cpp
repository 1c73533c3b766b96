// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/bundle/fetch.hpp"

#include "daemon/client/fetch_socket.hpp"
#include "daemon/ctl/bundle/verbs.hpp"
#include "daemon/ctl/cli/document.hpp"
#include "daemon/ctl/cli/follow.hpp"
#include "daemon/ctl/cli/session.hpp"
#include "daemon/ctl/cli/view.hpp"

#include <array>

namespace gpuhost::ctl {

using base::Json;
using base::Result;

namespace {

constexpr std::array options{fetch_socket_option, option::json};

Result<Json> follow(Session& session, std::uint64_t id) {
    GPUHOST_TRY(client, session.client());
    GPUHOST_CHECK(client->subscribe());
    return follow_operation(session, id);
}

/// Reads the messages of gpuhost-fetch up to its exit status. Adds operations and errors to `document`.
Result<int> listen(Session& session, int socket, Json& document, bool next) {
    std::string buffer;
    for (;;) {
        GPUHOST_TRY(text, client::read_fetch_line(socket, buffer, -1));
        GPUHOST_TRY(line, base::parse_json(text, "the output of gpuhost-fetch"));
        if (line.contains("note"))
            session.note(text_of(line, "note") + "\n");
        if (line.contains("operation")) {
            GPUHOST_TRY(operation, follow(session, number_of(line, "operation")));
            // gpuhost-fetch also reports the failure of an operation as an error, with more details than the
            // operation has.
            if (!session.wants_json() && operation_exit_status(operation) == 0)
                (void)report_operation(session, operation, next);
            document["operations"].push_back(std::move(operation));
        }
        if (line.contains("error")) {
            session.complain(base::error_from_json(base::member(line, "error")));
            document["errors"].push_back(line["error"]);
        }
        if (line.contains("status"))
            return static_cast<int>(number_of(line, "status"));
    }
}

Result<int> run(Session& session) {
    Json document{{"operations", Json::array()}, {"errors", Json::array()}};
    auto status = fetch_bundles(session, session.arguments().words(), document, true);
    if (!session.wants_json())
        return status;
    if (!status) {
        session.complain(status.error());
        document["errors"].push_back(to_json(status.error()));
    }
    session.print_json(document);
    return status ? *status : base::info(status.error().code).exit_code;
}

constexpr std::array examples{
    Example{"bundle fetch site", "fetch the newest generation of a bundle from other hosts"}};

} // namespace

Result<int> fetch_bundles(Session& session, const std::vector<std::string>& names, Json& document,
                          bool next) {
    const std::string path =
        session.arguments().value(fetch_socket_option).value_or(std::string(client::fetch_socket));
    GPUHOST_TRY(socket, client::ask_to_fetch(path, names));
    return listen(session, socket.get(), document, next);
}

const Verb bundle_fetch_verb{
    "bundle fetch",
    "[NAME…]",
    "fetch bundles from other hosts of the site",
    "Fetches the newest generation of these bundles from other hosts of the site, from several at once: the "
    "peers of Peers= and Domains= in gpuhostd.conf(5). Replaces blobs of bundles on this host that a scrub "
    "found damaged. Without NAME it fetches those of Bundles=. Each is imported like any other: the "
    "signature is verified against the certificates in /etc/gpuhost/trust.d, and an older generation is "
    "never imported. gpuhost-fetch.service does the work, and continues if this command is interrupted; "
    "gpuhost-fetch.timer can start it from time to time. See gpuhost-peers(8). Only root may use it.",
    0,
    1000,
    options,
    run,
    examples,
};

} // namespace gpuhost::ctl
