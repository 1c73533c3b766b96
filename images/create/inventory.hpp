// SPDX-License-Identifier: Apache-2.0
// An inventory of a host, for the machine where bundles are made. It shows the members that the host needs,
// those that it has, and what it would lack. 'gpuhostctl inventory export' writes it, gpuhost-bundle(5)
// describes it. It is carried between machines, so its reader treats it as untrusted. It contains no secrets.
#pragma once

#include "images/bundle/distribution.hpp"
#include "images/bundle/host_facts.hpp"
#include "images/store/catalogue.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::images {

struct InventoryKernel {
    std::string release;
    bool running = false;
    bool headers = false;
    bool compiler = false; ///< the compiler that its headers need, and the other build tools
};

struct InventoryGpu {
    std::string address; ///< "0000:65:00.0"
    std::string vendor;  ///< "10de"
    std::string device;  ///< "2330"
    std::string name;    ///< empty if unknown on the host
};

struct InventoryRuntime {
    std::string name;    ///< "containerd"
    std::string path;    ///< of its program
    std::string version; ///< of its package; empty if unknown
};

/// One version in the driver store, of the flavour that the host wants.
struct InventoryDriver {
    std::string version;
    bool userland = false;
    bool source = false;
    std::vector<std::string> kernels; ///< those with modules
};

struct InventoryBundle {
    std::string name;
    std::uint64_t generation = 0;
    std::string manifest; ///< as in BundleRecord
    bool is_unsigned = false;
};

/// A signed bundle that was removed. Older generations of it are refused.
struct RemovedBundle {
    std::string name;
    std::uint64_t generation = 0;
};

struct InventoryImage {
    std::string name;
    std::string hex;
};

/// Sorted digests. Needs 32 bytes for each, since each of many hosts may have 100,000.
class BlobSet {
  public:
    /// Ignores anything but 64 hex digits.
    void add(std::string_view hex);
    void finish();
    [[nodiscard]] bool has(std::string_view hex) const;
    [[nodiscard]] std::size_t size() const { return digests_.size(); }
    [[nodiscard]] std::vector<std::string> list() const;

  private:
    using Digest = std::array<std::uint8_t, 32>;
    [[nodiscard]] static bool decode(std::string_view hex, Digest& digest);
    std::vector<Digest> digests_;
};

struct Inventory {
    std::string hostname;
    std::string gpuhost; ///< its version
    std::string platform;
    OsRelease distribution;
    std::vector<InventoryKernel> kernels;
    std::vector<InventoryGpu> gpus;
    /// False if Version= leaves the driver to others, or wants none.
    bool accepts_drivers = true;
    std::string wanted_driver;  ///< in gpuhostd.conf; empty: the selected one
    std::string wanted_flavour; ///< in gpuhostd.conf; empty: either
    std::vector<InventoryRuntime> runtimes;
    std::vector<InventoryDriver> drivers;
    std::vector<InventoryBundle> bundles;
    std::vector<RemovedBundle> removed;
    std::vector<InventoryImage> images;
    BlobSet blobs;

    [[nodiscard]] HostFacts facts() const;
    [[nodiscard]] const InventoryDriver* driver(std::string_view version) const;
};

/// Limit in bytes: enough for 800,000 blobs.
constexpr std::size_t inventory_limit = std::size_t{64} << 20U;

[[nodiscard]] std::string to_text(const Inventory& inventory);
/// Fails with BadContent for an invalid inventory, and with Unsupported for a newer format. Ignores unknown
/// keys.
[[nodiscard]] base::Result<Inventory> parse_inventory(std::string_view text, std::string_view what);

/// Adds the content of a host's catalogue and store: bundles, images, blobs.
[[nodiscard]] base::Result<void> add_store(Inventory& inventory, const base::Root& root);

} // namespace gpuhost::images
