// SPDX-License-Identifier: Apache-2.0
// Fakes gpuhostd behind AsyncClient in the test's process. Linked instead of daemon/client/async_client.cpp.
// Each call waits until the test answers it.
#pragma once

#include "daemon/client/async_client.hpp"

#include <functional>
#include <list>
#include <map>
#include <string>
#include <vector>

namespace gpuhost::tests {

class FakeDaemon {
  public:
    using Answer = base::Result<base::Json>; ///< the operation's id if the method starts one

    FakeDaemon();
    ~FakeDaemon();
    FakeDaemon(const FakeDaemon&) = delete;
    FakeDaemon& operator=(const FakeDaemon&) = delete;

    /// Answers the oldest call of `method`; false: no call is waiting.
    bool answer(const std::string& method, const Answer& answer);
    [[nodiscard]] unsigned calls(const std::string& method) const;

    std::vector<client::OperationRow> rows; ///< the answer of ListOperations, unless it is an error
    client::AsyncClient client;

    /// Called by the client. A dry run of a swap is "DryRun", an operation's description "DescribeOperation".
    void ask(const std::string& method, std::function<void(const Answer&)> done);

  private:
    struct Waiting {
        std::string method;
        std::function<void(const Answer&)> done;
    };
    std::list<Waiting> waiting_;
    std::map<std::string, unsigned> calls_;
};

} // namespace gpuhost::tests
