// SPDX-License-Identifier: Apache-2.0
// Simulates an API server, its network and the time in the test's process. Linked instead of
// daemon/http/client.cpp. The time only advances when the test says so, and all randomness is from one seed.
// Versions, lists, watches and preconditions follow
// https://kubernetes.io/docs/reference/using-api/api-concepts/. Link with $(time_seam).
#pragma once

#include "daemon/base/json.hpp"
#include "daemon/http/client.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace gpuhost::tests {

using Time = std::chrono::milliseconds;

struct SimulatedTransfers; ///< the transfers of one http::Client

/// Delays and faults of requests. Faults are in parts per thousand.
struct NetworkFaults {
    Time slowest{20};     ///< maximum delay in one direction
    unsigned late = 0;    ///< a write is applied up to a minute later
    unsigned unheard = 0; ///< the request is applied, but the answer is lost
    unsigned refused = 0; ///< 429 with Retry-After
    unsigned failed = 0;  ///< 500 or 504; the request may have been applied
};

class SimulatedServer {
  public:
    explicit SimulatedServer(unsigned seed);
    ~SimulatedServer();
    SimulatedServer(const SimulatedServer&) = delete;
    SimulatedServer& operator=(const SimulatedServer&) = delete;

    // Time

    [[nodiscard]] Time now() const { return now_; }
    void after(Time wait, std::function<void()> what);
    [[nodiscard]] std::optional<Time> next() const; ///< when the next event is due
    void advance(Time to);                          ///< runs the events that are due until then

    // The client's host: calls after enter() are made on that host.

    void enter(unsigned host) { host_ = host; }
    void set_clock(unsigned host, std::chrono::seconds off) { clocks_[host] = off; }
    [[nodiscard]] std::chrono::seconds clock_off() { return clocks_[host_]; }
    /// Drops all packets. `hangs`: requests do not fail, they get no answer.
    void cut(unsigned host, Time duration, bool hangs);
    /// Returns true if the next Client::work() on that host has answers.
    [[nodiscard]] bool has_answers(unsigned host) const;

    NetworkFaults faults;
    /// Additional delay of a request.
    std::function<Time(const http::Request&)> hold = [](const http::Request&) { return Time(0); };
    std::string denied; ///< the verb that a SelfSubjectAccessReview denies; empty: none
    /// Returns true for requests to answer with `refusal`.
    std::function<bool(const http::Request&)> forbids = [](const http::Request&) { return false; };
    unsigned refusal = 403;

    // Objects by path

    [[nodiscard]] const base::Json* find(const std::string& path) const;
    void put(const std::string& path, base::Json object); ///< as another client would
    bool patch(const std::string& path, const base::Json& merge);
    void remove(const std::string& path);
    [[nodiscard]] std::vector<std::string> below(const std::string& collection) const; ///< paths
    void forget(); ///< drops older versions: a watch from one gets 410

    std::function<void()> on_change; ///< called after each change of an object
    std::uint64_t calls = 0;
    std::map<unsigned, std::uint64_t> calls_of; ///< by host

    [[nodiscard]] unsigned some(unsigned most) { ///< from 0 to `most`
        return std::uniform_int_distribution<unsigned>(0, most)(random_);
    }
    [[nodiscard]] bool by_chance(unsigned share) { return share > some(999); }

  private:
    friend class gpuhost::http::Client;
    friend struct SimulatedTransfers;
    struct Reply {
        unsigned status = 200;
        base::Json body;
        std::string retry_after;
    };
    struct Event {
        std::uint64_t version;
        std::string path;
        std::string type;
        base::Json object;
        base::Json before; ///< null: the object is new
    };
    struct Watcher {
        std::weak_ptr<SimulatedTransfers> transfers;
        std::uint64_t id = 0;
        unsigned host = 0;
        std::string collection;
        std::string label;
        std::string name;
        Time heard{0}; ///< time of the last delivery; keeps events in order
    };

    void send(const std::shared_ptr<SimulatedTransfers>& transfers, std::uint64_t id);
    void arrive(const std::weak_ptr<SimulatedTransfers>& transfers, std::uint64_t id, unsigned host,
                const http::Request& request);
    [[nodiscard]] Reply carry_out(const http::Request& request);
    [[nodiscard]] Reply list(const std::string& path, const std::string& query);
    [[nodiscard]] Reply create(const std::string& collection, base::Json object);
    [[nodiscard]] Reply change(const std::string& path, base::Json patch);
    [[nodiscard]] Reply erase(const std::string& path, const base::Json& options);
    void begin_watch(Watcher watcher, const std::string& query);
    void tell(Watcher& watcher, const Event& event);
    void tell_line(Watcher& watcher, const base::Json& line);
    void bookmark();
    void store(const std::string& path, base::Json object);
    void note(Event event);
    [[nodiscard]] bool is_cut(unsigned host) const;
    [[nodiscard]] Time travel() { return Time(1 + some(static_cast<unsigned>(faults.slowest.count()))); }

    Time now_{3'600'000};
    std::multimap<Time, std::function<void()>> due_;
    std::mt19937 random_;
    unsigned host_ = 0;
    std::map<unsigned, std::chrono::seconds> clocks_;
    std::map<unsigned, Time> cut_until_;
    std::vector<std::weak_ptr<SimulatedTransfers>> clients_;
    std::map<std::string, base::Json> objects_;
    std::vector<Event> events_;
    std::uint64_t version_ = 100;
    std::uint64_t oldest_ = 0;
    std::map<std::uint64_t, Watcher> watchers_;
    std::uint64_t last_watcher_ = 0;
};

} // namespace gpuhost::tests
