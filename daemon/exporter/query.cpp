// SPDX-License-Identifier: Apache-2.0
#include "daemon/exporter/query.hpp"

#include "daemon/client/async_client.hpp"
#include "daemon/client/driver_call.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace gpuhost::exporter {

using base::Errc;
using base::Json;
using base::Result;
using client::AsyncClient;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

namespace {

class Query {
  public:
    explicit Query(AsyncClient daemon) : daemon_(std::move(daemon)) { daemon_.start_no_daemon(); }

    Result<Documents> run(Clock::time_point end) {
        ask();
        while (open_ > 0 && !error_) {
            const auto left = std::chrono::ceil<milliseconds>(end - Clock::now());
            if (left.count() <= 0)
                return base::fail(Errc::Timeout, "gpuhostd does not answer",
                                  "Check it: systemctl status gpuhostd.");
            GPUHOST_CHECK(daemon_.wait(left, -1));
        }
        if (error_)
            return base::fail(std::move(*error_));
        return std::move(documents_);
    }

  private:
    void ask() {
        open_ = 3;
        daemon_.ask(client::manager_call("Describe"), [this](Result<Json> host) {
            take(documents_.host, std::move(host));
            if (const std::int64_t id = base::int_or(documents_.host, "operation", 0); id > 0)
                describe(static_cast<std::uint64_t>(id));
        });
        daemon_.list_operations([this](Result<std::vector<client::OperationRow>> operations) {
            take(documents_.operations, std::move(operations));
        });
        // The other metrics do not depend on the history, so an error of this call is ignored.
        daemon_.ask(client::driver_call("History"), [this](Result<Json> history) {
            --open_;
            documents_.history = std::move(history).value_or(Json());
        });
    }

    /// Ignores an error: the operation may have ended.
    void describe(std::uint64_t id) {
        ++open_;
        daemon_.describe_operation(id, [this](Result<Json> operation) {
            --open_;
            documents_.operation = std::move(operation).value_or(Json());
        });
    }

    template <class T>
    void take(T& place, Result<T> answer) {
        --open_;
        if (answer)
            place = *std::move(answer);
        else
            error_ = std::move(answer).error();
    }

    AsyncClient daemon_;
    Documents documents_;
    std::optional<base::Error> error_;
    unsigned open_ = 0; ///< calls without an answer
};

} // namespace

Result<Documents> query(milliseconds deadline) {
    const auto end = Clock::now() + deadline;
    GPUHOST_TRY(daemon, AsyncClient::connect());
    return Query(std::move(daemon)).run(end);
}

} // namespace gpuhost::exporter
