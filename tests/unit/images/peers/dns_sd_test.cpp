// SPDX-License-Identifier: Apache-2.0
#include "images/peers/dns_sd.hpp"
#include "images/peers_settings.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gpuhost::images {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr unsigned ptr = 12;
constexpr unsigned srv = 33;
constexpr unsigned cname = 5;
constexpr unsigned internet = 1;

std::string number(std::size_t value) {
    return {static_cast<char>(value >> 8U), static_cast<char>(value & 0xffU)};
}

std::string label(const std::string& text) {
    return static_cast<char>(text.size()) + text;
}

/// Encodes the name "a.b" with its terminator.
std::string name(std::string_view text) {
    std::string sent;
    while (!text.empty()) {
        const std::string_view one = text.substr(0, text.find('.'));
        sent += label(std::string(one));
        text.remove_prefix(std::min(text.size(), one.size() + 1));
    }
    return sent + '\0';
}

/// Encodes a compression pointer to this byte of the message.
std::string pointer(std::size_t at) {
    return number(0xc000U | at);
}

std::string server(const std::string& target, unsigned port = 2990) {
    return number(0) + number(5) + number(port) + target;
}

/// RFC 1035, 4.1: a question, and the records that answer it.
class Answer {
  public:
    static constexpr std::size_t question = 12;

    Answer& add(unsigned type, const std::string& data, unsigned of_class = internet) {
        records_ += pointer(question) + number(type) + number(of_class) + number(0) + number(60) +
                    number(data.size()) + data;
        ++count_;
        return *this;
    }
    [[nodiscard]] std::string text() const {
        return number(1) + number(0x8180U) + number(1) + number(count_) + number(0) + number(0) +
               name("_gpuhost-peer._tcp.rack.example") + number(ptr) + number(internet) + records_;
    }

  private:
    std::size_t count_ = 0;
    std::string records_;
};

std::vector<std::string> instances(const Answer& answer) {
    return parse_instances(answer.text()).value_or(std::vector<std::string>{"nonsense"});
}

std::vector<std::string> servers(const Answer& answer) {
    return parse_servers(answer.text()).value_or(std::vector<std::string>{"nonsense"});
}

TEST(DnsSd, PtrRecordsGiveInstances) {
    const Answer answer = Answer()
                              .add(ptr, label("gpu01") + pointer(Answer::question))
                              .add(cname, name("elsewhere.example"))
                              .add(ptr, label("rack 7, gpu.2") + pointer(Answer::question))
                              .add(ptr, name("other.class"), 3);
    EXPECT_THAT(instances(answer), ElementsAre("gpu01._gpuhost-peer._tcp.rack.example",
                                               R"(rack\0327,\032gpu\.2._gpuhost-peer._tcp.rack.example)"));
    EXPECT_THAT(servers(answer), IsEmpty());
    EXPECT_THAT(instances(Answer()), IsEmpty());
}

TEST(DnsSd, SrvRecordsGiveServers) {
    EXPECT_THAT(
        servers(
            Answer().add(srv, server(name("gpu01.example"))).add(srv, server(name("GPU-02.example"), 65535))),
        ElementsAre("gpu01.example:2990", "GPU-02.example:65535"));
}

TEST(DnsSd, InvalidHostNamesAreOmitted) {
    for (const char* host : {"gpu_1.example", "-gpu.example", "gpu-.example", "a/b.example", "user@host",
                             "[::1]", "gpu 1.example", "*.example"})
        EXPECT_THAT(servers(Answer().add(srv, server(name(host)))), IsEmpty()) << host;
    EXPECT_THAT(servers(Answer().add(srv, server(label("a.b") + name("example")))), IsEmpty())
        << "a dot in a label";
    EXPECT_THAT(servers(Answer().add(srv, server(label(std::string("a\0b", 3)) + name("example")))),
                IsEmpty());
    EXPECT_THAT(servers(Answer().add(srv, server(std::string(1, '\0')))), IsEmpty())
        << "the service does not exist";
    EXPECT_THAT(servers(Answer().add(srv, server(name("gpu01.example"), 0))), IsEmpty());
    EXPECT_THAT(instances(Answer().add(ptr, std::string(1, '\0'))), IsEmpty());
}

TEST(DnsSd, InvalidNamesAreOmitted) {
    const std::string loop = pointer(Answer().text().size() + 12); // points to itself
    EXPECT_THAT(instances(Answer().add(ptr, loop)), IsEmpty());
    EXPECT_THAT(instances(Answer().add(ptr, pointer(16000))), IsEmpty()) << "after the end";
    EXPECT_THAT(instances(Answer().add(ptr, "").add(ptr, name("gpu01.example"))),
                ElementsAre("gpu01.example"))
        << "the next record is not read as its name";
    EXPECT_THAT(instances(Answer().add(ptr, label("gpu01")).add(ptr, "")), IsEmpty());
    EXPECT_THAT(servers(Answer().add(srv, number(0) + number(5)).add(srv, server(""))), IsEmpty());
    EXPECT_THAT(servers(Answer().add(srv, server(name("gpu01.example") + "more"))), IsEmpty());
}

TEST(DnsSd, TruncatedAnswerIsRefused) {
    const std::string whole = Answer().add(srv, server(name("gpu01.example"))).text();
    for (std::size_t size = 0; size < whole.size(); ++size)
        EXPECT_FALSE(parse_servers(std::string(whole, 0, size))) << size;
    EXPECT_TRUE(parse_servers(whole));
    EXPECT_FALSE(parse_servers(whole + std::string(70000, '\0'))) << "larger than any answer";
}

TEST(PeerUrl, SameHostHasTheSameUrl) {
    EXPECT_EQ(peer_url("GPU01.example"), peer_url("gpu01.Example:2990"));
    EXPECT_EQ(peer_url("[2001:DB8::1]"), "https://[2001:db8::1]:2990");
}

TEST(HostName, NameWithInvalidLabelsIsRefused) {
    for (const std::string_view good : {"a", "gpu01.rack-1.example", "0.example"})
        EXPECT_TRUE(is_host_name(good)) << good;
    for (const std::string& bad : {std::string(), std::string("."), std::string("example."),
                                   std::string("a..b"), std::string(64, 'a'), std::string("a\0b", 3)})
        EXPECT_FALSE(is_host_name(bad)) << bad;
    std::string long_name(63, 'a');
    long_name += "." + long_name + "." + long_name + ".";
    EXPECT_TRUE(is_host_name(long_name + std::string(61, 'a')));
    EXPECT_FALSE(is_host_name(long_name + std::string(62, 'a')));
}

} // namespace
} // namespace gpuhost::images
