// SPDX-License-Identifier: Apache-2.0
#include "daemon/rpc/message.hpp"
#include "daemon/rpc/server_session.hpp"
#include "tests/unit/rpc/frames.hpp"
#include "tests/unit/rpc/sessions.hpp"

#include <random>

#include <gtest/gtest.h>

namespace gpuhost::rpc {
namespace {

using base::Errc;
using tests::Sessions;

std::string error_of_raw(std::string_view bytes) {
    Sessions sessions;
    const auto answer = sessions.raw(bytes);
    if (!answer || *answer)
        return answer ? "answered" : "no answer";
    return std::string(base::info(answer->error().code).name) + ": " + answer->error().message;
}

std::string echo(std::string_view content, unsigned flags = tests::end_stream) {
    return tests::start() + tests::request(tests::request_headers("/t.T/Echo")) +
           tests::data(content, 1, flags);
}

std::string with_header(const std::string& name, const std::string& value) {
    tests::HeaderList headers = tests::request_headers("/t.T/Echo");
    for (auto& header : headers)
        if (header.first == name)
            header.second = value;
    return tests::start() + tests::request(headers) + tests::data(framed("x"));
}

std::string without_header(const std::string& name) {
    tests::HeaderList headers = tests::request_headers("/t.T/Echo");
    std::erase_if(headers, [&name](const auto& header) { return header.first == name; });
    return tests::start() + tests::request(headers) + tests::data(framed("x"));
}

TEST(ServerSession, AnswersAMessage) {
    Sessions sessions;
    const std::string message(3 << 20, 'm');
    const auto answer = sessions.call("Echo", message);
    ASSERT_TRUE(answer && *answer);
    EXPECT_EQ(**answer, message);
    EXPECT_FALSE(sessions.server->has_calls());
}

TEST(ServerSession, AnswersAnEmptyMessage) {
    Sessions sessions;
    const auto answer = sessions.call("Echo", "");
    ASSERT_TRUE(answer && *answer);
    EXPECT_EQ(**answer, "");
}

TEST(ServerSession, AnswersARequestInPiecesOfOneByte) {
    Sessions sessions;
    (void)sessions.begin("Echo");
    for (const char byte : echo(framed("hello")))
        sessions.send({&byte, 1});
    const auto answer = sessions.answer();
    ASSERT_TRUE(answer && *answer);
    EXPECT_EQ(**answer, "hello");
}

TEST(ServerSession, FragmentationDoesNotChangeAnswers) {
    std::mt19937 random(std::random_device{}());
    const std::string bytes =
        echo(framed(std::string(9000, 'a'))) + tests::request(tests::request_headers("/t.T/Fail"), 3) +
        tests::data(framed("b").substr(0, 3), 3, 0) + tests::frame(tests::ping_frame, 0, 0, "12345678") +
        tests::data(framed("b").substr(3), 3);
    std::string whole;
    Sessions one;
    one.send(bytes);
    one.server->output(whole);
    for (int round = 0; round < 50; ++round) {
        Sessions sessions;
        std::string_view rest = bytes;
        while (!rest.empty()) {
            const auto part = rest.substr(0, 1 + random() % (1U << random() % 12));
            sessions.send(part);
            rest.remove_prefix(part.size());
        }
        std::string output;
        sessions.server->output(output);
        ASSERT_EQ(output, whole);
    }
}

TEST(ServerSession, SendsTheErrorOfAMethod) {
    Sessions sessions;
    const auto answer = sessions.call("Fail", "Gerät: 100 %\n");
    ASSERT_TRUE(answer && !*answer);
    EXPECT_EQ(answer->error().code, Errc::NotFound);
    EXPECT_EQ(answer->error().message, "/t.T/Fail: Gerät: 100 %\n");
}

TEST(ServerSession, SendsAnswersThatComeLater) {
    Sessions sessions;
    EXPECT_FALSE(sessions.call("Later", "x"));
    EXPECT_TRUE(sessions.server->has_calls());
    sessions.service.kept.at(0).answer(std::string("late"));
    EXPECT_GT(sessions.woken, 0);
    const auto answer = sessions.answer();
    ASSERT_TRUE(answer && *answer);
    EXPECT_EQ(**answer, "late");
}

TEST(ServerSession, ForgottenCallsEndWithAnError) {
    Sessions sessions;
    const auto answer = sessions.call("Forget", "x");
    ASSERT_TRUE(answer && !*answer);
    EXPECT_EQ(answer->error().message, "/t.T/Forget: the call ended without an answer");
}

TEST(ServerSession, SendsToAllWatchers) {
    Sessions sessions;
    sessions.send(tests::start());
    for (const std::uint32_t stream : {1U, 3U, 5U})
        sessions.send(tests::request(tests::request_headers("/t.T/Watch"), stream) +
                      tests::data(framed(""), stream));
    EXPECT_EQ(sessions.service.watchers.count(), 3U);
    sessions.service.watchers.send("list");
    std::string output;
    sessions.server->output(output);
    for (const std::uint32_t stream : {1U, 3U, 5U})
        EXPECT_NE(output.find(tests::data(framed("list"), stream, 0)), std::string::npos);
    sessions.service.watchers.end();
    EXPECT_EQ(sessions.service.watchers.count(), 0U);
    sessions.server->output(output);
    EXPECT_FALSE(sessions.server->has_calls());
}

TEST(ServerSession, WatcherGetsMessagesAndTheEnd) {
    Sessions sessions;
    EXPECT_FALSE(sessions.call("Watch", "x"));
    sessions.service.watchers.send("list");
    EXPECT_FALSE(sessions.answer());
    sessions.service.watchers.end();
    const auto answer = sessions.answer();
    ASSERT_TRUE(answer && *answer);
    EXPECT_EQ(**answer, "list");
}

TEST(ServerSession, CancelledWatchersAreForgotten) {
    Sessions sessions;
    sessions.send(tests::start() + tests::request(tests::request_headers("/t.T/Watch")) +
                  tests::data(framed("")));
    sessions.send(tests::frame(tests::reset_frame, 0, 1, std::string("\0\0\0\x8", 4)));
    EXPECT_EQ(sessions.service.cancelled, 1);
    EXPECT_EQ(sessions.service.watchers.count(), 0U);
    EXPECT_FALSE(sessions.server->has_calls());
}

TEST(ServerSession, EndOfTheConnectionCancelsCalls) {
    Sessions sessions;
    sessions.send(tests::start() + tests::request(tests::request_headers("/t.T/Later")) +
                  tests::data(framed("")));
    sessions.server->cancel_calls();
    EXPECT_EQ(sessions.service.cancelled, 1);
    EXPECT_FALSE(sessions.service.kept.at(0).open());
}

TEST(ServerSession, CallsOutliveTheSession) {
    Sessions sessions;
    sessions.send(tests::start() + tests::request(tests::request_headers("/t.T/Later")) +
                  tests::data(framed("")));
    sessions.server.reset();
    sessions.service.kept.at(0).answer(std::string("late"));
    EXPECT_EQ(sessions.service.cancelled, 0);
}

TEST(ServerSession, RefusesWhatIsNotGrpc) {
    EXPECT_EQ(error_of_raw(with_header(":method", "GET")),
              "failed: /t.T/Echo: the server answered with HTTP status 405");
    EXPECT_EQ(error_of_raw(with_header("content-type", "application/json")),
              "failed: /t.T/Echo: the server answered with HTTP status 415");
    EXPECT_EQ(error_of_raw(with_header("te", "gzip")),
              "failed: /t.T/Echo: the server reset the call: PROTOCOL_ERROR");
    EXPECT_EQ(error_of_raw(without_header("te")),
              "failed: /t.T/Echo: the server answered with HTTP status 400");
}

TEST(ServerSession, RefusesUnknownMethods) {
    EXPECT_EQ(error_of_raw(with_header(":path", "/t.T/None")),
              "unsupported: /t.T/Echo: unknown method None for service t.T");
    EXPECT_EQ(error_of_raw(with_header(":path", "/t.U/Echo")), "unsupported: /t.T/Echo: unknown service t.U");
    EXPECT_EQ(error_of_raw(with_header(":path", "/")), "unsupported: /t.T/Echo: malformed method name");
}

TEST(ServerSession, RefusesBadMessages) {
    EXPECT_EQ(error_of_raw(echo(std::string("\1\0\0\0\1x", 6))),
              "unsupported: /t.T/Echo: compressed messages are not supported");
    EXPECT_EQ(error_of_raw(echo("")), "unsupported: /t.T/Echo: no message in a call that has one");
    EXPECT_EQ(error_of_raw(echo(framed("hello").substr(0, 7))),
              "failed: /t.T/Echo: the message is shorter than its prefix says");
    EXPECT_EQ(error_of_raw(echo(framed("a") + framed("b"))),
              "unsupported: /t.T/Echo: more than one message in a call that has one");
    EXPECT_EQ(error_of_raw(echo(std::string("\0\xff\0\0\0", 5), 0)),
              "busy: /t.T/Echo: message too large: 4278190080 bytes, at most 4194304");
}

TEST(ServerSession, LimitsBytesOfIncompleteRequests) {
    Limits limits;
    limits.incoming = 20'000;
    Sessions sessions(limits);
    (void)sessions.begin("Echo");
    sessions.send(tests::start());
    const auto begin = [&sessions](std::uint32_t stream) {
        sessions.send(tests::request(tests::request_headers("/t.T/Echo"), stream) +
                      tests::data(framed(std::string(50'000, 'x')).substr(0, 8'000), stream, 0));
    };
    begin(1);
    begin(3);
    sessions.send(tests::frame(tests::reset_frame, 0, 3, std::string("\0\0\0\x8", 4))); // gives bytes back
    begin(5);
    EXPECT_FALSE(sessions.answer());
    sessions.send(tests::data(std::string(8'000, 'x'), 1, 0));
    const auto answer = sessions.answer();
    ASSERT_TRUE(answer && !*answer);
    EXPECT_EQ(answer->error().message, "/t.T/Echo: too many bytes in incomplete requests");
}

TEST(ServerSession, LimitsHeaders) {
    tests::HeaderList headers = tests::request_headers("/t.T/Echo");
    for (int i = 0; i < 200; ++i)
        headers.emplace_back("x-header", std::string(100, 'x'));
    std::string bytes = tests::hpack(headers);
    const std::string first = bytes.substr(0, 16'000);
    EXPECT_EQ(
        error_of_raw(tests::start() + tests::frame(tests::headers_frame, 0, 1, first) +
                     tests::frame(tests::continuation_frame, tests::end_headers, 1, bytes.substr(16'000))),
        "failed: /t.T/Echo: the server reset the call: INTERNAL_ERROR");
}

TEST(ServerSession, RefusesMoreStreamsThanItsLimit) {
    Limits limits;
    limits.streams = 4;
    Sessions sessions(limits);
    sessions.send(tests::start());
    for (std::uint32_t stream = 1; stream < 20; stream += 2)
        sessions.send(tests::request(tests::request_headers("/t.T/Later"), stream) +
                      tests::data(framed(""), stream));
    EXPECT_EQ(sessions.service.kept.size(), 4U);
}

TEST(ServerSession, WrongPrefaceEndsTheConnection) {
    Sessions sessions;
    sessions.send("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
    EXPECT_FALSE(sessions.server->failure().empty());
}

TEST(ServerSession, KnowsSinceWhenRequestsAreIncomplete) {
    Sessions sessions;
    sessions.send(tests::start().substr(0, 30));
    EXPECT_EQ(sessions.server->incomplete_since(), 2U);
    sessions.send(tests::start().substr(30));
    EXPECT_FALSE(sessions.server->incomplete_since());
    sessions.send(tests::request(tests::request_headers("/t.T/Later")));
    EXPECT_EQ(sessions.server->incomplete_since(), 4U);
    sessions.send(tests::data(framed("")));
    EXPECT_FALSE(sessions.server->incomplete_since());
}

/// Sends bytes until the session fails. Returns how many times.
int flood(Sessions& sessions, const std::string& bytes) {
    for (int count = 0; count < 100'000; ++count) {
        sessions.send(bytes);
        std::string output;
        sessions.server->output(output);
        if (!sessions.server->failure().empty())
            return count;
    }
    return -1;
}

TEST(ServerSession, FloodsOfFramesEndTheConnection) {
    for (const std::string& bytes :
         {tests::frame(tests::ping_frame, 0, 0, "12345678"), tests::frame(tests::settings_frame, 0, 0),
          tests::frame(tests::priority_frame, 0, 1, std::string(5, '\1'))}) {
        Sessions sessions;
        sessions.send(tests::start());
        const int count = flood(sessions, bytes);
        EXPECT_GT(count, 900);
        EXPECT_LT(count, 1100);
    }
}

TEST(ServerSession, FloodOfEmptyDataEndsTheConnection) {
    Sessions sessions;
    sessions.send(tests::start() + tests::request(tests::request_headers("/t.T/Echo")));
    EXPECT_GT(flood(sessions, tests::data("", 1, 0)), 900);
}

TEST(ServerSession, RapidResetEndsTheConnection) {
    Sessions sessions;
    sessions.send(tests::start());
    std::uint32_t stream = 1;
    for (; sessions.server->failure().empty() && stream < 10'000; stream += 2) {
        sessions.send(tests::request(tests::request_headers("/t.T/Later"), stream) +
                      tests::data(framed(""), stream) +
                      tests::frame(tests::reset_frame, 0, stream, std::string("\0\0\0\x8", 4)));
        std::string output;
        sessions.server->output(output);
    }
    EXPECT_EQ(stream, 403U);
    EXPECT_EQ(sessions.server->failure(), "too many cancelled calls");
}

TEST(ServerSession, ClientThatNeverReadsLosesTheConnection) {
    Sessions sessions;
    sessions.send(tests::start() + tests::request(tests::request_headers("/t.T/Watch")) +
                  tests::data(framed("")));
    int count = 0;
    for (; sessions.server->failure().empty() && count < 100; ++count)
        sessions.service.watchers.send(std::string(1 << 20, 'x'));
    EXPECT_EQ(count, 8);
    EXPECT_EQ(sessions.server->failure(), "the client does not read its answers");
}

TEST(ServerSession, WatcherThatReadsGetsAnyAmount) {
    Sessions sessions;
    EXPECT_FALSE(sessions.call("Watch", "x"));
    for (int i = 0; i < 20; ++i) {
        sessions.service.watchers.send(std::string(1 << 20, 'x'));
        for (std::string bytes = "x"; !bytes.empty(); sessions.send(bytes)) {
            (void)sessions.answer();
            bytes.clear();
            sessions.client->output(bytes); // opens the window
        }
    }
    EXPECT_EQ(sessions.server->failure(), "");
    EXPECT_GT(sessions.sent, 20U << 20U);
}

TEST(ServerSession, ShutDownRefusesNewCallsOnly) {
    Sessions sessions;
    EXPECT_FALSE(sessions.call("Later", "x"));
    sessions.server->shut_down();
    EXPECT_FALSE(sessions.server->done());
    sessions.service.kept.at(0).answer(std::string("late"));
    const auto answer = sessions.answer();
    ASSERT_TRUE(answer && *answer);
    EXPECT_TRUE(sessions.server->done());
}

} // namespace
} // namespace gpuhost::rpc
