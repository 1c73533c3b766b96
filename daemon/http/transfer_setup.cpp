// SPDX-License-Identifier: Apache-2.0
// The options of libcurl for a transfer, and the functions that libcurl calls.
#include "daemon/http/connections.hpp"
#include "daemon/http/transfer.hpp"

#include <algorithm>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

namespace gpuhost::http {

namespace {

constexpr long keepalive_idle_s = 30; ///< TCP keepalive; ends a long response when the network is gone
constexpr long keepalive_interval_s = 10;
/// Time for the other end to acknowledge sent bytes; the kernel's default is 15 minutes.
constexpr unsigned unacknowledged_ms = 30'000;

bool is_clean(const std::string& header) {
    return header.find_first_of("\r\n") == std::string::npos;
}

/// Returns "host:port" of "https://host:port/…".
std::string authority_of(const std::string& url) {
    const std::size_t from = url.find("://") + 3;
    return url.substr(from, url.find('/', from) - from);
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

void set_up_connection(const Transfer& transfer, const Options& options) {
    CURL* easy = transfer.easy.get();
    const auto set = [easy](CURLoption option, auto value) { (void)curl_easy_setopt(easy, option, value); };
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

void set_up_request(Transfer& transfer, const Options& options) {
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

} // namespace

std::string objection(const Request& request, const TlsFiles& tls) {
    if (!std::all_of(request.headers.begin(), request.headers.end(), is_clean))
        return "a header has more than one line";
    const bool is_plain = request.url.compare(0, 5, "http:") == 0;
    return is_plain || tls.authorities.path() != nullptr ? "" : nobody_trusted;
}

void set_up(Transfer& transfer, const Options& options) {
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
    set_up_connection(transfer, options);
    set_up_request(transfer, options);
}

} // namespace gpuhost::http
