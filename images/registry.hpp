// SPDX-License-Identifier: Apache-2.0
// The images of this host as a registry: the reading half of the OCI distribution specification 1.1, as values. What
// speaks HTTP is registry_server.hpp.
//
// One server stands for every registry that bundles have images of. A request says which by "?ns=docker.io", as
// containerd does, or by the first component of the repository, as mirrors of podman and CRI-O do; a repository that
// only one of them has needs neither.
#pragma once

#include "daemon/base/handle.hpp"
#include "daemon/base/root.hpp"
#include "images/live_references.hpp"
#include "images/registry_metrics.hpp"
#include "images/registry_request.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gpuhost::images {

/// What of an HTTP request matters here. Headers that are absent are empty.
struct RegistryCall {
    std::string_view method;
    std::string_view target;
    std::string_view range;
    std::string_view if_range;
    std::string_view if_none_match;
};

struct RegistryAnswer {
    unsigned status = 200;
    std::vector<std::pair<std::string, std::string>> headers;
    std::string text;    ///< the body, where no file is
    base::UniqueFd file; ///< the body is in it,
    ByteRange part;      ///< here
    std::string why;     ///< of what a person may wonder about; a line for the log

    [[nodiscard]] std::uint64_t length() const { return file ? part.length : text.size(); }
};

/// For many threads.
class Registry {
  public:
    /// `root` must outlive it.
    explicit Registry(const base::Root& root) : root_(root), references_(root) {}

    /// Never fails: what goes wrong is an answer too. To HEAD it is that to GET, whose body is not sent.
    [[nodiscard]] RegistryAnswer answer(const RegistryCall& call);
    [[nodiscard]] RegistryMetrics& metrics() { return metrics_; }

  private:
    template <class T>
    using Found = tl::expected<T, RegistryError>;
    struct Content; ///< a blob that is open

    [[nodiscard]] Found<RegistryAnswer> respond(const RegistryCall& call, const RegistryRequest& request);
    [[nodiscard]] Found<RegistryAnswer> blob(const RegistryCall& call, const RegistryRequest& request,
                                             const References& references) const;
    [[nodiscard]] Found<RegistryAnswer> manifest(const RegistryCall& call, const RegistryRequest& request,
                                                 const References& references) const;
    [[nodiscard]] Found<RegistryAnswer> tags(const RegistryRequest& request,
                                             const References& references) const;
    [[nodiscard]] Found<RegistryAnswer> referrers(const RegistryRequest& request,
                                                  const References& references) const;
    [[nodiscard]] RegistryAnswer metrics(const References& references) const;
    [[nodiscard]] Found<Content> open(const std::string& hex) const;

    const base::Root& root_;
    LiveReferences references_;
    RegistryMetrics metrics_;
};

} // namespace gpuhost::images
