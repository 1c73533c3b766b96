// SPDX-License-Identifier: Apache-2.0
#include "daemon/cluster/kube/watch.hpp"

#include "daemon/base/hex.hpp"

#include <random>
#include <utility>

namespace gpuhost::cluster {

using base::Error;
using base::Json;

namespace {

constexpr Time first_wait{500};
constexpr Time most_wait{30'000};
/// If a watch was shorter than this, the next request waits.
constexpr Time short_watch{1'000};
/// If no data arrived for this long before a watch ended, the objects are listed again: the server sends a
/// bookmark each minute.
constexpr Time mute_watch{240'000};
constexpr unsigned gone = 410;       ///< HTTP 410: the server does not know the version any more
constexpr unsigned first_page = 100; ///< objects; reduced if they are so large that the answer is too long

/// Returns a random time in seconds after which the server ends a watch, so that hosts spread over all API
/// servers again.
std::string timeout_seconds() {
    std::random_device random;
    return std::to_string(std::uniform_int_distribution<int>(30 * 60, 60 * 60)(random));
}

std::string version_of(const Json& object) {
    return base::string_or(base::member(object, "metadata"), "resourceVersion", "");
}

/// Returns namespace/name if the collection spans namespaces, otherwise the name.
std::string name_within(const std::string& collection, const Json& object) {
    const Json& metadata = base::member(object, "metadata");
    const std::string space = base::string_or(metadata, "namespace", "");
    const bool spans = !space.empty() && collection.find("/namespaces/") == std::string::npos;
    return (spans ? space + "/" : "") + object_name(object);
}

} // namespace

std::string name_selector(std::string_view name) {
    return "fieldSelector=metadata.name%3D" + base::percent_encoded(name);
}

std::string object_name(const Json& object) {
    return base::string_or(base::member(object, "metadata"), "name", "");
}

Watch::Watch(Api& api, std::string collection, std::string selector, WatchHandlers handlers, Begin begin)
    : api_(api), collection_(std::move(collection)), selector_(std::move(selector)),
      handlers_(std::move(handlers)), backoff_(first_wait, most_wait), page_(first_page),
      from_version_(begin == Begin::FromVersion) {}

Watch::~Watch() {
    if (request_ != 0)
        api_.cancel(request_);
}

void Watch::turn() {
    if (!due_ || now() < *due_)
        return;
    due_.reset();
    if (version_.empty() && !from_version_)
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

void Watch::list_anew() {
    list_again();
    retry();
}

void Watch::list() {
    std::string query = "?limit=" + std::to_string(page_);
    if (!selector_.empty())
        query += "&" + selector_;
    if (!continue_.empty())
        query += "&continue=" + base::percent_encoded(continue_);
    request_ = api_.get(collection_ + query, [this](ApiAnswer&& answer) { listed(std::move(answer)); });
}

void Watch::list_again() {
    version_.clear();
    continue_.clear();
    names_.clear();
    from_version_ = false;
}

void Watch::listed(ApiAnswer&& answer) {
    request_ = 0;
    if (answer.status == gone) // the server no longer has the list whose next page was requested
        list_again();
    if (answer.too_much && page_ > 1) {
        page_ /= 2;
        due_ = now();
        return;
    }
    if (!answer.done())
        return later(answer.error, answer.retry_after);
    const std::string version = version_of(answer.body);
    const auto items = answer.body.find("items");
    if (version.empty() || items == answer.body.end() || !items->is_array())
        return later({base::Errc::BadContent, "the API server's response is not a list", ""});
    continue_ = base::string_or(base::member(answer.body, "metadata"), "continue", "");
    up_to_date(); // before on_object, whose handlers may report other errors
    listing_ = true;
    for (Json& object : *items) {
        names_.insert(name_within(collection_, object));
        handlers_.on_object(std::move(object));
    }
    listing_ = false;
    due_ = now();
    if (!continue_.empty())
        return;
    version_ = version;
    handlers_.on_listed(std::exchange(names_, {}));
}

void Watch::follow() {
    began_.reset();
    heard_.reset();
    const std::string query =
        "?watch=1&allowWatchBookmarks=true" +
        (version_.empty() ? "" : "&resourceVersion=" + base::percent_encoded(version_)) +
        "&timeoutSeconds=" + timeout_seconds() + (selector_.empty() ? "" : "&" + selector_);
    request_ = api_.watch(
        collection_ + query,
        [this] {
            began_ = heard_ = now();
            up_to_date();
        },
        [this](Json&& event) { handle(std::move(event)); },
        [this](ApiAnswer&& answer) { followed(std::move(answer)); });
}

void Watch::handle(Json&& event) {
    heard_ = now();
    const std::string type = base::string_or(event, "type", "");
    Json& object = event["object"];
    if (type == "ERROR") {
        // The server ends the watch after this event; followed() then continues.
        if (base::int_or(object, "code", 0) == gone)
            list_again();
        return;
    }
    backoff_.reset();
    if (std::string version = version_of(object); !version.empty())
        version_ = std::move(version);
    if (type == "ADDED" || type == "MODIFIED")
        handlers_.on_object(std::move(object));
    else if (type == "DELETED")
        handlers_.on_gone(std::move(object));
}

void Watch::followed(ApiAnswer&& answer) {
    request_ = 0;
    // The time is measured from the server's acceptance, because connecting may take long.
    const bool lasted = began_ && now() - *began_ >= short_watch;
    if (lasted)
        backoff_.reset();
    // A server whose store was restored from a backup has an older version than this watch began from. It
    // sends nothing on such a watch, not even a bookmark.
    const bool mute = heard_ && now() - *heard_ >= mute_watch;
    if (answer.status == gone || mute)
        list_again();
    if (answer.status != gone && !answer.done())
        return later(answer.error, answer.retry_after);
    due_ = lasted ? now() : now() + backoff_.next();
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
