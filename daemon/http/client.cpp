// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/client.hpp"

#include "daemon/base/handle.hpp"
#include "daemon/http/connections.hpp"
#include "daemon/http/tls_files.hpp"
#include "daemon/http/transfer.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <list>
#include <set>
#include <utility>

#include <curl/curl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

namespace gpuhost::http {

using base::Errc;
using base::Result;
using base::UniqueFd;
using std::chrono::milliseconds;

struct Client::Transfers {
    Options options;
    UniqueFd poll;
    unsigned last_number = 0;
    std::list<Connections> generations; ///< the last is the newest and gets new requests; never empty
    std::uint64_t last_id = 0;
    /// Ids of started requests. A callback of libcurl may not add a transfer, so begin_started() adds it
    /// afterwards.
    std::vector<std::uint64_t> started;
    /// Ids of cancelled requests. A callback of libcurl may not remove a transfer, so drop_cancelled()
    /// removes it afterwards.
    std::set<std::uint64_t> cancelled;
    std::vector<Answer> refused; ///< answers to requests that were not sent
    bool is_working = false;

    [[nodiscard]] Connections& newest() { return generations.back(); }

    Result<void> begin_generation(std::shared_ptr<const TlsFiles> tls) {
        Connections& made = generations.emplace_back();
        made.number = ++last_number;
        made.poll = poll.get();
        made.tls = std::move(tls);
        if (!made.start(options.most_idle_connections)) {
            const int error = errno;
            generations.pop_back();
            return base::fail_errno("starting libcurl", error);
        }
        return {};
    }

    /// Removes generations without a transfer, except the newest, and closes their idle connections.
    void drop_old_generations() {
        generations.remove_if(
            [this](const Connections& one) { return &one != &newest() && one.running.empty(); });
    }

    void begin_started() {
        for (const std::uint64_t id : std::exchange(started, {}))
            for (Connections& connections : generations)
                if (const auto found = connections.running.find(id); found != connections.running.end())
                    (void)curl_multi_add_handle(connections.multi.get(), found->second->easy.get());
    }

    void drop_cancelled() {
        for (const std::uint64_t id : std::exchange(cancelled, {}))
            for (Connections& connections : generations)
                connections.remove(id);
    }

    void run_what_is_ready() {
        std::array<epoll_event, 16> events{};
        is_working = true;
        for (;;) {
            const int n = ::epoll_wait(poll.get(), events.data(), static_cast<int>(events.size()), 0);
            for (int i = 0; i < n; ++i)
                run(events[static_cast<std::size_t>(i)]);
            if (n < static_cast<int>(events.size()))
                break;
        }
        is_working = false;
        drop_cancelled();
        begin_started();
    }

    void run(const epoll_event& event) {
        const auto number = static_cast<unsigned>(event.data.u64 >> 32U);
        const auto fd = static_cast<int>(event.data.u64 & 0xffff'ffffU);
        const auto found = std::find_if(generations.begin(), generations.end(),
                                        [number](const Connections& one) { return one.number == number; });
        if (found == generations.end())
            return;
        int active = 0;
        if (fd == found->timer.get()) {
            std::uint64_t times = 0;
            (void)!::read(fd, &times, sizeof times);
            (void)curl_multi_socket_action(found->multi.get(), CURL_SOCKET_TIMEOUT, 0, &active);
            return;
        }
        const int what = ((event.events & (EPOLLIN | EPOLLHUP)) != 0 ? CURL_CSELECT_IN : 0) |
                         ((event.events & EPOLLOUT) != 0 ? CURL_CSELECT_OUT : 0) |
                         ((event.events & EPOLLERR) != 0 ? CURL_CSELECT_ERR : 0);
        (void)curl_multi_socket_action(found->multi.get(), fd, what, &active);
    }

    [[nodiscard]] std::vector<Answer> collect() {
        std::vector<Answer> answers = std::exchange(refused, {});
        for (auto connections = generations.begin(); connections != generations.end(); ++connections) {
            int left = 0;
            while (CURLMsg* message = curl_multi_info_read(connections->multi.get(), &left)) {
                if (message->msg != CURLMSG_DONE)
                    continue;
                char* self = nullptr;
                (void)curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &self);
                auto& transfer = *reinterpret_cast<Transfer*>(self);
                transfer.finish(message->data.result);
                if (transfer.answer.failure == Failure::Timeout && transfer.had_connection())
                    give_up(*connections, transfer.heard);
                answers.push_back(std::move(transfer.answer));
                connections->remove(answers.back().id);
            }
            if (connections->given_up)
                end_all(*connections, answers);
        }
        drop_old_generations();
        return answers;
    }

