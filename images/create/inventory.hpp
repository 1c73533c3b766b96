// SPDX-License-Identifier: Apache-2.0
// What a host says of itself, for the machine where bundles are made: which members it needs, which it has, and what it
// would lack. 'gpuhostctl inventory export' writes it, gpuhost-bundle(5) describes it. It goes from machine to machine,
// so that its reader takes it for foreign; and it has no secrets.
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
    bool compiler = false; ///< the one that its headers ask for, and what else building runs
};

struct InventoryGpu {
    std::string address; ///< "0000:65:00.0"
    std::string vendor;  ///< "10de"
    std::string device;  ///< "2330"
    std::string name;    ///< empty where nothing on the host says it
};

struct InventoryRuntime {
    std::string name;    ///< "containerd"
    std::string path;    ///< of its program
    std::string version; ///< of its package; empty where no file tells
};

/// One version in the driver store, as far as it is of the flavour that the host wants.
struct InventoryDriver {
    std::string version;
    bool userland = false;
    bool source = false;
    std::vector<std::string> kernels; ///< that it has modules for
};

struct InventoryBundle {
    std::string name;
    std::uint64_t generation = 0;
    std::string manifest; ///< as BundleRecord has it
    bool is_unsigned = false;
};

/// A signed bundle that was here: no older generation comes in behind it.
struct RemovedBundle {
    std::string name;
    std::uint64_t generation = 0;
};

struct InventoryImage {
    std::string name;
    std::string hex;
};

/// Digests, sorted: 32 bytes each, since there may be 100,000 for each of many hosts.
class BlobSet {
  public:
    /// Anything but 64 hex digits is left out.
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
    bool takes_drivers =
        true; ///< false where Version= says that somebody else provides the driver, or nobody
    std::string wanted_driver;  ///< of gpuhostd.conf; empty: the selected one
    std::string wanted_flavour; ///< likewise; empty: either
    std::vector<InventoryRuntime> runtimes;
    std::vector<InventoryDriver> drivers;
    std::vector<InventoryBundle> bundles;
    std::vector<RemovedBundle> removed;
    std::vector<InventoryImage> images;
    BlobSet blobs;

    [[nodiscard]] HostFacts facts() const;
    [[nodiscard]] const InventoryDriver* driver(std::string_view version) const;
};

/// 800,000 blobs.
constexpr std::size_t inventory_limit = std::size_t{64} << 20U;

[[nodiscard]] std::string to_text(const Inventory& inventory);
/// BadContent for what is none, Unsupported for a newer format. Keys that are not known are left alone.
[[nodiscard]] base::Result<Inventory> parse_inventory(std::string_view text, std::string_view what);

/// What the catalogue and the store of a host have: bundles, images, blobs.
[[nodiscard]] base::Result<void> add_store(Inventory& inventory, const base::Root& root);

} // namespace gpuhost::images
