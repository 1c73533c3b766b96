// SPDX-License-Identifier: Apache-2.0
#include "daemon/rpc/client_session.hpp"
#include "tests/unit/rpc/frames.hpp"

#include <gtest/gtest.h>

namespace gpuhost::rpc {
namespace {

using base::Errc;

const std::string settings = tests::frame(tests::settings_frame, 0, 0);
const tests::HeaderList good = {{":status", "200"}, {"content-type", "application/grpc"}};

/// Returns the text of the error that a client makes of a server's bytes.
std::string error_of_bytes(std::string_view bytes, std::size_t limit = 100) {
    const auto client = *ClientSession::make({"/t.T/M", "x", std::chrono::milliseconds(1), limit});
    std::string output;
    client->output(output);
    for (const char byte : settings + std::string(bytes))
        client->receive({&byte, 1});
    client->output(output);
    if (!client->answer())
        client->end();
    const auto answer = client->answer();
    return *answer ? "message " + **answer : answer->error().message;
}

std::string answer_of(std::string_view content, const tests::HeaderList& trailers) {
    return tests::request(good) + tests::data(content, 1, 0) + tests::request(trailers, 1, tests::end_stream);
}

TEST(ClientSession, ReadsAMessage) {
    EXPECT_EQ(error_of_bytes(answer_of(framed("abc"), {{"grpc-status", "0"}})), "message abc");
}

TEST(ClientSession, ReadsTheServersError) {
    EXPECT_EQ(error_of_bytes(answer_of("", {{"grpc-status", "5"}, {"grpc-message", "%C3%A4 100%25"}})),
              "/t.T/M: ä 100%");
    tests::HeaderList only = good;
    only.emplace_back("grpc-status", "99");
    EXPECT_EQ(error_of_bytes(tests::request(only, 1, tests::end_stream)), "/t.T/M: status 2");
}

TEST(ClientSession, RefusesWhatIsNotGrpc) {
    EXPECT_EQ(error_of_bytes(tests::request({{":status", "502"}}, 1, tests::end_stream)),
              "/t.T/M: the server answered with HTTP status 502");
    EXPECT_EQ(
        error_of_bytes(tests::request({{":status", "200"}, {"grpc-status", "0"}}, 1, tests::end_stream)),
        "/t.T/M: the answer is not gRPC");
    EXPECT_EQ(error_of_bytes(tests::request(good) + tests::data(framed("x"))),
              "/t.T/M: the answer is not gRPC");
    EXPECT_EQ(error_of_bytes("HTTP/1.1 400 Bad Request\r\n\r\n"), "/t.T/M: the answer is not HTTP/2");
}

TEST(ClientSession, RefusesBadMessages) {
    EXPECT_EQ(error_of_bytes(answer_of("", {{"grpc-status", "0"}})),
              "/t.T/M: the answer has no complete message");
    EXPECT_EQ(error_of_bytes(answer_of(framed("abc").substr(0, 6), {{"grpc-status", "0"}})),
              "/t.T/M: the answer has no complete message");
    EXPECT_EQ(error_of_bytes(answer_of(framed(std::string(101, 'x')), {{"grpc-status", "0"}})),
              "/t.T/M: message too large: 101 bytes, at most 100");
    EXPECT_EQ(error_of_bytes(answer_of(framed("a") + framed("b"), {{"grpc-status", "0"}})),
              "/t.T/M: more than one message in a call that has one");
}

TEST(ClientSession, ReportsTheEndOfTheConnection) {
    EXPECT_EQ(error_of_bytes(tests::request(good)), "/t.T/M: the server closed the connection");
    EXPECT_EQ(error_of_bytes(tests::frame(tests::reset_frame, 0, 1, std::string("\0\0\0\x7", 4))),
              "/t.T/M: the server reset the call: REFUSED_STREAM");
}

TEST(ClientSession, LimitsHeaders) {
    std::string bytes = tests::request(good);
    for (int i = 0; i < 3000; ++i) // interim answers
        bytes = tests::request({{":status", "103"}, {"x-header", std::string(100, 'x')}}) + bytes;
    EXPECT_EQ(error_of_bytes(bytes), "/t.T/M: the headers of the answer are too large");
}

} // namespace
} // namespace gpuhost::rpc
