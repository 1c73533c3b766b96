// SPDX-License-Identifier: Apache-2.0
#include "images/peer_client.hpp"

#include "daemon/base/handle.hpp"

#include <algorithm>
#include <array>
#include <map>

#include <curl/curl.h>

namespace gpuhost::images {

using base::Errc;
using base::Result;
using std::chrono::milliseconds;

namespace {

constexpr long connect_ms = 3'000;
constexpr long document_ms = 60'000;     ///< for all of a document
constexpr long least_speed = 16L << 10U; ///< bytes a second: slower is as if it were silent
constexpr long most_idle_connections = 64;

using Easy = base::CHandle<CURL, curl_easy_cleanup>;
using Multi = base::CHandle<CURLM, curl_multi_cleanup>;

struct Transfer {
    PeerRequest request;
    PeerAnswer answer;
    bool too_much = false;
    std::array<char, CURL_ERROR_SIZE> words{};
    Easy easy;

    [[nodiscard]] std::uint64_t most() const { return request.length > 0 ? request.length : request.limit; }

    static std::size_t take(const char* bytes, std::size_t one, std::size_t count, void* self) {
        auto& transfer = *static_cast<Transfer*>(self);
        const std::size_t size = one * count;
        if (size > transfer.most() - transfer.answer.body.size()) {
            transfer.too_much = true;
            return 0; // ends it
        }
        transfer.answer.body.append(bytes, size);
        return size;
    }

    void finish(CURLcode code) {
        long status = 0;
        (void)curl_easy_getinfo(easy.get(), CURLINFO_RESPONSE_CODE, &status);
        answer.status = static_cast<unsigned>(status);
        if (too_much)
            answer.problem = "sent more than was asked for";
        else if (code != CURLE_OK)
            answer.problem = words[0] != '\0' ? words.data() : curl_easy_strerror(code);
        else if (status != 200 && status != 206)
            answer.problem = "answered " + std::to_string(status);
        else if (request.length > 0 && answer.body.size() != request.length)
            answer.problem = "sent less than was asked for";
    }
};

void only_https(CURL* easy) {
#if LIBCURL_VERSION_NUM >= 0x075500
    (void)curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "https");
#else
    (void)curl_easy_setopt(easy, CURLOPT_PROTOCOLS, CURLPROTO_HTTPS);
#endif
}

/// A name that is not found in time is given up at once; else libcurl waits for the thread that looks it up, and with it
/// every other transfer.
void wait_for_no_name(CURL* easy) {
#if LIBCURL_VERSION_NUM >= 0x075700
    (void)curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
#else
    (void)easy;
#endif
}

} // namespace

struct PeerClient::Transfers {
    std::string keys;
    milliseconds patience{0};
    Multi multi;
    std::uint64_t last_id = 0;
    std::map<std::uint64_t, std::unique_ptr<Transfer>> running;

    Transfers() = default;
    Transfers(const Transfers&) = delete;
    Transfers& operator=(const Transfers&) = delete;
    ~Transfers() {
        for (const auto& [id, transfer] : running)
            (void)curl_multi_remove_handle(multi.get(), transfer->easy.get());
    }

