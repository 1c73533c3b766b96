// SPDX-License-Identifier: Apache-2.0
// Gives a server's bytes to a client, in pieces: the first byte of the input chooses their size.
#include "daemon/rpc/client_session.hpp"
#include "tests/fuzz/fuzz.hpp"

#include <algorithm>

using namespace gpuhost;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0)
        return 0;
    const std::size_t piece = data[0] == 0 ? size : data[0];
    std::string_view rest = fuzz::text_of(data, size).substr(1);
    const auto client = *rpc::ClientSession::make({"/t.T/M", "x", std::chrono::milliseconds(1), 4096});
    std::string output;
    client->output(output);
    while (!rest.empty() && !client->answer()) {
        client->receive(rest.substr(0, piece));
        client->output(output);
        rest.remove_prefix(std::min(piece, rest.size()));
    }
    client->end();
    const auto answer = client->answer();
    fuzz::require(answer.has_value(), "the end of the connection ends the call");
    fuzz::require(!*answer || (*answer)->size() <= 4096, "an answer is not larger than the limit");
    return 0;
}
