// SPDX-License-Identifier: Apache-2.0
// A client of the Kubernetes API: https://kubernetes.io/docs/reference/using-api/api-concepts/. Requests do
// not block. Answers are delivered in work() and wait().
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
    unsigned status = 0;                             ///< HTTP status; 0: no answer
    base::Json body;                                 ///< the object; null without one
    base::Error error;                               ///< without a message on success
    std::optional<std::chrono::seconds> retry_after; ///< how long the server asks to wait
    bool too_much = false;                           ///< the answer was longer than the limit

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

    /// Returns warnings about the credentials' files, one a line.
    [[nodiscard]] std::vector<std::string> notes() const;

    /// `path` includes its query: "/api/v1/nodes/a?…". No request is answered before work() or wait().
    std::uint64_t get(const std::string& path, Done done);
    std::uint64_t patch(const std::string& path, PatchType type, const base::Json& patch, Done done);
    std::uint64_t create(const std::string& collection, const base::Json& object, Done done);
    /// Deletes `object` only, identified by its uid, and by its resourceVersion if it has one. `options`:
    /// more members of DeleteOptions.
    std::uint64_t remove(const std::string& path, const base::Json& object, Done done,
                         base::Json options = base::Json::object());
    /// Watches from `on_begin`, when the server has accepted the watch. Ends without an error when the server
    /// ends it, and with one when the connection breaks.
    std::uint64_t watch(const std::string& path, std::function<void()> on_begin, OnEvent on_event, Done done);
    void cancel(std::uint64_t id); ///< its Done is never called

    /// Loads credentials that have changed on disk, for all later requests. Returns true if they have
    /// changed; after an error the old ones remain in use.
    [[nodiscard]] base::Result<bool> refresh();

    [[nodiscard]] int descriptor() const { return client_.descriptor(); } ///< readable: call work()
    void work();
    /// Waits for `most`, or until a request is answered; then does the same as work().
    void wait(std::chrono::milliseconds most);

  private:
    struct Access {
        Kubeconfig config;
        Credentials credentials;
        std::string fingerprint; ///< fingerprint of the source files
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

/// Encodes `text` as a part of a path or of a query.
[[nodiscard]] std::string percent_encoded(std::string_view text);

} // namespace gpuhost::cluster
