// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/base/root.hpp"
#include "daemon/client/async_client.hpp"
#include "daemon/client/client.hpp"
#include "daemon/ctl/dashboard/model.hpp"

#include <chrono>
#include <cstdint>
#include <optional>

namespace gpuhost::ctl::dashboard {

/// Reads everything once.
[[nodiscard]] base::Result<Documents> read_once(client::Client& client, const base::Root& root);

/// Keeps the documents up to date: reads them again after signals of gpuhostd. Reads the files of `root` at
/// intervals. Starts no gpuhostd.
class Source {
  public:
    /// `root` must outlive this object.
    explicit Source(const base::Root& root);
    Source(const Source&) = delete;
    Source& operator=(const Source&) = delete;
    ~Source() = default;

    /// Connects to the bus.
    [[nodiscard]] base::Result<void> connect();
    [[nodiscard]] const Documents& documents() const { return documents_; }
    void refresh();
    /// Keeps Documents::opened up to date for this operation.
    void open_operation(std::uint64_t id);
    /// Waits until a document arrives, an interval ends, or `wake` is readable.
    void wait(int wake);

  private:
    using Clock = std::chrono::steady_clock;

    void fetch();
    void fetch_operation(std::uint64_t id, base::Json Documents::*member);
    void handle(client::AsyncClient::Event event);
    void wait_without_bus(int wake, std::chrono::milliseconds left);
    void forget(base::Error problem);
    void end_interval();

    const base::Root& root_;
    Documents documents_;
    std::optional<client::AsyncClient> client_;
    std::uint64_t opened_ = 0; ///< id of the opened operation; 0 for none
    std::uint64_t number_ = 0; ///< of the daemon's connection; replies for earlier ones are ignored
    std::size_t pending_ = 0;  ///< calls without a reply
    bool running_ = false;     ///< gpuhostd is on the bus
    bool outdated_ = false;    ///< documents changed since they were read
    Clock::time_point next_fetch_;
    Clock::time_point interval_end_;
};

} // namespace gpuhost::ctl::dashboard