    void set_up(Transfer& transfer) const {
        CURL* easy = transfer.easy.get();
        const auto set = [easy](CURLoption option, auto value) {
            (void)curl_easy_setopt(easy, option, value);
        };
        const long silent_s = std::max<long>(1, static_cast<long>(patience.count() / 1000));
        only_https(easy);
        wait_for_no_name(easy);
        set(CURLOPT_URL, transfer.request.url.c_str());
        set(CURLOPT_PROXY, "");
        set(CURLOPT_NOSIGNAL, 1L);
        set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
        set(CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
        set(CURLOPT_CAINFO, (keys + "/ca.pem").c_str());
        set(CURLOPT_CAPATH, static_cast<const char*>(nullptr)); // the distribution's own has no say
        set(CURLOPT_SSLCERT, (keys + "/cert.pem").c_str());
        set(CURLOPT_SSLKEY, (keys + "/key.pem").c_str());
        set(CURLOPT_CONNECTTIMEOUT_MS, connect_ms);
        set(CURLOPT_LOW_SPEED_LIMIT, least_speed);
        set(CURLOPT_LOW_SPEED_TIME, silent_s);
        set(CURLOPT_ERRORBUFFER, transfer.words.data());
        set(CURLOPT_WRITEFUNCTION, &Transfer::take);
        set(CURLOPT_WRITEDATA, static_cast<void*>(&transfer));
        set(CURLOPT_PRIVATE, static_cast<void*>(&transfer));
        if (transfer.request.length == 0) {
            set(CURLOPT_TIMEOUT_MS, document_ms);
            return;
        }
        const std::uint64_t last = transfer.request.first + transfer.request.length - 1;
        set(CURLOPT_RANGE, (std::to_string(transfer.request.first) + "-" + std::to_string(last)).c_str());
        transfer.answer.body.reserve(static_cast<std::size_t>(transfer.request.length));
    }

    [[nodiscard]] std::vector<PeerAnswer> collect() {
        std::vector<PeerAnswer> answers;
        int left = 0;
        while (CURLMsg* message = curl_multi_info_read(multi.get(), &left)) {
            if (message->msg != CURLMSG_DONE)
                continue;
            char* self = nullptr;
            (void)curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &self);
            auto* transfer = reinterpret_cast<Transfer*>(self);
            transfer->finish(message->data.result);
            (void)curl_multi_remove_handle(multi.get(), message->easy_handle);
            answers.push_back(std::move(transfer->answer));
            running.erase(answers.back().id);
        }
        return answers;
    }
};

PeerClient::PeerClient(std::unique_ptr<Transfers> transfers) : transfers_(std::move(transfers)) {}
PeerClient::PeerClient(PeerClient&&) noexcept = default;
PeerClient& PeerClient::operator=(PeerClient&&) noexcept = default;
PeerClient::~PeerClient() = default;

Result<PeerClient> PeerClient::make(const std::string& keys, milliseconds patience) {
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        return base::fail(Errc::Failed, "libcurl does not start");
    auto transfers = std::make_unique<Transfers>();
    transfers->keys = keys;
    transfers->patience = patience;
    transfers->multi.reset(curl_multi_init());
    if (!transfers->multi)
        return base::fail(Errc::Failed, "libcurl does not start");
    (void)curl_multi_setopt(transfers->multi.get(), CURLMOPT_MAXCONNECTS, most_idle_connections);
    return PeerClient(std::move(transfers));
}

std::uint64_t PeerClient::start(PeerRequest request) {
    auto transfer = std::make_unique<Transfer>();
    transfer->request = std::move(request);
    transfer->answer.id = ++transfers_->last_id;
    transfer->easy.reset(curl_easy_init());
    transfers_->set_up(*transfer);
    (void)curl_multi_add_handle(transfers_->multi.get(), transfer->easy.get());
    transfers_->running.emplace(transfers_->last_id, std::move(transfer));
    return transfers_->last_id;
}

std::vector<PeerAnswer> PeerClient::wait(milliseconds most, int writable) {
    CURLM* multi = transfers_->multi.get();
    int running = 0;
    (void)curl_multi_perform(multi, &running);
    auto answers = transfers_->collect();
    if (!answers.empty())
        return answers;
    curl_waitfd other{writable, CURL_WAIT_POLLOUT, 0};
    (void)curl_multi_poll(multi, &other, writable < 0 ? 0 : 1, static_cast<int>(most.count()), nullptr);
    (void)curl_multi_perform(multi, &running);
    return transfers_->collect();
}

std::vector<PeerAnswer> PeerClient::ask_all(const std::vector<PeerRequest>& requests) {
    std::vector<PeerAnswer> answers(requests.size());
    const std::uint64_t first = transfers_->last_id + 1;
    for (const PeerRequest& request : requests)
        (void)start(request);
    for (std::size_t left = requests.size(); left > 0;)
        for (PeerAnswer& answer : wait(std::chrono::seconds(1))) {
            if (answer.id < first)
                continue; // nobody waits for it any more
            answers[static_cast<std::size_t>(answer.id - first)] = std::move(answer);
            --left;
        }
    return answers;
}

} // namespace gpuhost::images
