// SPDX-License-Identifier: Apache-2.0
#include "images/host/crio_pins.hpp"
#include "tests/support/tmpdir.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>
#include <thread>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

namespace gpuhost::images {
namespace {

using base::Errc;
using Names = std::set<std::string>;

constexpr const char* ours = "etc/crio/crio.conf.d/00-gpuhost.conf";

/// A fake CRI-O in this process. It listens, answers once it serves, and receives SIGHUP.
class Crio {
  public:
    explicit Crio(const tests::TempDir& directory) : fd_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sigset_t set = hangup();
        EXPECT_EQ(::pthread_sigmask(SIG_BLOCK, &set, &before_), 0);
        directory.write("run/crio/x", "");
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        const std::string path = directory.path("run/crio/crio.sock");
        EXPECT_LT(path.size(), sizeof address.sun_path);
        std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
        EXPECT_EQ(::bind(fd_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
        EXPECT_EQ(::listen(fd_.get(), 8), 0);
    }
    ~Crio() {
        ::shutdown(fd_.get(), SHUT_RDWR); // ends accept()
        if (server_.joinable())
            server_.join();
        (void)was_notified();
        ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    }
    Crio(const Crio&) = delete;
    Crio& operator=(const Crio&) = delete;

    void serve() {
        server_ = std::thread([this] {
            while (const base::UniqueFd peer{::accept(fd_.get(), nullptr, nullptr)}) {
                std::array<char, 256> request{};
                const ssize_t size = ::recv(peer.get(), request.data(), request.size(), 0);
                EXPECT_EQ(std::string_view(request.data(), std::max<ssize_t>(size, 0)),
                          "GET /info HTTP/1.0\r\nHost: crio\r\n\r\n");
                (void)::send(peer.get(), "HTTP/1.0 200 OK\r\n\r\n", 19, MSG_NOSIGNAL);
            }
        });
    }
    [[nodiscard]] bool was_notified() const {
        const sigset_t set = hangup();
        const timespec now{};
        return ::sigtimedwait(&set, nullptr, &now) == SIGHUP;
    }

  private:
    static sigset_t hangup() {
        sigset_t set{};
        sigemptyset(&set);
        sigaddset(&set, SIGHUP);
        return set;
    }

    base::UniqueFd fd_;
    sigset_t before_{};
    std::thread server_;
};

bool all(const std::string&) {
    return true;
}
bool none(const std::string&) {
    return false;
}

TEST(CrioPins, ChangedPinsReloadCrio) {
    const tests::TempDir directory;
    const base::Root root = directory.root();
    directory.write("etc/crio/crio.conf", "[crio.image]\n# pinned_images = [\n# ]\n");
    directory.write("etc/crio/crio.conf.d/10-crio.conf",
                    "[crio.image]\npause_image = \"a.example/pause:1\"\n");
    Crio crio(directory);
    crio.serve();
    const CrioPins pins(root);
    EXPECT_TRUE(pins.are_used());
    EXPECT_TRUE(pins.names().value().empty());
    ASSERT_TRUE(pins.add("b.example/b:v1"));
    EXPECT_TRUE(crio.was_notified());
    ASSERT_TRUE(pins.add("a.example:5000/a:v1"));
    EXPECT_TRUE(crio.was_notified());
    EXPECT_EQ(directory.read(ours),
              "# Written by gpuhostd; changes are lost.\n[crio.image]\npinned_images = [\n"
              "    \"a.example:5000/a:v1\",\n    \"b.example/b:v1\",\n]\n");
    EXPECT_TRUE(pins.are_used()) << "gpuhostd wrote the list";
    EXPECT_EQ(pins.names().value(), (Names{"a.example:5000/a:v1", "b.example/b:v1"}));
    ASSERT_TRUE(pins.add("b.example/b:v1"));
    ASSERT_TRUE(pins.retain(all));
    EXPECT_FALSE(crio.was_notified()) << "nothing changed";
    ASSERT_TRUE(pins.retain([](const std::string& name) { return name == "b.example/b:v1"; }));
    EXPECT_TRUE(crio.was_notified());
    EXPECT_EQ(pins.names().value(), Names{"b.example/b:v1"});
    ASSERT_TRUE(pins.retain(none));
    EXPECT_TRUE(crio.was_notified());
    EXPECT_FALSE(root.exists(crio_pins_file));
    EXPECT_EQ(root.list("/etc/crio").value(), (std::vector<std::string>{"crio.conf", "crio.conf.d"}));
}

TEST(CrioPins, ReloadWaitsUntilCrioServes) {
    const tests::TempDir directory;
    const base::Root root = directory.root();
    directory.write("etc/crio/crio.conf", "");
    const CrioPins pins(root, std::chrono::milliseconds(50));
    ASSERT_TRUE(pins.add("a.example/a:v1")) << "CRI-O does not run";
    Crio crio(directory);
    EXPECT_EQ(pins.add("b.example/b:v1").error().code, Errc::Timeout)
        << "SIGHUP would end a CRI-O that starts";
    EXPECT_EQ(pins.retain(all).error().code, Errc::Timeout);
    EXPECT_FALSE(crio.was_notified());
    EXPECT_NE(CrioReload::marked_us(root), 0U);
    crio.serve();
    const CrioPins patient(root);
    ASSERT_TRUE(patient.notify());
    EXPECT_TRUE(crio.was_notified());
    EXPECT_EQ(CrioReload::marked_us(root), 0U);
    ASSERT_TRUE(patient.add("c.example/c:v1"));
    ASSERT_TRUE(patient.retain(all));
    EXPECT_TRUE(crio.was_notified());
    EXPECT_EQ(patient.names().value().size(), 3U);
    ASSERT_TRUE(patient.retain(all));
    EXPECT_FALSE(crio.was_notified()) << "CRI-O was notified already";
}

TEST(CrioPins, LaterListOfOthersRemovesThePins) {
    const tests::TempDir directory;
    const base::Root root = directory.root();
    directory.write("etc/crio/crio.conf.d/50-site.conf", "");
    Crio crio(directory);
    crio.serve();
    const CrioPins pins(root);
    ASSERT_TRUE(pins.add("a.example/a:v1"));
    EXPECT_TRUE(crio.was_notified());
    directory.write("etc/crio/crio.conf.d/50-site.conf", "crio.image = { pinned_images = [] }\n");
    ASSERT_TRUE(pins.retain(all));
    EXPECT_TRUE(crio.was_notified());
    EXPECT_FALSE(root.exists(crio_pins_file));
}

TEST(CrioPins, ForeignListIsKept) {
    const tests::TempDir directory;
    const base::Root root = directory.root();
    const CrioPins pins(root);
    ASSERT_TRUE(pins.add("a.example/a:v1")) << "CRI-O is not installed";
    EXPECT_FALSE(root.exists("/etc/crio"));
    for (const char* file : {"etc/crio/crio.conf", "etc/crio/crio.conf.d/50-site.conf", ours}) {
        directory.write(file, "[crio.image]\n  pinned_images = [\"b.example/b:v1\"]\n");
        EXPECT_FALSE(pins.are_used()) << file;
        ASSERT_TRUE(pins.add("a.example/a:v1"));
        ASSERT_TRUE(pins.retain(none));
        EXPECT_EQ(directory.read(file), "[crio.image]\n  pinned_images = [\"b.example/b:v1\"]\n");
        EXPECT_TRUE(pins.names().value().empty()) << file;
        directory.write(file, "");
    }
    EXPECT_TRUE(pins.are_used());
    EXPECT_EQ(pins.add("a.example/a:v1").error().code, Errc::AlreadyExists) << "the file belongs to others";
}

} // namespace
} // namespace gpuhost::images
