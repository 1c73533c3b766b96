// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/dashboard/source.hpp"

#include "daemon/base/clock.hpp"
#include "daemon/cluster/kube/paths.hpp"
#include "daemon/ctl/bundle/host_inventory.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <poll.h>
#include <unistd.h>

namespace gpuhost::ctl::dashboard {

using base::Json;
using base::Result;
using client::OperationRow;
using namespace std::chrono_literals;
using Event = client::AsyncClient::Event;

namespace {

constexpr auto interval = 5s;         ///< of reading files and updating ages
constexpr auto least_between = 200ms; ///< between two reads; an operation sends many signals

std::string host_name() {
    std::array<char, 256> name{};
    return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

void read_cluster(const base::Root& root, Documents& documents) {
    documents.cluster = Json();
    const auto text = root.read(cluster::status_file);
    auto document = text ? base::parse_json(*text, "the status of gpuhost-cluster")
                         : Result<Json>(base::fail(text.error()));
    if (document)
        documents.cluster = *std::move(document);
    else if (document.error().code == base::Errc::NotFound)
        documents.cluster_problem = "gpuhost-cluster is not running";
    else
        documents.cluster_problem = document.error().message;
}

Documents of_files(const base::Root& root) {
    Documents documents;
    documents.name = host_name();
    documents.models = gpu_models(root);
    documents.now_us = base::realtime_us();
    read_cluster(root, documents);
    return documents;
}

} // namespace

Result<Documents> read_once(client::Client& client, const base::Root& root) {
    Documents documents = of_files(root);
    GPUHOST_TRY(host, client.describe_host());
    GPUHOST_TRY(operations, client.list_operations());
    documents.host = std::move(host);
    documents.operations = std::move(operations);
    documents.operations_problem.clear();
    if (const auto* row = client::last_operation(documents.operations)) {
        auto last = client.describe_operation(row->id);
        if (last)
            documents.last = *std::move(last);
        else
            documents.operations_problem = last.error().message;
    }
    return documents;
}

Source::Source(const base::Root& root)
    : root_(root), documents_(of_files(root)), interval_end_(Clock::now() + interval) {}

Result<void> Source::connect() {
    GPUHOST_TRY(client, client::AsyncClient::connect());
    client.start_no_daemon();
    GPUHOST_CHECK(client.subscribe());
    client_.emplace(std::move(client));
    return {};
}

void Source::refresh() {
    documents_.models = gpu_models(root_);
    outdated_ = true;
    next_fetch_ = Clock::now();
    interval_end_ = Clock::now();
}

void Source::open_operation(std::uint64_t id) {
    opened_ = id;
    outdated_ = true;
    next_fetch_ = Clock::now();
}

void Source::wait(int wake) {
    const auto now = Clock::now();
    auto until = interval_end_;
    if (client_ && running_ && outdated_ && pending_ == 0) {
        if (now >= next_fetch_)
            fetch();
        else
            until = std::min(next_fetch_, until);
    }
    const auto left = std::max(std::chrono::ceil<std::chrono::milliseconds>(until - now), 0ms);
    if (!client_) {
        wait_without_bus(wake, left);
    } else if (const auto event = client_->wait(left, wake); event) {
        handle(*event);
    } else {
        client_.reset();
        forget(event.error());
    }
    if (Clock::now() >= interval_end_)
        end_interval();
}

void Source::wait_without_bus(int wake, std::chrono::milliseconds left) {
    pollfd polled{wake, POLLIN, 0};
    (void)::poll(&polled, 1, static_cast<int>(left.count()));
}

void Source::end_interval() {
    interval_end_ = Clock::now() + interval;
    documents_.now_us = base::realtime_us();
    read_cluster(root_, documents_);
    if (!client_)
        if (const auto connected = connect(); !connected)
            documents_.problem = connected.error();
    if (documents_.problem || !documents_.operations_problem.empty()) // for example a timeout
        outdated_ = true;
}

void Source::handle(Event event) {
    if (event == Event::Gone)
        return forget(client::not_running());
    if (event == Event::Came) {
        ++number_;
        pending_ = 0;
        running_ = true;
    }
    if (event == Event::Came || event == Event::Changed || event == Event::Ended)
        outdated_ = true;
    if (event == Event::Came || event == Event::Ended) {
        documents_.models = gpu_models(root_);
        next_fetch_ = Clock::now();
    }
}

void Source::forget(base::Error problem) {
    ++number_;
    pending_ = 0;
    running_ = false;
    documents_.host = Json();
    documents_.last = Json();
    documents_.operations.clear();
    documents_.operations_problem = Documents().operations_problem;
    documents_.problem = std::move(problem);
}

void Source::fetch() {
    outdated_ = false;
    next_fetch_ = Clock::now() + least_between;
    pending_ = 2;
    client_->ask(client::manager_call("Describe"), [this, number = number_](Result<Json> host) {
        if (number != number_)
            return;
        --pending_;
        documents_.now_us = base::realtime_us();
        documents_.problem = host ? std::nullopt : std::optional(host.error());
        documents_.host = std::move(host).value_or(Json());
    });
    client_->list_operations([this, number = number_](Result<std::vector<OperationRow>> rows) {
        if (number != number_)
            return;
        --pending_;
        documents_.operations_problem = rows ? "" : rows.error().message;
        documents_.operations = std::move(rows).value_or(std::vector<OperationRow>());
        if (const auto* last = client::last_operation(documents_.operations))
            fetch_operation(last->id, &Documents::last);
    });
    if (opened_ != 0)
        fetch_operation(opened_, &Documents::opened);
}

void Source::fetch_operation(std::uint64_t id, Json Documents::*member) {
    ++pending_;
    client_->describe_operation(id, [this, member, number = number_](Result<Json> operation) {
        if (number != number_)
            return;
        --pending_;
        if (!operation && member == &Documents::last)
            documents_.operations_problem = operation.error().message;
        documents_.*member = std::move(operation).value_or(Json());
    });
}

} // namespace gpuhost::ctl::dashboard
