// SPDX-License-Identifier: Apache-2.0
#include "daemon/programs/gpuhost_cluster/daemon_observer.hpp"

#include "daemon/base/json.hpp"

#include <utility>

namespace gpuhost {

using base::Json;
using base::Result;

void DaemonObserver::begin() {
    state_ = {};
    busy_ = true;
    daemon_.list_operations([this, number = ++number_](Result<std::vector<client::OperationRow>> rows) {
        if (number != number_)
            return;
        if (!rows)
            return finish(base::fail(rows.error()));
        state_.operations = std::move(*rows);
        describe();
    });
}

void DaemonObserver::cancel() {
    ++number_;
    busy_ = false;
}

void DaemonObserver::describe() {
    if (const auto wanted = wants_(state_)) {
        daemon_.describe_operation(*wanted, [this, number = number_, id = *wanted](Result<Json> description) {
            if (number != number_)
                return;
            state_.descriptions.insert_or_assign(id, std::move(description));
            describe();
        });
        return;
    }
    daemon_.ask(client::manager_call("Describe"), [this, number = number_](Result<Json> host) {
        if (number == number_)
            finish(std::move(host));
    });
}

void DaemonObserver::finish(Result<Json> host) {
    state_.host = std::move(host);
    busy_ = false;
    done_(state_);
}

} // namespace gpuhost
