// SPDX-License-Identifier: Apache-2.0
#include "daemon/rpc/message.hpp"

#include <gtest/gtest.h>

namespace gpuhost::rpc {
namespace {

using base::Errc;

TEST(Message, PrefixHasTheLengthInNetworkOrder) {
    EXPECT_EQ(framed(std::string(0x01'02'03, 'x')).substr(0, 6), std::string("\0\0\1\2\3x", 6));
}

TEST(Message, IsCompleteWithItsLastByte) {
    MessageReader reader(100);
    const std::string bytes = framed("ab");
    for (const char byte : bytes) {
        EXPECT_FALSE(reader.complete());
        EXPECT_TRUE(reader.add({&byte, 1}).ok());
    }
    EXPECT_TRUE(reader.complete());
    EXPECT_EQ(reader.message(), "ab");
}

TEST(Message, LimitCountsTheMessageOnly) {
    EXPECT_TRUE(MessageReader(3).add(framed("abc")).ok());
    EXPECT_EQ(MessageReader(3).add(framed("abcd")).code, Code::ResourceExhausted);
}

TEST(Status, TextSurvivesTheHeader) {
    std::string all;
    for (int byte = 1; byte < 256; ++byte)
        all += static_cast<char>(byte);
    for (const char c : encode_message(all))
        EXPECT_TRUE(c >= ' ' && c <= '~');
    EXPECT_EQ(decode_message(encode_message(all)), all);
}

TEST(Status, IncompleteEscapesStayAsTheyAre) {
    EXPECT_EQ(decode_message("100% a%2 %zz %41%c3%A4%"), "100% a%2 %zz Aä%");
}

TEST(Status, LongTextsAreCutBetweenCharacters) {
    std::string text(4095, 'x');
    EXPECT_EQ(decode_message(encode_message(text + "ä")), text);
    EXPECT_EQ(decode_message(encode_message(text.substr(1) + "ä€")), text.substr(1) + "ä");
}

TEST(Status, ErrorHasTheHint) {
    const Status status = status_of({Errc::Busy, "WHAT: WHY", "Wait."});
    EXPECT_EQ(status.code, Code::Unavailable);
    EXPECT_EQ(status.message, "WHAT: WHY. Wait.");
    EXPECT_EQ(error_of(status).code, Errc::Busy);
}

TEST(Status, CodesOfServersBecomeErrors) {
    EXPECT_EQ(error_of({Code::DeadlineExceeded, "x"}).code, Errc::Timeout);
    EXPECT_EQ(error_of({Code::Unimplemented, "x"}).code, Errc::Unsupported);
    EXPECT_EQ(error_of({Code::PermissionDenied, ""}).message, "status 7");
}

} // namespace
} // namespace gpuhost::rpc
