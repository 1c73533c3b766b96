// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/transfer.hpp"

#include "daemon/http/connections.hpp"

#include <algorithm>
#include <cctype>
#include <system_error>
#include <utility>

namespace gpuhost::http {

namespace {

constexpr std::size_t most_headers = 100;

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

} // namespace

bool Transfer::take(std::string_view bytes) {
    if (request.on_bytes && is_good)
        return request.on_bytes(bytes);
    const std::uint64_t most = request.length > 0 ? request.length : request.limit;
    if (bytes.size() > most - answer.body.size())
        return false;
    answer.body.append(bytes);
    return true;
}

void Transfer::on_header(std::string_view line) {
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

void Transfer::finish(CURLcode code) {
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

bool Transfer::had_connection() const {
    curl_off_t us = 0;
    (void)curl_easy_getinfo(easy.get(), CURLINFO_PRETRANSFER_TIME_T, &us);
    return us > 0;
}

void Transfer::note_bytes() {
    heard = connections->heard = Clock::now();
}

void Transfer::note_version(std::string_view status_line) const {
    if (status_line.substr(0, 7) == "HTTP/1.")
        connections->one_request_each = true;
}

} // namespace gpuhost::http
