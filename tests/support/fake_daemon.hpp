// SPDX-License-Identifier: Apache-2.0
// gpuhostd as AsyncClient shows it, in the test's own process: daemon/client/async_client.cpp is not linked, this is instead.
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
    using Answer = base::Result<base::Json>; ///< the id where the method starts an operation

    FakeDaemon();
    ~FakeDaemon();
    FakeDaemon(const FakeDaemon&) = delete;
    FakeDaemon& operator=(const FakeDaemon&) = delete;

    /// Answers the oldest call of `method`; false: none waits.
    bool answer(const std::string& method, const Answer& answer);
    [[nodiscard]] unsigned calls(const std::string& method) const;

    std::vector<ctl::OperationRow> rows; ///< what ListOperations answers, unless with an error
    ctl::AsyncClient client;

    /// Called by the client. A swap that is only tried is "DryRun", an operation's description "DescribeOperation".
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
