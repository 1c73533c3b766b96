// SPDX-License-Identifier: Apache-2.0
#include "daemon/devices/linked.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace gpuhost::devices {

namespace {

unsigned links_to(const ResourceDevice& from, const ResourceDevice& to) {
    unsigned count = 0;
    for (const NvLinks& one : from.nvlinks)
        if (one.gpu == to.gpu)
            count += one.count;
    return count;
}

unsigned links_between(const ResourceDevice& one, const ResourceDevice& other) {
    return std::min(links_to(one, other), links_to(other, one));
}

/// Compares all sets that contain the required devices.
class Search {
  public:
    Search(const std::vector<const ResourceDevice*>& devices, std::size_t count)
        : size_(devices.size()), count_(count) {
        constexpr int link = 1000; // more than all pairs of a NUMA node
        for (std::size_t i = 0; i < size_; ++i)
            for (std::size_t j = 0; j < size_; ++j)
                if (i != j) {
                    weights_[i][j] = link * static_cast<int>(links_between(*devices[i], *devices[j])) +
                                     (devices[i]->numa == devices[j]->numa ? 1 : 0);
                    totals_[i] += weights_[i][j];
                }
    }

    std::vector<std::size_t> run(std::size_t required) {
        Value value;
        for (std::size_t i = 0; i < required; ++i)
            value = add(value, i);
        extend(required, value);
        return best_;
    }

  private:
    /// Larger is better: the weights of the pairs in the set, then the negative sum of totals_. Among sets of
    /// equal weights, that sum grows with the weights of pairs that have only one device in the set.
    using Value = std::pair<int, int>;

    Value add(Value value, std::size_t device) {
        for (const std::size_t other : set_)
            value.first += weights_[device][other];
        value.second -= totals_[device];
        set_.push_back(device);
        return value;
    }

    void extend(std::size_t from, Value value) {
        if (set_.size() == count_) {
            if (best_.empty() || value > best_value_) {
                best_ = set_;
                best_value_ = value;
            }
            return;
        }
        for (std::size_t i = from; i + count_ <= size_ + set_.size(); ++i) {
            extend(i + 1, add(value, i));
            set_.pop_back();
        }
    }

    std::size_t size_;
    std::size_t count_;
    std::array<std::array<int, most_linked>, most_linked> weights_{}; ///< of pairs
    std::array<int, most_linked> totals_{};                           ///< of the weights of a device
    std::vector<std::size_t> set_;
    std::vector<std::size_t> best_;
    Value best_value_;
};

} // namespace

bool has_nvlinks(const std::vector<const ResourceDevice*>& devices) {
    for (const ResourceDevice* one : devices)
        for (const ResourceDevice* other : devices)
            if (one != other && links_between(*one, *other) > 0)
                return true;
    return false;
}

std::vector<const ResourceDevice*> choose_linked(const std::vector<const ResourceDevice*>& devices,
                                                 std::size_t required, std::size_t count) {
    std::vector<const ResourceDevice*> chosen;
    for (const std::size_t index : Search(devices, count).run(required))
        chosen.push_back(devices[index]);
    return chosen;
}

} // namespace gpuhost::devices
