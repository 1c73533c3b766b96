// SPDX-License-Identifier: Apache-2.0
// kubeconfig-probe FILE...: what is made of each, a line of JSON for a test to compare; relative paths begin
// beside it.
#include "daemon/base/json.hpp"
#include "daemon/base/root.hpp"
#include "daemon/cluster/kube/credentials.hpp"

#include <cstdio>
#include <filesystem>

using namespace gpuhost;
using base::Json;

namespace {

Json to_json(const cluster::Material& material) {
    return Json{{"text", material.text}, {"path", material.path}};
}

base::Result<Json> read(const base::Root& root, const std::filesystem::path& path) {
    GPUHOST_TRY(text, root.read(path.string(), 2 * base::Root::default_limit));
    GPUHOST_TRY(config, cluster::parse_kubeconfig(text, path.string(), path.parent_path().string()));
    GPUHOST_TRY(credentials, cluster::read_credentials(root, config));
    return Json{{"context", config.context},
                {"server", config.server},
                {"server_name", config.server_name},
                {"proxy", config.proxy},
                {"authority", to_json(config.authority)},
                {"certificate", to_json(config.certificate)},
                {"key", to_json(config.key)},
                {"token", to_json(config.token)},
                {"bearer", credentials.token}};
}

} // namespace

int main(int argc, char** argv) {
    const auto root = base::Root::open("/");
    if (!root)
        return 1;
    for (int i = 1; i < argc; ++i) {
        const auto made = read(*root, argv[i]);
        std::puts(base::dump(made ? *made : Json{{"error", base::to_json(made.error())}}).c_str());
    }
    return 0;
}
