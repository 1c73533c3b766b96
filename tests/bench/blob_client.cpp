// SPDX-License-Identifier: Apache-2.0
// Clients for tests/bench/registry. Their own cost is minimal, so that the servers are measured:
//
//   blob-client PORT CLIENTS (each|shared) <FILE
//
// FILE has one path per line. With `each` every client requests all of them; with `shared` the clients divide
// them. Each client uses one connection; the kernel drops the bodies. Prints the seconds from the first
// request to the end of the last answer.
#include <algorithm>
#include <array>
#include <barrier>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace {

constexpr std::size_t most_at_once = 1U << 20U;
constexpr timeval patience{10, 0};

[[noreturn]] void give_up(const char* what) {
    std::perror(what);
    std::exit(1); // NOLINT(concurrency-mt-unsafe): the other clients are useless then
}

class Client {
  public:
    explicit Client(in_port_t port) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(port);
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        (void)::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
        // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): connect(2) requires it
        if (::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) < 0)
            give_up("connect");
    }
    ~Client() { (void)::close(fd_); }
    Client(const Client&) = delete;
    Client& operator=(const Client&) = delete;
    Client(Client&&) = delete;
    Client& operator=(Client&&) = delete;

    void get(const std::string& path) {
        const std::string request = "GET " + path + " HTTP/1.1\r\nHost: bench\r\n\r\n";
        if (::send(fd_, request.data(), request.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(request.size()))
            give_up("send");
        drop(body_left());
    }

  private:
    std::size_t receive(char* to, std::size_t most, int flags) const {
        const ssize_t n = ::recv(fd_, to, most, flags);
        if (n <= 0)
            give_up("recv");
        return static_cast<std::size_t>(n);
    }

    /// Reads the head; returns how many bytes of the body were not received with it.
    std::size_t body_left() {
        std::size_t got = 0;
        std::size_t end = std::string_view::npos;
        while (end == std::string_view::npos) {
            if (got == head_.size())
                give_up("the head is too long");
            got += receive(head_.data() + got, head_.size() - got, 0);
            end = std::string_view(head_.data(), got).find("\r\n\r\n");
        }
        const std::string_view head(head_.data(), end);
        const std::size_t field = head.find("Content-Length: ");
        std::size_t length = 0;
        if (head.substr(0, 13) != "HTTP/1.1 200 " || field == std::string_view::npos ||
            std::from_chars(head.data() + field + 16, head.data() + head.size(), length).ec != std::errc())
            give_up("unexpected answer");
        return length + end + 4 - got;
    }

    void drop(std::size_t left) const {
        while (left > 0)
            left -= receive(nullptr, std::min(left, most_at_once), MSG_TRUNC);
    }

    int fd_;
    std::array<char, 64U << 10U> head_{};
};

double seconds(in_port_t port, std::size_t clients, bool each, const std::vector<std::string>& paths) {
    std::barrier gate(static_cast<std::ptrdiff_t>(clients) + 1);
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < clients; ++i)
        threads.emplace_back([&, i] {
            Client client(port);
            gate.arrive_and_wait();
            for (std::size_t k = each ? 0 : i; k < paths.size(); k += each ? 1 : clients)
                client.get(paths[k]);
        });
    gate.arrive_and_wait();
    const auto start = std::chrono::steady_clock::now();
    for (std::thread& thread : threads)
        thread.join();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

} // namespace

int main(int argc, char* argv[]) try {
    const std::vector<std::string> words(argv + 1, argv + argc);
    if (words.size() != 3)
        throw std::invalid_argument("blob-client PORT CLIENTS (each|shared) <PATHS");
    std::vector<std::string> paths;
    for (std::string line; std::getline(std::cin, line);)
        paths.push_back(line);
    std::cout << seconds(static_cast<in_port_t>(std::stoul(words[0])), std::stoul(words[1]),
                         words[2] == "each", paths)
              << "\n";
    return 0;
} catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
}
