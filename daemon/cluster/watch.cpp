// SPDX-License-Identifier: Apache-2.0
#include "daemon/cluster/watch.hpp"

#include <random>
#include <utility>

namespace gpuhost::cluster {

using base::Error;
using base::Json;

namespace {

constexpr Time first_wait{500};
constexpr Time most_wait{30'000};
constexpr Time short_watch{1'000}; ///< a server that ends watches at once is not asked at once again
constexpr unsigned gone = 410;     ///< the version is too old for the server

/// Seconds after which the server ends a watch, so that hosts spread over servers again.
std::string timeout_seconds() {
    static std::minstd_rand random{std::random_device{}()};
    return std::to_string(std::uniform_int_distribution<int>(30 * 60, 60 * 60)(random));
}

std::string version_of(const Json& object) {
    return base::string_or(base::member(object, "metadata"), "resourceVersion", "");
}

} // namespace

Watch::Watch(Api& api, std::string collection, std::string selector, WatchHandlers handlers)
    : api_(api), collection_(std::move(collection)), selector_(std::move(selector)),
      handlers_(std::move(handlers)), backoff_(first_wait, most_wait) {}

Watch::~Watch() {
    if (request_ != 0)
        api_.cancel(request_);
}

void Watch::turn() {
    if (!due_ || now() < *due_)
        return;
    due_.reset();
    if (version_.empty())
        list();
    else
        follow();
}

void Watch::retry() {
    if (request_ != 0)
        api_.cancel(std::exchange(request_, 0));
    backoff_.reset();
    due_ = Time(0);
}

void Watch::list() {
    const std::string query = selector_.empty() ? "" : "?" + selector_;
    request_ = api_.get(collection_ + query, [this](ApiAnswer&& answer) { listed(std::move(answer)); });
}

void Watch::listed(ApiAnswer&& answer) {
    request_ = 0;
    if (!answer.done())
        return later(answer.error, answer.retry_after);
    version_ = version_of(answer.body);
    const auto items = answer.body.find("items");
    if (version_.empty() || items == answer.body.end() || !items->is_array())
        return later({base::Errc::BadContent, "the API server's answer is no list", ""});
    std::vector<Json> objects;
    for (Json& object : *items)
        objects.push_back(std::move(object));
    up_to_date();
    handlers_.on_list(std::move(objects));
    due_ = now();
}

void Watch::follow() {
    began_ = now();
    const std::string query =
        "?watch=1&allowWatchBookmarks=true&resourceVersion=" + percent_encoded(version_) +
        "&timeoutSeconds=" + timeout_seconds() + (selector_.empty() ? "" : "&" + selector_);
    request_ = api_.watch(
        collection_ + query, [this] { up_to_date(); }, [this](Json&& event) { take(std::move(event)); },
        [this](ApiAnswer&& answer) { followed(std::move(answer)); });
}

void Watch::take(Json&& event) {
    backoff_.reset();
    const std::string type = base::string_or(event, "type", "");
    Json& object = event["object"];
    if (type == "ERROR") {
        // The server ends the watch itself.
        if (base::int_or(object, "code", 0) == gone)
            version_.clear();
        return;
    }
    if (std::string version = version_of(object); !version.empty())
        version_ = std::move(version);
    if (type == "ADDED" || type == "MODIFIED")
        handlers_.on_object(std::move(object));
    else if (type == "DELETED")
        handlers_.on_gone(std::move(object));
}

void Watch::followed(ApiAnswer&& answer) {
    request_ = 0;
    if (now() - began_ >= short_watch)
        backoff_.reset();
    if (answer.status == gone)
        version_.clear();
    if (answer.status != gone && !answer.done())
        return later(answer.error, answer.retry_after);
    due_ = now() - began_ < short_watch ? now() + backoff_.next() : now();
}

void Watch::later(const Error& why, std::optional<std::chrono::seconds> at_least) {
    troubled_ = true;
    due_ = now() + std::max<Time>(backoff_.next(), at_least.value_or(std::chrono::seconds(0)));
    handlers_.on_trouble(why);
}

void Watch::up_to_date() {
    if (std::exchange(troubled_, false))
        handlers_.on_trouble({});
}

} // namespace gpuhost::cluster
