// SPDX-License-Identifier: Apache-2.0
// Kubernetes' API, in values: https://kubernetes.io/docs/reference/using-api/api-concepts/. Nothing waits here: what was
// asked is answered in work().
#pragma once

#include "daemon/base/json.hpp"
#include "daemon/base/root.hpp"
#include "daemon/cluster/kube/credentials.hpp"
#include "daemon/cluster/kube/kubeconfig.hpp"
#include "daemon/http/client.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::cluster {

struct ApiAnswer {
    unsigned status = 0;                             ///< of HTTP; 0: none came
    base::Json body;                                 ///< the object; null without one
    base::Error error;                               ///< without a message if it was done
    std::optional<std::chrono::seconds> retry_after; ///< the server wants to be left alone so long
    bool too_much = false;                           ///< it was longer than any answer may be

    [[nodiscard]] bool done() const { return error.message.empty(); }
};

enum class PatchType { Merge, Strategic };

class Api {
  public:
    using Done = std::function<void(ApiAnswer&&)>;
    /// One event of a watch: {"type", "object"}.
    using OnEvent = std::function<void(base::Json&&)>;

    /// By a kubeconfig, which is read again by refresh().
    [[nodiscard]] static base::Result<Api> open(const base::Root& root, std::string kubeconfig);

    [[nodiscard]] const Kubeconfig& config() const { return access_.config; }
    [[nodiscard]] const Credentials& credentials() const { return access_.credentials; }

    /// What a person should know of the credentials' files, a line each.
    [[nodiscard]] std::vector<std::string> notes() const;

    /// `path` with its query: "/api/v1/nodes/a?…". No call is answered before work().
    std::uint64_t get(const std::string& path, Done done);
    std::uint64_t patch(const std::string& path, PatchType type, const base::Json& patch, Done done);
    std::uint64_t create(const std::string& collection, const base::Json& object, Done done);
    /// Only that object, by its uid, and if it has one only that version of it.
    /// `options`: more of DeleteOptions.
    std::uint64_t remove(const std::string& path, const base::Json& object, Done done,
                         base::Json options = base::Json::object());
    /// From `on_begin`, when the server has taken it, until it ends it, which is no error, or the connection breaks.
    std::uint64_t watch(const std::string& path, std::function<void()> on_begin, OnEvent on_event, Done done);
    void cancel(std::uint64_t id); ///< its Done is never called

    /// Credentials that somebody has changed on disk count from the next request on. True if they have; an error leaves
    /// those of before.
    [[nodiscard]] base::Result<bool> refresh();

    [[nodiscard]] int descriptor() const { return client_.descriptor(); } ///< readable: call work()
    void work();
    /// work() after a while, or as soon as anything is answered.
    void wait(std::chrono::milliseconds most);

  private:
    struct Access {
        Kubeconfig config;
        Credentials credentials;
        std::string fingerprint; ///< of the files that they came from
    };
    Api(const base::Root& root, std::string path, Access access, http::Client client);
    [[nodiscard]] static base::Result<Access> load(const base::Root& root, const std::string& path);
    std::uint64_t start(http::Request request, Done done);
    void finish(std::vector<http::Answer>&& answers);
    [[nodiscard]] http::Request request(std::string method, const std::string& path) const;

    const base::Root* root_;
    std::string path_;
    Access access_;
    http::Client client_;
    std::map<std::uint64_t, Done> waiting_;
};

/// As a part of a path or of a query.
[[nodiscard]] std::string percent_encoded(std::string_view text);

} // namespace gpuhost::cluster
