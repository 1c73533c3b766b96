// SPDX-License-Identifier: Apache-2.0
// The images of this host as a registry: the reading half of the OCI distribution specification 1.1, as values. What
// speaks HTTP is registry_server.hpp.
//
// One server stands for every registry that bundles have images of. A request says which by "?ns=docker.io", as
// containerd does, or by the first component of the repository, as mirrors of podman and CRI-O do; a repository that
// only one of them has needs neither.
#pragma once

#include "daemon/base/root.hpp"
#include "images/registry/service.hpp"
#include "images/store/live.hpp"
#include "images/store/references.hpp"

#include <mutex>

namespace gpuhost::images {

class Registry : public RegistryService {
  public:
    /// `root` must outlive it.
    explicit Registry(const base::Root& root) : root_(root), references_(root) {}

    /// Never fails: what goes wrong is an answer too. To HEAD it is that to GET, whose body is not sent.
    [[nodiscard]] RegistryAnswer answer(const RegistryCall& call) override;
    [[nodiscard]] RegistryMetrics& metrics() override { return metrics_; }

  private:
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

    const base::Root& root_;
    Live<References> references_;
    RegistryMetrics metrics_;
    mutable std::mutex large_documents_;
};

} // namespace gpuhost::images
