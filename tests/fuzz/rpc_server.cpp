// SPDX-License-Identifier: Apache-2.0
// Gives a client's bytes to a server, in pieces: the first byte of the input chooses their size.
#include "tests/fuzz/fuzz.hpp"
#include "tests/unit/rpc/sessions.hpp"

using namespace gpuhost;

namespace {

/// Sends to all calls that are open, and answers those that wait.
void use_calls(tests::Sessions& sessions) {
    sessions.service.watchers.send("list");
    for (const rpc::Call& call : std::exchange(sessions.service.kept, {}))
        call.answer(std::string("late"));
}

} // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0)
        return 0;
    const std::size_t piece = data[0] == 0 ? size : data[0];
    std::string_view rest = fuzz::text_of(data, size).substr(1);
    rpc::Limits limits;
    limits.message = 4096;
    limits.incoming = 8192;
    tests::Sessions sessions(limits);
    std::string output;
    while (!rest.empty() && sessions.server->failure().empty()) {
        sessions.send(rest.substr(0, piece));
        rest.remove_prefix(std::min(piece, rest.size()));
        use_calls(sessions);
        for (std::size_t before = 1; before != output.size();) {
            before = output.size();
            sessions.server->output(output);
        }
    }
    sessions.server->cancel_calls();
    fuzz::require(sessions.service.watchers.count() == 0, "no call outlives the connection");
    return 0;
}
