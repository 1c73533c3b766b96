// SPDX-License-Identifier: Apache-2.0
// Serves the images of this host as a registry: the pull part of the OCI distribution specification 1.1.
// Requests and answers are values; images/registry/server.hpp implements HTTP.
//
// This one server represents every registry whose images are in bundles on this host. containerd selects the
// registry of a request by "?ns=docker.io". podman and CRI-O select it by the first component of the
// repository, with the mirrors that gpuhostd configures. A request needs neither if only one registry has
// that repository.
#pragma once

#include "daemon/base/root.hpp"
#include "images/registry/service.hpp"
#include "images/store/cached_catalogue.hpp"
#include "images/store/references.hpp"

#include <mutex>

namespace gpuhost::images {

class Registry : public RegistryService {
  public:
    /// `root` must outlive the object.
    explicit Registry(const base::Root& root) : root_(root), references_(root) {}

    /// Returns the answer, also for errors. The answer to HEAD equals that to GET; the server sends only its
    /// header.
    [[nodiscard]] RegistryAnswer answer(const RegistryCall& call) override;
    [[nodiscard]] RegistryMetrics& metrics() override { return metrics_; }

  private:
    [[nodiscard]] RegistryResult<RegistryAnswer> respond(const RegistryCall& call,
                                                         const RegistryRequest& request);
    [[nodiscard]] RegistryResult<RegistryAnswer>
    blob(const RegistryCall& call, const RegistryRequest& request, const References& references) const;
    [[nodiscard]] RegistryResult<RegistryAnswer>
    manifest(const RegistryCall& call, const RegistryRequest& request, const References& references) const;
    [[nodiscard]] RegistryResult<RegistryAnswer> tags(const RegistryRequest& request,
                                                      const References& references) const;
    [[nodiscard]] RegistryResult<RegistryAnswer> referrers(const RegistryRequest& request,
                                                           const References& references) const;
    [[nodiscard]] RegistryAnswer metrics(const References& references) const;

    const base::Root& root_;
    CachedCatalogue<References> references_;
    RegistryMetrics metrics_;
    mutable std::mutex large_documents_; ///< only one large document is parsed at a time
};

} // namespace gpuhost::images
