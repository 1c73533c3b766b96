// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/client.hpp"

#include "daemon/base/handle.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <list>
#include <set>
#include <system_error>
#include <utility>

#include <curl/curl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

namespace gpuhost::http {

using base::Errc;
using base::Result;
using base::UniqueFd;
using std::chrono::milliseconds;

namespace {

using Easy = base::CHandle<CURL, curl_easy_cleanup>;
using Multi = base::CHandle<CURLM, curl_multi_cleanup>;
using List = base::CHandle<curl_slist, curl_slist_free_all>;

constexpr const char* nobody_trusted = "no trusted certificate authority";
constexpr long keepalive_idle_s = 30; ///< TCP keepalive; ends a long response when the network is gone
constexpr long keepalive_interval_s = 10;
/// Time for the other end to acknowledge sent bytes; the kernel's default is 15 minutes.
constexpr unsigned unacknowledged_ms = 30'000;

/// A PEM text as a file in memory, with a path for libcurl. Not all versions of libcurl accept all of these
/// texts as memory blocks.
class MemoryFile {
  public:
    MemoryFile() = default;
    [[nodiscard]] static Result<MemoryFile> make(const std::string& text) {
        MemoryFile made;
        if (text.empty())
            return made;
        made.fd_ = UniqueFd(::memfd_create("pem", MFD_CLOEXEC));
        if (!made.fd_)
            return base::fail_errno("creating a file in memory", errno);
        for (std::size_t done = 0; done < text.size();) {
            const ssize_t n = ::write(made.fd_.get(), text.data() + done, text.size() - done);
            if (n < 0)
                return base::fail_errno("creating a file in memory", errno);
            done += static_cast<std::size_t>(n);
        }
        made.path_ = "/proc/self/fd/" + std::to_string(made.fd_.get());
        return made;
    }
    /// Returns null for an empty text.
    [[nodiscard]] const char* path() const { return path_.empty() ? nullptr : path_.c_str(); }

  private:
    UniqueFd fd_;
    std::string path_;
};

struct TlsFiles {
    MemoryFile authorities;
    MemoryFile certificate;
    MemoryFile key;

    [[nodiscard]] static Result<std::shared_ptr<const TlsFiles>> make(const Tls& tls) {
        if (tls.authorities.empty())
            return base::fail(Errc::InvalidArgument, nobody_trusted);
        auto files = std::make_shared<TlsFiles>();
        GPUHOST_TRY(authorities, MemoryFile::make(tls.authorities));
        GPUHOST_TRY(certificate, MemoryFile::make(tls.certificate));
        GPUHOST_TRY(key, MemoryFile::make(tls.key));
        files->authorities = std::move(authorities);
        files->certificate = std::move(certificate);
        files->key = std::move(key);
        return std::shared_ptr<const TlsFiles>(std::move(files));
    }
};

bool is_clean(const std::string& header) {
    return header.find_first_of("\r\n") == std::string::npos;
}

/// Returns why the request can't be sent; an empty string if it can.
std::string objection(const Request& request, const TlsFiles& tls) {
    if (!std::all_of(request.headers.begin(), request.headers.end(), is_clean))
        return "a header has more than one line";
    const bool is_plain = request.url.compare(0, 5, "http:") == 0;
    return is_plain || tls.authorities.path() != nullptr ? "" : nobody_trusted;
}

Failure failure_of(CURLcode code) {
    switch (code) {
    case CURLE_OK:
        return Failure::None;
    case CURLE_OPERATION_TIMEDOUT:
        return Failure::Timeout;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_ISSUER_ERROR:
        return Failure::Untrusted;
    case CURLE_PARTIAL_FILE:
        return Failure::TooLittle;
    default:
        return Failure::Unreachable;
    }
}

/// Returns "host:port" of "https://host:port/…".
std::string authority_of(const std::string& url) {
    const std::size_t from = url.find("://") + 3;
    return url.substr(from, url.find('/', from) - from);
}

/// Returns the text of an error. libcurl's own texts for timeouts and failed connections contain a duration.
/// A caller that reports each different text once would then report every failure.
std::string words_of(CURL* easy, CURLcode code, const char* words) {
    if (code == CURLE_OPERATION_TIMEDOUT)
        return "timed out";
    if (code == CURLE_COULDNT_CONNECT) {
        long error = 0;
        (void)curl_easy_getinfo(easy, CURLINFO_OS_ERRNO, &error);
        return error == 0 ? "can't connect"
                          : "can't connect: " + std::system_category().message(static_cast<int>(error));
    }
    return *words != '\0' ? words : curl_easy_strerror(code);
}

using Clock = std::chrono::steady_clock;

struct Connections;

struct Transfer {
    Request request;
    Answer answer;
    Connections* connections = nullptr; ///< the owner of this transfer
    bool too_much = false;
    bool is_good = false;                   ///< 2xx
    Clock::time_point heard = Clock::now(); ///< time of the start, or of the last byte received
    std::array<char, CURL_ERROR_SIZE> words{};
    List headers;
    List connect_to;
    Easy easy;