    /// Handles a request that timed out on `connections`; `heard` is the time of its last byte. New requests
    /// use another generation. If no other transfer has received a byte since `heard`, all transfers of this
    /// generation are given up.
    void give_up(Connections& connections, Clock::time_point heard) {
        if (!options.http2 || connections.one_request_each)
            return;
        if (&connections == &newest() && !begin_generation(connections.tls))
            return;
        connections.given_up = connections.given_up || connections.heard <= heard;
    }

    static void end_all(Connections& connections, std::vector<Answer>& answers) {
        while (!connections.running.empty()) {
            Transfer& transfer = *connections.running.begin()->second;
            transfer.finish(CURLE_OPERATION_TIMEDOUT);
            answers.push_back(std::move(transfer.answer));
            connections.remove(answers.back().id);
        }
    }
};

Client::Client(std::unique_ptr<Transfers> transfers) : transfers_(std::move(transfers)) {}
Client::Client(Client&&) noexcept = default;
Client& Client::operator=(Client&&) noexcept = default;
Client::~Client() = default;

Result<Client> Client::make(Options options) {
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        return base::fail(Errc::Failed, "libcurl failed to start");
    auto transfers = std::make_unique<Transfers>();
    std::shared_ptr<const TlsFiles> tls = std::make_shared<TlsFiles>();
    if (!options.plain || !options.tls.authorities.empty()) {
        GPUHOST_TRY(made, TlsFiles::make(options.tls));
        tls = std::move(made);
    }
    transfers->options = std::move(options);
    transfers->poll = UniqueFd(::epoll_create1(EPOLL_CLOEXEC));
    if (!transfers->poll)
        return base::fail_errno("starting libcurl", errno);
    GPUHOST_CHECK(transfers->begin_generation(std::move(tls)));
    return Client(std::move(transfers));
}

Result<void> Client::set_tls(const Tls& tls) {
    GPUHOST_TRY(files, TlsFiles::make(tls));
    GPUHOST_CHECK(transfers_->begin_generation(std::move(files)));
    if (!transfers_->is_working)
        transfers_->drop_old_generations();
    return {};
}

std::uint64_t Client::start(Request request) {
    Connections& connections = transfers_->newest();
    auto transfer = std::make_unique<Transfer>();
    transfer->request = std::move(request);
    transfer->connections = &connections;
    transfer->answer.id = ++transfers_->last_id;
    transfer->easy.reset(curl_easy_init());
    transfer->answer.problem =
        transfer->easy ? objection(transfer->request, *connections.tls) : "libcurl failed to start";
    if (!transfer->answer.problem.empty()) {
        transfer->answer.failure = Failure::Unreachable;
        transfers_->refused.push_back(std::move(transfer->answer));
        connections.arm(0);
        return transfers_->last_id;
    }
    set_up(*transfer, transfers_->options);
    connections.running.emplace(transfers_->last_id, std::move(transfer));
    transfers_->started.push_back(transfers_->last_id);
    if (!transfers_->is_working)
        transfers_->begin_started();
    return transfers_->last_id;
}

void Client::cancel(std::uint64_t id) {
    std::erase_if(transfers_->refused, [id](const Answer& answer) { return answer.id == id; });
    transfers_->cancelled.insert(id);
    if (!transfers_->is_working)
        transfers_->drop_cancelled();
}

int Client::descriptor() const {
    return transfers_->poll.get();
}

std::vector<Answer> Client::work() {
    transfers_->run_what_is_ready();
    return transfers_->collect();
}

std::vector<Answer> Client::wait(milliseconds most, int writable) {
    auto answers = work();
    if (!answers.empty())
        return answers;
    std::array polled{pollfd{descriptor(), POLLIN, 0}, pollfd{writable, POLLOUT, 0}};
    (void)::poll(polled.data(), polled.size(), static_cast<int>(most.count()));
    return work();
}

} // namespace gpuhost::http
