// SPDX-License-Identifier: Apache-2.0
#include "tests/support/simulated_server.hpp"

#include <algorithm>
#include <utility>

#include <time.h>

namespace gpuhost::tests {

using base::Json;
using base::member;
using base::string_or;
using http::Answer;
using http::Failure;
using http::Request;

namespace {

constexpr Time bookmarks{60'000};
constexpr Time longest_life{60'000}; ///< maximum duration of a request in the server
constexpr std::int64_t epoch = 1'800'000'000;

SimulatedServer* world = nullptr; // NOLINT: replaced at link time, so it must be global

std::string collection_of(const std::string& path) {
    return path.substr(0, path.rfind('/'));
}

/// Returns a parameter of "a=1&b=2". Decodes only the escapes that our programs send.
std::string parameter(const std::string& query, const std::string& name) {
    const std::string padded = "&" + query;
    const std::size_t at = padded.find("&" + name + "=");
    if (at == std::string::npos)
        return {};
    std::string value = padded.substr(at + name.size() + 2);
    value = value.substr(0, value.find('&'));
    for (const auto& [escape, text] : {std::pair("%3D", "="), std::pair("%2F", "/"), std::pair("%20", " "),
                                       std::pair("%28", "("), std::pair("%29", ")"), std::pair("%2C", ",")})
        for (std::size_t found = value.find(escape); found != std::string::npos; found = value.find(escape))
            value.replace(found, 3, text);
    return value;
}

/// Returns whether a list or a watch with these selectors contains the object.
bool is_selected(const Json& object, const std::string& label, const std::string& field) {
    if (object.is_null())
        return false;
    if (!field.empty() && "metadata.name=" + string_or(member(object, "metadata"), "name", "") != field &&
        "spec.nodeName=" + string_or(member(object, "spec"), "nodeName", "") != field)
        return false;
    if (label.empty())
        return true;
    const Json& labels = member(member(object, "metadata"), "labels");
    if (const std::size_t in = label.find(" in ("); in != std::string::npos) {
        const std::string values = "," + label.substr(in + 5, label.size() - in - 6) + ",";
        return values.find("," + string_or(labels, label.substr(0, in).c_str(), "") + ",") !=
               std::string::npos;
    }
    const std::size_t middle = label.find('=');
    return string_or(labels, label.substr(0, middle).c_str(), "") == label.substr(middle + 1);
}

/// Applies a strategic merge patch of conditions, the only one that our programs send.
void merge_conditions(Json& object, Json& patch) {
    Json* const status = patch.contains("status") ? &patch["status"] : nullptr;
    if (status == nullptr || !status->contains("conditions"))
        return;
    Json merged = object["status"].value("conditions", Json::array());
    for (const Json& condition : (*status)["conditions"]) {
        const auto same = std::find_if(merged.begin(), merged.end(),
                                       [&](const Json& one) { return one["type"] == condition["type"]; });
        const bool is_there = same != merged.end();
        if (condition.contains("$patch")) {
            if (is_there)
                merged.erase(same);
        } else if (is_there) {
            *same = condition;
        } else {
            merged.push_back(condition);
        }
    }
    (*status)["conditions"] = std::move(merged);
}

Json status_of(unsigned code, const std::string& message) {
    return {{"kind", "Status"}, {"code", code}, {"message", message}};
}

} // namespace

struct SimulatedTransfers : std::enable_shared_from_this<SimulatedTransfers> {
    struct Transfer {
        Request request;
        Time heard{0}; ///< time of a watch's last data
        bool begun = false;
    };

    explicit SimulatedTransfers(unsigned made_on) : host(made_on) {}

    void end(std::uint64_t id, Answer answer) {
        if (running.erase(id) == 0)
            return;
        answer.id = id;
        ready.push_back(
            [this, answer = std::move(answer)]() mutable { answers.push_back(std::move(answer)); });
    }
    void fail(std::uint64_t id, Failure failure, const std::string& problem) {
        Answer answer;
        answer.failure = failure;
        answer.problem = problem;
        end(id, std::move(answer));
    }
    /// Fails the transfer once it has been silent for the caller's limit.
    void check_silence(std::uint64_t id) {
        const auto found = running.find(id);
        if (found == running.end() || found->second.request.silence.count() == 0)
            return;
        const Time left = found->second.heard + found->second.request.silence - world->now();
        if (left.count() <= 0)
            return fail(id, Failure::Timeout, "nothing came any more");
        world->after(left, [weak = weak_from_this(), id] {
            if (const auto live = weak.lock())
                live->check_silence(id);
        });
    }

    unsigned host;
    std::uint64_t last = 0;
    std::map<std::uint64_t, Transfer> running;
    std::vector<std::function<void()>> ready; ///< for the next work()
    std::vector<Answer> answers;
};

SimulatedServer::SimulatedServer(unsigned seed) : random_(seed) {
    world = this;
    after(bookmarks, [this] { bookmark(); });
}

SimulatedServer::~SimulatedServer() {
    world = nullptr;
}

// Time

void SimulatedServer::after(Time wait, std::function<void()> what) {
    due_.emplace(now_ + wait, std::move(what));
}

std::optional<Time> SimulatedServer::next() const {
    return due_.empty() ? std::nullopt : std::optional(due_.begin()->first);
}

void SimulatedServer::advance(Time to) {
    while (!due_.empty() && due_.begin()->first <= to) {
        now_ = std::max(now_, due_.begin()->first);
        const auto what = std::move(due_.begin()->second);
        due_.erase(due_.begin());
        what();
    }
    now_ = std::max(now_, to);
}

// The network

bool SimulatedServer::is_cut(unsigned host) const {
    const auto found = cut_until_.find(host);
    return found != cut_until_.end() && now_ < found->second;
}

void SimulatedServer::cut(unsigned host, Time duration, bool hangs) {
    cut_until_[host] = std::max(cut_until_[host], now_ + duration);
    for (auto at = watchers_.begin(); at != watchers_.end();)
        at = at->second.host == host ? watchers_.erase(at) : std::next(at);
    if (hangs)
        return;
    for (const auto& client : clients_)
        if (const auto transfers = client.lock(); transfers && transfers->host == host) {
            std::vector<std::uint64_t> ids;
            for (const auto& [id, transfer] : transfers->running)
                ids.push_back(id);
            for (const std::uint64_t id : ids)
                transfers->fail(id, Failure::Unreachable, "the connection broke");
        }
}

bool SimulatedServer::has_answers(unsigned host) const {
    return std::any_of(clients_.begin(), clients_.end(), [host](const auto& client) {
        const auto transfers = client.lock();
        return transfers && transfers->host == host && !transfers->ready.empty();
    });
}

void SimulatedServer::send(const std::shared_ptr<SimulatedTransfers>& transfers, std::uint64_t id) {
    const unsigned host = transfers->host;
    const Request request = transfers->running[id].request;
    transfers->running[id].heard = now_;
    transfers->check_silence(id); // also for a request that never arrives
    ++calls;
    ++calls_of[host];
    if (request.deadline.count() > 0)
        after(request.deadline, [weak = std::weak_ptr(transfers), id] {
            if (const auto live = weak.lock())
                live->fail(id, Failure::Timeout, "not answered in time");
        });
    if (is_cut(host)) {
        after(std::min(request.connect_deadline, cut_until_[host] - now_),
              [weak = std::weak_ptr(transfers), id] {
                  if (const auto live = weak.lock())
                      live->fail(id, Failure::Unreachable, "no connection");
              });
        return;
    }
    const Time wait = request.method != "GET" && by_chance(faults.late)
                          ? Time(some(static_cast<unsigned>(longest_life.count())))
                          : travel();
    after(wait + hold(request),
          [this, weak = std::weak_ptr(transfers), id, host, request] { arrive(weak, id, host, request); });
}

void SimulatedServer::arrive(const std::weak_ptr<SimulatedTransfers>& transfers, std::uint64_t id,
                             unsigned host, const Request& request) {
    const std::string address = request.url.substr(std::string("https://api").size());
    const std::size_t question = address.find('?');
    const std::string query = question == std::string::npos ? "" : address.substr(question + 1);
    if (query.find("watch=1") != std::string::npos) {
        const auto live = transfers.lock();
        if (!live || is_cut(host) || live->running.count(id) == 0)
            return;
        return begin_watch({transfers, id, host, address.substr(0, question),
                            parameter(query, "labelSelector"), parameter(query, "fieldSelector"), now_},
                           query);
    }
    Reply reply;
    if (forbids(request)) {
        reply = {refusal, status_of(refusal, "the site's webhook denies it"), ""};
    } else if (by_chance(faults.refused)) {
        reply = {429, status_of(429, "too many requests"), std::to_string(1 + some(4))};
    } else if (by_chance(faults.failed)) {
        if (some(1) == 0)
            (void)carry_out(request);
        const unsigned status = some(1) == 0 ? 500 : 504;
        reply = {status, status_of(status, "etcdserver: request timed out"), ""};
    } else {
        reply = carry_out(request);
    }
    if (is_cut(host) || by_chance(faults.unheard))
        return;
    Answer answer;
    answer.status = reply.status;
    answer.body = base::dump(reply.body);
    if (request.limit != 0 && answer.body.size() > request.limit) {
        answer.body.clear();
        answer.failure = Failure::TooMuch;
        answer.problem = "the answer is longer than " + std::to_string(request.limit) + " bytes";
    }
    if (!reply.retry_after.empty())
        answer.headers["retry-after"] = reply.retry_after;
    after(travel(), [this, transfers, id, host, answer = std::move(answer)]() mutable {
        if (const auto live = transfers.lock(); live && !is_cut(host))
            live->end(id, std::move(answer));
    });
}

// Watches

void SimulatedServer::begin_watch(Watcher watcher, const std::string& query) {
    const auto transfers = watcher.transfers.lock();
    const std::uint64_t id = watcher.id;
    const std::string from = parameter(query, "resourceVersion");
    transfers->ready.push_back([self = transfers.get(), id] {
        if (const auto found = self->running.find(id);
            found != self->running.end() && found->second.request.on_begin)
            found->second.request.on_begin();
    });
    transfers->running[id].heard = now_;
    Watcher& kept = watchers_[++last_watcher_] = std::move(watcher);
    if (from.empty()) {
        for (const auto& [path, object] : objects_)
            if (collection_of(path) == kept.collection && is_selected(object, kept.label, kept.name))
                tell_line(kept, {{"type", "ADDED"}, {"object", object}});
        return;
    }
    const std::uint64_t version = std::stoull(from);
    if (version < oldest_) {
        tell_line(kept, {{"type", "ERROR"}, {"object", status_of(410, "too old resource version")}});
        after(kept.heard - now_ + Time(1), [weak = kept.transfers, id] {
            Answer answer;
            answer.status = 200;
            if (const auto live = weak.lock())
                live->end(id, std::move(answer));
        });
        watchers_.erase(last_watcher_);
        return;
    }
    for (const Event& event : events_)
        if (event.version > version)
            tell(kept, event);
}

void SimulatedServer::tell(Watcher& watcher, const Event& event) {
    if (collection_of(event.path) != watcher.collection)
        return;
    const bool was = is_selected(event.before, watcher.label, watcher.name);
    const bool is = event.type != "DELETED" && is_selected(event.object, watcher.label, watcher.name);
    if (!was && !is)
        return;
    // An object that leaves the selection is sent with its earlier content and the version of the change.
    Json object = is ? event.object : event.before;
    object["metadata"]["resourceVersion"] = event.object["metadata"]["resourceVersion"];
    tell_line(watcher, {{"type", !is   ? "DELETED"
                                 : was ? "MODIFIED"
                                       : "ADDED"},
                        {"object", std::move(object)}});
}

void SimulatedServer::tell_line(Watcher& watcher, const Json& line) {
    watcher.heard = std::max(watcher.heard, now_ + travel());
    const unsigned host = watcher.host;
    after(watcher.heard - now_,
          [this, weak = watcher.transfers, id = watcher.id, host, text = base::dump(line) + "\n"] {
              const auto live = weak.lock();
              if (!live || is_cut(host))
                  return;
              live->ready.push_back([self = live.get(), id, text] {
                  const auto found = self->running.find(id);
                  if (found == self->running.end())
                      return;
                  found->second.heard = world->now();
                  const auto take = found->second.request.on_bytes; // it may cancel itself
                  if (!take(text))
                      self->fail(id, Failure::TooMuch, "not taken");
              });
          });
}

void SimulatedServer::bookmark() {
    for (auto& [key, watcher] : watchers_)
        tell_line(watcher, {{"type", "BOOKMARK"},
                            {"object", {{"metadata", {{"resourceVersion", std::to_string(version_)}}}}}});
    after(bookmarks, [this] { bookmark(); });
}

void SimulatedServer::forget() {
    version_ += 10;
    oldest_ = version_;
    events_.clear();
}

// Objects

const Json* SimulatedServer::find(const std::string& path) const {
    const auto found = objects_.find(path);
    return found == objects_.end() ? nullptr : &found->second;
}

std::vector<std::string> SimulatedServer::below(const std::string& collection) const {
    std::vector<std::string> paths;
    for (const auto& [path, object] : objects_)
        if (collection_of(path) == collection)
            paths.push_back(path);
    return paths;
}

void SimulatedServer::note(Event event) {
    for (auto at = watchers_.begin(); at != watchers_.end();) {
        if (at->second.transfers.expired()) {
            at = watchers_.erase(at);
            continue;
        }
        tell(at->second, event);
        ++at;
    }
    events_.push_back(std::move(event));
    if (on_change)
        on_change();
}

void SimulatedServer::store(const std::string& path, Json object) {
    object["metadata"]["resourceVersion"] = std::to_string(++version_);
    Json before = objects_.count(path) != 0 ? objects_[path] : Json();
    objects_[path] = object;
    note({version_, path, "MODIFIED", std::move(object), std::move(before)});
}

void SimulatedServer::put(const std::string& path, Json object) {
    object["metadata"]["name"] = path.substr(path.rfind('/') + 1);
    object["metadata"]["uid"] = "uid-" + std::to_string(version_ + 1);
    store(path, std::move(object));
}

bool SimulatedServer::patch(const std::string& path, const Json& merge) {
    return change(path, merge).status == 200;
}

void SimulatedServer::remove(const std::string& path) {
    (void)erase(path, Json::object());
}

SimulatedServer::Reply SimulatedServer::carry_out(const Request& request) {
    const std::string address = request.url.substr(std::string("https://api").size());
    const std::size_t question = address.find('?');
    std::string path = address.substr(0, question);
    const std::string query = question == std::string::npos ? "" : address.substr(question + 1);
    Json body = request.body.empty() ? Json() : Json::parse(request.body);
    if (base::string_or(body, "kind", "") == "Event")
        return {201, body, ""};
    if (base::string_or(body, "kind", "") == "SelfSubjectAccessReview")
        return {201,
                {{"status",
                  {{"allowed", body["spec"]["resourceAttributes"]["verb"].get<std::string>() != denied}}}},
                ""};
    if (const std::size_t status = path.rfind("/status"); status != std::string::npos)
        path.resize(status);
    if (request.method == "POST")
        return create(path, std::move(body));
    if (request.method == "PATCH")
        return change(path, std::move(body));
    if (request.method == "DELETE")
        return erase(path, body);
    if (const Json* const found = find(path))
        return {200, *found, ""};
    const bool is_collection =
        path == "/api/v1/nodes" || path == "/api/v1/pods" || path.substr(path.rfind('/')) == "/leases";
    return is_collection ? list(path, query) : Reply{404, status_of(404, path + " not found"), ""};
}

SimulatedServer::Reply SimulatedServer::list(const std::string& path, const std::string& query) {
    const std::string limit = parameter(query, "limit");
    const std::size_t most = limit.empty() ? objects_.size() : std::stoull(limit);
    const std::string after = parameter(query, "continue"); // a path; in the real server it is opaque
    Json items = Json::array();
    Json metadata = {{"resourceVersion", std::to_string(version_)}};
    std::string last;
    for (const auto& [name, object] : objects_) {
        if (collection_of(name) != path || name <= after ||
            !is_selected(object, parameter(query, "labelSelector"), parameter(query, "fieldSelector")))
            continue;
        if (items.size() == most) {
            metadata["continue"] = last;
            break;
        }
        items.push_back(object);
        last = name;
    }
    return {200, {{"metadata", std::move(metadata)}, {"items", std::move(items)}}, ""};
}

SimulatedServer::Reply SimulatedServer::create(const std::string& collection, Json object) {
    const std::string path = collection + "/" + string_or(member(object, "metadata"), "name", "");
    if (find(path) != nullptr)
        return {409, status_of(409, path + " already exists"), ""};
    put(path, std::move(object));
    return {201, objects_[path], ""};
}

SimulatedServer::Reply SimulatedServer::change(const std::string& path, Json patch) {
    if (find(path) == nullptr)
        return {404, status_of(404, path + " not found"), ""};
    Json object = objects_[path];
    const std::string version = string_or(member(patch, "metadata"), "resourceVersion", "");
    if (!version.empty() && version != string_or(object["metadata"], "resourceVersion", ""))
        return {409, status_of(409, path + " has been modified"), ""};
    merge_conditions(object, patch);
    object.merge_patch(patch);
    if (object == objects_[path])
        return {200, std::move(object), ""};
    store(path, std::move(object));
    return {200, objects_[path], ""};
}

SimulatedServer::Reply SimulatedServer::erase(const std::string& path, const Json& options) {
    if (find(path) == nullptr)
        return {404, status_of(404, path + " not found"), ""};
    Json object = objects_[path];
    for (const auto& [key, value] : member(options, "preconditions").items())
        if (value != object["metadata"][key])
            return {409, status_of(409, path + " is another by now"), ""};
    objects_.erase(path);
    object["metadata"]["resourceVersion"] = std::to_string(++version_);
    // The garbage collector removes owned objects later.
    if (collection_of(path) == "/api/v1/nodes")
        after(Time(some(20'000)), [this, uid = object["metadata"]["uid"]] {
            std::vector<std::string> orphans;
            for (const auto& [other, owned] : objects_)
                if (const Json& owners = member(member(owned, "metadata"), "ownerReferences");
                    owners.is_array() && !owners.empty() && owners[0]["uid"] == uid)
                    orphans.push_back(other);
            for (const std::string& orphan : orphans)
                remove(orphan);
        });
    Json before = object;
    note({version_, path, "DELETED", object, std::move(before)});
    return {200, std::move(object), ""};
}

} // namespace gpuhost::tests

// Replacements of the real functions at link time

namespace gpuhost::http {

using tests::SimulatedTransfers;
using tests::world;

struct Client::Transfers {
    std::shared_ptr<SimulatedTransfers> simulated = std::make_shared<SimulatedTransfers>(world->host_);
};

base::Result<Client> Client::make(Options /*options*/) {
    auto transfers = std::make_unique<Transfers>();
    world->clients_.push_back(transfers->simulated);
    return Client(std::move(transfers));
}

Client::Client(std::unique_ptr<Transfers> transfers) : transfers_(std::move(transfers)) {}
Client::Client(Client&&) noexcept = default;
Client& Client::operator=(Client&&) noexcept = default;
Client::~Client() = default;

base::Result<void> Client::set_tls(const Tls& /*tls*/) {
    return {};
}

std::uint64_t Client::start(Request request) {
    SimulatedTransfers& transfers = *transfers_->simulated;
    transfers.running[++transfers.last].request = std::move(request);
    world->send(transfers_->simulated, transfers.last);
    return transfers.last;
}

void Client::cancel(std::uint64_t id) {
    transfers_->simulated->running.erase(id);
}

int Client::descriptor() const {
    return -1;
}

std::vector<Answer> Client::work() {
    SimulatedTransfers& transfers = *transfers_->simulated;
    for (const auto& one : std::exchange(transfers.ready, {}))
        one();
    return std::exchange(transfers.answers, {});
}

std::vector<Answer> Client::wait(std::chrono::milliseconds /*most*/, int /*writable*/) {
    return work();
}

} // namespace gpuhost::http

extern "C" {

int __real_clock_gettime(clockid_t clock, timespec* time);

int __wrap_clock_gettime(clockid_t clock, timespec* time) {
    using gpuhost::tests::world;
    if (world == nullptr)
        return __real_clock_gettime(clock, time);
    std::int64_t ms = world->now().count();
    if (clock == CLOCK_REALTIME)
        ms += (gpuhost::tests::epoch + world->clock_off().count()) * 1000;
    time->tv_sec = static_cast<time_t>(ms / 1000);
    time->tv_nsec = static_cast<long>(ms % 1000) * 1'000'000;
    return 0;
}

unsigned __real__ZNSt13random_device9_M_getvalEv(void* self);

/// std::random_device::_M_getval(): a simulation with the same seed has the same random numbers.
unsigned __wrap__ZNSt13random_device9_M_getvalEv(void* self) {
    using gpuhost::tests::world;
    return world == nullptr ? __real__ZNSt13random_device9_M_getvalEv(self) : world->some(1'000'000'000);
}
}