    [[nodiscard]] std::uint64_t most() const { return request.length > 0 ? request.length : request.limit; }

    bool take(std::string_view bytes) {
        if (request.on_bytes && is_good)
            return request.on_bytes(bytes);
        if (bytes.size() > most() - answer.body.size())
            return false;
        answer.body.append(bytes);
        return true;
    }

    void on_header(std::string_view line) {
        if (line.substr(0, 5) == "HTTP/") {
            // Drops the headers of an interim answer (1xx) that came before this answer.
            answer.headers.clear();
            note_version(line);
            return;
        }
        if (line == "\r\n" || line == "\n") {
            long status = 0;
            (void)curl_easy_getinfo(easy.get(), CURLINFO_RESPONSE_CODE, &status);
            is_good = status >= 200 && status < 300;
            if (is_good && request.on_begin)
                request.on_begin();
            return;
        }
        const std::size_t colon = line.find(':');
        if (colon == std::string_view::npos || answer.headers.size() >= most_headers)
            return;
        std::string name(line.substr(0, colon));
        std::transform(name.begin(), name.end(), name.begin(),
                       [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
        std::string_view value = line.substr(colon + 1);
        while (!value.empty() && std::string_view(" \t\r\n").find(value.front()) != std::string_view::npos)
            value.remove_prefix(1);
        while (!value.empty() && std::string_view(" \t\r\n").find(value.back()) != std::string_view::npos)
            value.remove_suffix(1);
        answer.headers.insert_or_assign(std::move(name), std::string(value));
    }

    void finish(CURLcode code) {
        long status = 0;
        (void)curl_easy_getinfo(easy.get(), CURLINFO_RESPONSE_CODE, &status);
        answer.status = static_cast<unsigned>(status);
        answer.failure = too_much ? Failure::TooMuch : failure_of(code);
        if (too_much)
            answer.problem = "response larger than requested";
        else if (code != CURLE_OK)
            answer.problem = words_of(easy.get(), code, words.data());
        else if (is_good && request.length > 0 && answer.body.size() != request.length) {
            answer.failure = Failure::TooLittle;
            answer.problem = "response smaller than requested";
        }
    }

    /// Returns true if the transfer was sent on a connection, false if none could be made.
    [[nodiscard]] bool had_connection() const {
        curl_off_t us = 0;
        (void)curl_easy_getinfo(easy.get(), CURLINFO_PRETRANSFER_TIME_T, &us);
        return us > 0;
    }

    void note_bytes();
    void note_version(std::string_view status_line);

    static constexpr std::size_t most_headers = 100;
};

/// One generation of connections, with the transfers on them. libcurl keeps a multiplexed connection on which
/// a transfer has timed out, and would send the next request on it. Therefore each generation has a multi
/// handle of its own.
struct Connections {
    unsigned number = 0;
    int poll = -1; ///< epoll descriptor of the client; the data of an event are `number` and a descriptor
    std::shared_ptr<const TlsFiles> tls;
    Clock::time_point heard{}; ///< time of the last byte received, of any transfer
    /// HTTP/1: libcurl itself closes the connection of a transfer that has timed out.
    bool one_request_each = false;
    bool given_up = false; ///< the connections are silent: collect() ends all their transfers
    UniqueFd timer;
    Multi multi; ///< calls on_socket when it is freed
    std::map<std::uint64_t, std::unique_ptr<Transfer>> running;

    Connections() = default;
    Connections(const Connections&) = delete;
    Connections& operator=(const Connections&) = delete;
    ~Connections() {
        for (const auto& [id, transfer] : running)
            (void)curl_multi_remove_handle(multi.get(), transfer->easy.get());
    }

    [[nodiscard]] epoll_event event(unsigned events, int fd) const {
        epoll_event event{};
        event.events = events;
        event.data.u64 = std::uint64_t{number} << 32U | static_cast<std::uint32_t>(fd);
        return event;
    }

    static int on_socket(CURL* /*easy*/, curl_socket_t fd, int what, void* self, void* /*own*/) noexcept {
        const auto& connections = *static_cast<Connections*>(self);
        const int poll = connections.poll;
        if (what == CURL_POLL_REMOVE) {
            (void)::epoll_ctl(poll, EPOLL_CTL_DEL, fd, nullptr);
            return 0;
        }
        epoll_event event = connections.event(
            ((what & CURL_POLL_IN) != 0 ? EPOLLIN : 0U) | ((what & CURL_POLL_OUT) != 0 ? EPOLLOUT : 0U), fd);
        // libcurl may close a socket without a call of this function, so `fd` may be the number of an earlier
        // socket.
        if (::epoll_ctl(poll, EPOLL_CTL_MOD, fd, &event) < 0 && errno == ENOENT)
            (void)::epoll_ctl(poll, EPOLL_CTL_ADD, fd, &event);
        return 0;
    }

    static int on_timer(CURLM* /*multi*/, long ms, void* self) noexcept {
        static_cast<Connections*>(self)->arm(ms);
        return 0;
    }

    /// Sets the timer; a negative time stops it. 0 becomes one nanosecond, because timerfd_settime(2) stops
    /// the timer for 0.
    void arm(long ms) const {
        itimerspec when{};
        if (ms >= 0) {
            when.it_value.tv_sec = ms / 1000;
            when.it_value.tv_nsec = ms % 1000 * 1'000'000 + (ms == 0 ? 1 : 0);
        }
        (void)::timerfd_settime(timer.get(), 0, &when, nullptr);
    }

    void remove(std::uint64_t id) {
        const auto found = running.find(id);
        if (found == running.end())
            return;
        (void)curl_multi_remove_handle(multi.get(), found->second->easy.get());
        running.erase(found);
    }
};

void Transfer::note_bytes() {
    heard = connections->heard = Clock::now();
}

void Transfer::note_version(std::string_view status_line) {
    if (status_line.substr(0, 7) == "HTTP/1.")
        connections->one_request_each = true;
}

/// Calls `function`. Returns false if it throws, which ends the transfer: exceptions must not pass through
/// libcurl.
template <class Function>
bool guarded(Function&& function) noexcept {
    try {
        return function();
    } catch (...) {
        return false;
    }
}

std::size_t on_body(const char* bytes, std::size_t one, std::size_t count, void* self) noexcept {
    auto& transfer = *static_cast<Transfer*>(self);
    transfer.note_bytes();
    if (guarded([&] { return transfer.take({bytes, one * count}); }))
        return one * count;
    transfer.too_much = true;
    return 0; // ends the transfer
}

std::size_t on_header(const char* bytes, std::size_t one, std::size_t count, void* self) noexcept {
    const bool taken = guarded([&] {
        static_cast<Transfer*>(self)->note_bytes();
        static_cast<Transfer*>(self)->on_header({bytes, one * count});
        return true;
    });
    return taken ? one * count : 0;
}

/// Limits how long the kernel keeps a connection whose other end acknowledges nothing.
int on_new_socket(void* /*self*/, curl_socket_t fd, curlsocktype /*purpose*/) noexcept {
    (void)::setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &unacknowledged_ms, sizeof unacknowledged_ms);
    return CURL_SOCKOPT_OK;
}

} // namespace

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
        made.timer = UniqueFd(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
        made.multi.reset(curl_multi_init());
        epoll_event event = made.event(EPOLLIN, made.timer.get());
        if (!made.timer || !made.multi ||
            ::epoll_ctl(made.poll, EPOLL_CTL_ADD, made.timer.get(), &event) < 0) {
            const int error = errno;
            generations.pop_back();
            return base::fail_errno("starting libcurl", error);
        }
        CURLM* multi = made.multi.get();
        (void)curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, &Connections::on_socket);
        (void)curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, &made);
        (void)curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, &Connections::on_timer);
        (void)curl_multi_setopt(multi, CURLMOPT_TIMERDATA, &made);
        (void)curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS,
                                static_cast<long>(options.most_idle_connections));
        return {};
    }

    /// Removes generations without a transfer, except the newest, and closes their idle connections.
    void drop_old_generations() {
        generations.remove_if(
            [this](const Connections& one) { return &one != &newest() && one.running.empty(); });
    }

    void set_up(Transfer& transfer) const {
        const auto set = [easy = transfer.easy.get()](CURLoption option, auto value) {
            (void)curl_easy_setopt(easy, option, value);
        };
        set(CURLOPT_NOSIGNAL, 1L);
        set(CURLOPT_ERRORBUFFER, transfer.words.data());
        set(CURLOPT_PRIVATE, static_cast<void*>(&transfer));
        set(CURLOPT_WRITEFUNCTION, &on_body);
        set(CURLOPT_WRITEDATA, static_cast<void*>(&transfer));
        set(CURLOPT_HEADERFUNCTION, &on_header);
        set(CURLOPT_HEADERDATA, static_cast<void*>(&transfer));
        set_up_connection(transfer);
        set_up_request(transfer);
    }

    void set_up_connection(Transfer& transfer) const {
        CURL* easy = transfer.easy.get();
        const auto set = [easy](CURLoption option, auto value) {
            (void)curl_easy_setopt(easy, option, value);
        };
#if LIBCURL_VERSION_NUM >= 0x075500
        set(CURLOPT_PROTOCOLS_STR, options.plain ? "http,https" : "https");
#else
        set(CURLOPT_PROTOCOLS, static_cast<long>(CURLPROTO_HTTPS | (options.plain ? CURLPROTO_HTTP : 0)));
#endif
#if LIBCURL_VERSION_NUM >= 0x075700
        // Without this option, libcurl waits for the thread of a name lookup that has timed out, and blocks
        // all other transfers.
        set(CURLOPT_QUICK_EXIT, 1L);
        // libcurl would identify cached authorities by file name, and /proc/self/fd/N names are reused.
        set(CURLOPT_CA_CACHE_TIMEOUT, 0L);
#endif
        set(CURLOPT_PROXY, options.proxy.c_str());
        // on_header() gets headers of the server only, not of a proxy.
        set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
        set(CURLOPT_HTTP_VERSION,
            static_cast<long>(options.http2 ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1));
        set(CURLOPT_PIPEWAIT, options.http2 ? 1L : 0L);
        set(CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
        const TlsFiles& tls = *transfer.connections->tls;
        set(CURLOPT_CAINFO, tls.authorities.path());
        set(CURLOPT_CAPATH, static_cast<const char*>(nullptr)); // do not trust the distribution's authorities
        set(CURLOPT_SSLCERT, tls.certificate.path());
        set(CURLOPT_SSLKEY, tls.key.path());
        set(CURLOPT_TCP_KEEPALIVE, 1L);
        set(CURLOPT_TCP_KEEPIDLE, keepalive_idle_s);
        set(CURLOPT_TCP_KEEPINTVL, keepalive_interval_s);
        set(CURLOPT_SOCKOPTFUNCTION, &on_new_socket);
    }

    void set_up_request(Transfer& transfer) const {
        const Request& request = transfer.request;
        const auto set = [easy = transfer.easy.get()](CURLoption option, auto value) {
            (void)curl_easy_setopt(easy, option, value);
        };
        std::string url = request.url;
        if (!options.server_name.empty()) {
            const std::string authority = authority_of(url);
            const std::size_t port = authority.rfind(':');
            const bool has_port = port != std::string::npos && authority.find(']', port) == std::string::npos;
            url.replace(url.find(authority), has_port ? port : authority.size(), options.server_name);
            transfer.connect_to.reset(
                curl_slist_append(nullptr, ("::" + authority + (has_port ? "" : ":443")).c_str()));
            set(CURLOPT_CONNECT_TO, transfer.connect_to.get());
        }
        set(CURLOPT_URL, url.c_str());
        curl_slist* headers = curl_slist_append(nullptr, "Expect:");
        for (const std::string& header : request.headers)
            headers = curl_slist_append(headers, header.c_str());
        transfer.headers.reset(headers);
        set(CURLOPT_HTTPHEADER, transfer.headers.get());
        if (request.method != "GET") {
            set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
            set(CURLOPT_POSTFIELDS, request.body.c_str());
            set(CURLOPT_CUSTOMREQUEST, request.method.c_str());
        }
        if (request.length > 0) {
            const std::uint64_t last = request.first + request.length - 1;
            set(CURLOPT_RANGE, (std::to_string(request.first) + "-" + std::to_string(last)).c_str());
            transfer.answer.body.reserve(static_cast<std::size_t>(request.length));
        }
        set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(request.connect_deadline.count()));
        set(CURLOPT_TIMEOUT_MS, static_cast<long>(request.deadline.count()));
        if (request.silence.count() > 0) {
            set(CURLOPT_LOW_SPEED_LIMIT, static_cast<long>(request.least_speed));
            set(CURLOPT_LOW_SPEED_TIME, std::max<long>(1, static_cast<long>(request.silence.count() / 1000)));
        }
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
    transfers_->set_up(*transfer);
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
