// SPDX-License-Identifier: Apache-2.0
#include "tests/support/fake_daemon.hpp"

#include "daemon/base/json.hpp"

#include <algorithm>
#include <utility>

namespace gpuhost {

using base::Json;
using base::Result;

namespace {

tests::FakeDaemon* here = nullptr;

} // namespace

namespace client {

class AsyncClient::Bus {};

AsyncClient::AsyncClient(std::unique_ptr<Bus> bus) : bus_(std::move(bus)) {}
AsyncClient::AsyncClient(AsyncClient&&) noexcept = default;
AsyncClient::~AsyncClient() = default;

Result<AsyncClient> AsyncClient::connect() {
    return AsyncClient(std::make_unique<Bus>());
}

void AsyncClient::ask(const Call& call, Done<Json> done) {
    here->ask(call.method, std::move(done));
}

void AsyncClient::start(Call call, Options options, Done<std::uint64_t> done) {
    here->ask(options.count("dry-run") != 0 ? "DryRun" : call.method,
              [done = std::move(done)](const Result<Json>& id) {
                  done(id ? Result<std::uint64_t>(id->get<std::uint64_t>()) : base::fail(id.error()));
              });
}

void AsyncClient::order(const Call& call, Done<void> done) {
    here->ask(call.method, [done = std::move(done)](const Result<Json>& answer) {
        done(answer ? Result<void>() : base::fail(answer.error()));
    });
}

void AsyncClient::list_operations(Done<std::vector<OperationRow>> done) {
    here->ask("ListOperations", [done = std::move(done)](const Result<Json>& answer) {
        done(answer ? Result<std::vector<OperationRow>>(here->rows) : base::fail(answer.error()));
    });
}

void AsyncClient::describe_operation(std::uint64_t /*id*/, Done<Json> done) {
    here->ask("DescribeOperation", std::move(done));
}

void AsyncClient::cancel(std::uint64_t /*id*/, Done<void> done) {
    order({"", "", "Cancel", {}}, std::move(done));
}

} // namespace client

namespace tests {

FakeDaemon::FakeDaemon() : client(client::AsyncClient::connect().value()) {
    here = this;
}

FakeDaemon::~FakeDaemon() {
    here = nullptr;
}

bool FakeDaemon::answer(const std::string& method, const Answer& answer) {
    const auto oldest = std::find_if(waiting_.begin(), waiting_.end(),
                                     [&](const Waiting& one) { return one.method == method; });
    if (oldest == waiting_.end())
        return false;
    const auto done = std::move(oldest->done);
    waiting_.erase(oldest);
    done(answer);
    return true;
}

unsigned FakeDaemon::calls(const std::string& method) const {
    const auto found = calls_.find(method);
    return found == calls_.end() ? 0 : found->second;
}

void FakeDaemon::ask(const std::string& method, std::function<void(const Answer&)> done) {
    ++calls_[method];
    waiting_.push_back({method, std::move(done)});
}

} // namespace tests
} // namespace gpuhost
