// SPDX-License-Identifier: Apache-2.0
// A client of the Kubernetes API: https://kubernetes.io/docs/reference/using-api/api-concepts/. Only wait()
// blocks. Only work() and wait() handle responses and call callbacks.
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
#include <vector>

namespace gpuhost::cluster {

struct ApiAnswer {
    unsigned status = 0;                             ///< HTTP status; 0: the server did not answer
    base::Json body;                                 ///< JSON object of the response; null if there is none
    base::Error error;                               ///< its message is empty on success
    std::optional<std::chrono::seconds> retry_after; ///< how long the server asks to wait
    bool too_much = false;                           ///< the response was longer than the limit

    [[nodiscard]] bool done() const { return error.message.empty(); }
};

enum class PatchType { Merge, Strategic };

class Api {
  public:
    using Done = std::function<void(ApiAnswer&&)>;
    /// Receives one event of a watch: {"type", "object"}.
    using OnEvent = std::function<void(base::Json&&)>;

    /// Opens a client with the kubeconfig at path `kubeconfig`. refresh() reads it again.
    [[nodiscard]] static base::Result<Api> open(const base::Root& root, std::string kubeconfig);

    [[nodiscard]] const Kubeconfig& config() const { return access_.config; }
    [[nodiscard]] const Credentials& credentials() const { return access_.credentials; }

    /// Returns warnings about the files of the credentials, one line each.
    [[nodiscard]] std::vector<std::string> notes() const;

    /// get(), patch(), create(), remove() and watch() start a request and return its id, for cancel(). `path`
    /// includes the query: "/api/v1/nodes/a?…".
    std::uint64_t get(const std::string& path, Done done);
    std::uint64_t patch(const std::string& path, PatchType type, const base::Json& patch, Done done);
    std::uint64_t create(const std::string& collection, const base::Json& object, Done done);
    /// Deletes the object at `path`, if it has the uid of `object`. If `object` has a resourceVersion, the
    /// object at `path` must have this version too. `options`: more members of DeleteOptions.
    std::uint64_t remove(const std::string& path, const base::Json& object, Done done,
                         base::Json options = base::Json::object());
    /// Starts a watch. Calls `on_begin` when the server has accepted the watch, then `on_event` for each
    /// event, then `done`. `done` gets no error if the server ended the watch, and an error if the connection
    /// broke.
    std::uint64_t watch(const std::string& path, std::function<void()> on_begin, OnEvent on_event, Done done);
    void cancel(std::uint64_t id); ///< the request's Done is never called

    /// Loads the credentials again if their files have changed; all later requests use them. Returns true if
    /// they were loaded. After an error the old credentials remain in use.
    [[nodiscard]] base::Result<bool> refresh();

    [[nodiscard]] int descriptor() const { return client_.descriptor(); } ///< if readable, call work()
    void work();
    /// Waits for `most`, or until a request is answered; then does the same as work().
    void wait(std::chrono::milliseconds most);

  private:
    struct Access {
        Kubeconfig config;
        Credentials credentials;
        std::string fingerprint; ///< of the files that the credentials were read from
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

} // namespace gpuhost::cluster
