// SPDX-License-Identifier: Apache-2.0
// A request while libcurl sends it.
#pragma once

#include "daemon/base/handle.hpp"
#include "daemon/http/client.hpp"

#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include <curl/curl.h>

namespace gpuhost::http {

using Easy = base::CHandle<CURL, curl_easy_cleanup>;
using List = base::CHandle<curl_slist, curl_slist_free_all>;
using Clock = std::chrono::steady_clock;

struct Connections;
struct TlsFiles;

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

    /// Takes a part of the body. Returns false if it is too much.
    [[nodiscard]] bool take(std::string_view bytes);
    /// Takes a line of the headers.
    void on_header(std::string_view line);
    /// Writes the result into `answer`.
    void finish(CURLcode code);
    /// Returns true if the transfer was sent on a connection, false if none could be made.
    [[nodiscard]] bool had_connection() const;
    void note_bytes(); ///< bytes were received

  private:
    void note_version(std::string_view status_line) const;
};

/// Returns why the request can't be sent; an empty string if it can.
[[nodiscard]] std::string objection(const Request& request, const TlsFiles& tls);
/// Sets all options of libcurl for the transfer. The transfer must stay where it is.
void set_up(Transfer& transfer, const Options& options);

} // namespace gpuhost::http
