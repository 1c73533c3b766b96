// SPDX-License-Identifier: Apache-2.0
// Serves the images of this host as a registry: the pull part of the OCI distribution specification 1.1, as
// values. registry/server.hpp speaks HTTP.
//
// One server represents every registry whose images are in bundles. A request selects one by "?ns=docker.io",
// as containerd does, or by the first component of the repository, as mirrors of podman and CRI-O do. A
// repository that only one registry has needs neither.
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

    /// Never fails: errors are answers too. The answer to HEAD equals that to GET; the server does not send
    /// its body.
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
    mutable std::mutex large_documents_;
};

} // namespace gpuhost::images
