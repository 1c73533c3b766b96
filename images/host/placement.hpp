// SPDX-License-Identifier: Apache-2.0
// Images in the runtimes ahead of need: pulled from this host's registry by the runtime itself, and the pinned ones kept
// from the kubelet's garbage collector.
//
// It runs in a process of its own beside the daemon's operations: what a runtime has is the runtime's state, there is
// nothing to undo, and a pull may take as long as it takes.
#pragma once

#include "daemon/base/json.hpp"
#include "images/host/image_runtime.hpp"
#include "images/host/mirrors.hpp"
#include "images/store/pins.hpp"
#include "images/store/references.hpp"

#include <functional>
#include <string>
#include <vector>

namespace gpuhost::images {

constexpr std::string_view placement_file = "/run/gpuhost/placement.json";

/// One image in one runtime.
struct Placement {
    enum class State {
        Present,
        Placed,
        Wanted,
        Failed
    }; ///< Wanted: it would be placed, but that was not to be done
    WantedImage image;
    std::string runtime; ///< its socket
    State state = State::Present;
    std::string why; ///< of Failed
};
[[nodiscard]] std::string_view name(Placement::State state) noexcept;

struct PlacementReport {
    std::uint64_t checked = 0; ///< seconds since 1970
    std::vector<std::string> runtimes;
    std::vector<Placement> placements;
    std::vector<std::string> absent;   ///< pinned, and no bundle has brought it yet: not an error
    std::vector<std::string> problems; ///< what is wanted and can't be: sentences

    [[nodiscard]] bool is_good() const;
};

class Placer {
  public:
    /// Told what is being done: "registry.example/app:v1: pulling".
    using OnText = std::function<void(const std::string& text)>;

    /// `root` must outlive it.
    Placer(const base::Root& root, References references, ImageRuntimes runtimes, MirrorSettings mirrors)
        : root_(&root), references_(std::move(references)), runtimes_(std::move(runtimes)),
          mirrors_(std::move(mirrors)) {}

    /// What a pod with that image and policy would get, before there is one.
    [[nodiscard]] PlacementReport ensure(const Reference& reference, PullPolicy policy, bool dry_run,
                                         const OnText& on_text = {}) const;
    /// Those whose names fit; others that were pinned by us are no longer. `words` are those of Pin=.
    [[nodiscard]] PlacementReport ensure_pinned(const std::vector<std::string>& words, bool dry_run,
                                                const OnText& on_text = {}) const;

  private:
    [[nodiscard]] PlacementReport new_report() const;
    void place(const ImageRuntime& runtime, const std::vector<WantedImage>& wanted, bool dry_run,
               const OnText& on_text, PlacementReport& report) const;
    [[nodiscard]] base::Result<void> place_one(const ImageRuntime& runtime, const WantedImage& image,
                                               const OnText& on_text) const;
    /// What no pin fits any more. A pinned image whose bundle is gone stays pinned: nobody could bring it back.
    void release(const ImageRuntime& runtime, const std::vector<Pin>& pins, PlacementReport& report) const;

    /// Whichever runtime had it placed, and when that is gone.
    void release_from_crio(const std::vector<Pin>& pins, PlacementReport& report) const;
    /// Of runtimes that can't be asked: an error only where no other one has the image.
    void add_runtime_problems(PlacementReport& report, const OnText& on_text) const;

    const base::Root* root_;
    References references_;
    ImageRuntimes runtimes_;
    MirrorSettings mirrors_;
};

[[nodiscard]] base::Json to_json(const PlacementReport& report);
/// As to_json() made it for the last ensure_pinned(); null if there was none since the host was booted.
[[nodiscard]] base::Json last_placement(const base::Root& root);

} // namespace gpuhost::images
