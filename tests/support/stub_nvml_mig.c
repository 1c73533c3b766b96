// SPDX-License-Identifier: Apache-2.0
// MIG for stub_nvml.c: the profiles and placements of an H100, mode and instances that last while the driver
// is loaded. They are in the file stub-mig beside the driver's own in /proc/driver/nvidia, which the fake
// kernel removes with the driver. A UUID is a function of the GPU, of its instances' ids and of "salt". An
// "ampere" stores its mode itself, in the file /stub-inforom: the next load of the driver has the pending mode.
#include "tests/support/stub_nvml.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Declared as in NVML's own header. */
struct placement {
    unsigned start, size;
};
struct gpu_instance_info {
    void* device;
    unsigned id, profile_id;
    struct placement placement;
};
struct gpu_instance_profile {
    unsigned id, is_p2p_supported, slice_count, instance_count, multiprocessors, copy, decoder, encoder, jpeg,
        ofa;
    unsigned long long memory_mb;
};
struct compute_instance_info {
    void *device, *gpu_instance;
    unsigned id, profile_id;
    struct placement placement;
};
struct compute_instance_profile {
    unsigned id, slice_count, instance_count, multiprocessors, copy, decoder, encoder, jpeg, ofa;
};
struct attributes {
    unsigned multiprocessors, copy, decoder, encoder, jpeg, ofa, gpu_slices, compute_slices;
    unsigned long long memory_mb;
};

enum { profiles = 0x12, compute_profiles = 9, most_outer = 32, most_inner = 64, slices = 7 };
/* Handles: a device's is its index plus 1; the others' are the number of their instance plus one of these. */
enum { mig_handle = 0x1000, gpu_instance_handle = 0x2000, compute_instance_handle = 0x3000 };

struct outer { /* a GPU instance; profile 0x7 is nvml.h's number, its id is the driver's */
    unsigned device, id, profile;
    struct placement placement;
    struct attributes given; /* with memory: by a line "attributes" */
};
struct inner { /* a compute instance, which is one MIG device */
    unsigned device, outer, id, profile, index;
    struct placement placement;
    int is_given; /* by a line "instance" */
    char uuid[96];
};

/* `memory` slices at multiples of `step` below `end`. Without memory there are no placements. */
static const struct profile {
    unsigned id, slices, memory, step, end, most;
} h100[profiles] = {[0x0] = {19, 1, 1, 1, 7, 7}, [0x1] = {14, 2, 2, 2, 6, 3}, [0x2] = {9, 3, 4, 4, 8, 2},
                    [0x3] = {5, 4, 4, 4, 4, 1},  [0x4] = {0, 7, 8, 8, 8, 1},  [0x7] = {20, 1, 1, 1, 7, 1},
                    [0x9] = {15, 1, 2, 2, 8, 4}};
static const unsigned compute_slices[compute_profiles] = {1, 2, 3, 4, 7};

static struct outer outers[most_outer];
static struct inner inners[most_inner];
static unsigned outer_count, inner_count;
static int given_split[most_devices], is_split[most_devices], broken[most_devices];
static int ampere[most_devices], pending[most_devices];
static struct { int mode, activate, gpu_instance, compute_instance; } failures;
static unsigned salt, slowness, busy, is_small;
static unsigned mode_calls[most_devices];

void forget_mig(void) {
    outer_count = inner_count = salt = slowness = busy = is_small = 0;
    memset(given_split, 0, sizeof given_split);
    memset(is_split, 0, sizeof is_split);
    memset(broken, 0, sizeof broken);
    memset(ampere, 0, sizeof ampere);
    memset(pending, 0, sizeof pending);
    memset(&failures, 0, sizeof failures);
}

static FILE* open_below_root(const char* path, const char* mode) {
    char full[4096];
    snprintf(full, sizeof full, "%s%s", value_or("FAKE_ROOT", ""), path);
    return fopen(full, mode);
}

/* Reads the version of the loaded driver; "" if none is loaded. */
static void read_loaded(char loaded[64]) {
    FILE* const file = open_below_root("/sys/module/nvidia/version", "r");
    if (!file || fscanf(file, "%63s", loaded) != 1)
        loaded[0] = '\0';
    if (file)
        fclose(file);
}

int is_loaded(const char* version) {
    char loaded[64];
    read_loaded(loaded);
    return strcmp(version, loaded) == 0;
}

int is_another_loaded(const char* version) {
    char loaded[64];
    read_loaded(loaded);
    return loaded[0] != '\0' && strcmp(version, loaded) != 0;
}

static unsigned profile_id(unsigned profile) {
    return h100[profile].memory ? h100[profile].id : 100 + profile;
}

static struct outer* find_outer(unsigned device, unsigned id) {
    for (unsigned i = 0; i < outer_count; ++i)
        if (outers[i].device == device && outers[i].id == id)
            return &outers[i];
    return NULL;
}

static struct outer* add_outer(unsigned device, unsigned id, unsigned profile, struct placement placement) {
    if (outer_count == most_outer)
        return NULL;
    outers[outer_count] = (struct outer){device, id, profile, placement, {0}};
    return &outers[outer_count++];
}

static void read_instance(const char* line) {
    struct inner one = {.is_given = 1};
    unsigned profile = 0;
    if (sscanf(line, "instance %u %u %u %u %u %95s", &one.device, &one.index, &one.outer, &one.id, &profile,
               one.uuid) != 6 ||
        inner_count == most_inner || profile >= profiles)
        return;
    one.placement = (struct placement){one.id, 1};
    if (find_outer(one.device, one.outer) ||
        add_outer(one.device, one.outer, profile, (struct placement){one.outer, 0}))
        inners[inner_count++] = one;
}

static void read_attributes(const char* line) {
    unsigned device = 0, id = 0;
    struct attributes one = {0};
    struct outer* outer;
    if (sscanf(line, "attributes %u %u %llu %u %u %u %u %u %u %u %u", &device, &id, &one.memory_mb,
               &one.multiprocessors, &one.gpu_slices, &one.compute_slices, &one.copy, &one.decoder,
               &one.encoder, &one.jpeg, &one.ofa) == 11 &&
        (outer = find_outer(device, id)) != NULL)
        outer->given = one;
}

int read_mig_line(const char* line) {
    char word[32] = "", what[64] = "";
    unsigned number = 0, error = 0;
    if (sscanf(line, "%31s", word) != 1)
        return 0;
    const int is_known = strcmp(word, "split") == 0 || strcmp(word, "broken") == 0 ||
                         strcmp(word, "ampere") == 0 || strcmp(word, "instance") == 0 ||
                         strcmp(word, "attributes") == 0 || strcmp(word, "fail") == 0 ||
                         strncmp(word, "salt", 4) == 0 || strncmp(word, "slow", 4) == 0 ||
                         strncmp(word, "busy", 4) == 0 || strncmp(word, "small", 5) == 0;
    if (!is_known)
        return 0;
    if (sscanf(line, "split %u", &number) == 1 && number < most_devices)
        given_split[number] = 1;
    if (sscanf(line, "ampere %u", &number) == 1 && number < most_devices)
        ampere[number] = 1;
    if (sscanf(line, "broken %u %u", &number, &error) == 2 && number < most_devices)
        broken[number] = (int)error;
    read_instance(line);
    read_attributes(line);
    const int is_failure = sscanf(line, "fail %63s %u", what, &number) == 2;
    if (!is_failure && sscanf(line, "%63s %u", what, &number) < 1)
        return 1;
    char* const version = strchr(what, '@');
    if (version) {
        if (!is_loaded(version + 1))
            return 1;
        *version = '\0';
    }
    if (is_failure && strcmp(what, "mode") == 0)
        failures.mode = (int)number;
    if (is_failure && strcmp(what, "activate") == 0)
        failures.activate = (int)number;
    if (is_failure && strcmp(what, "gpu-instance") == 0)
        failures.gpu_instance = (int)number;
    if (is_failure && strcmp(what, "compute-instance") == 0)
        failures.compute_instance = (int)number;
    if (strcmp(what, "salt") == 0)
        salt = number;
    if (strcmp(what, "slow") == 0)
        slowness = number;
    if (strcmp(what, "busy") == 0)
        busy = number;
    if (strcmp(what, "small") == 0)
        is_small = 1;
    return 1;
}

/* FNV-1a over the three numbers, as text of a UUID. */
static void make_uuid(struct inner* one) {
    char text[64];
    unsigned long long hash = 0xcbf29ce484222325ULL;
    snprintf(text, sizeof text, "%u/%u/%u/%u", one->device, one->outer, one->id, salt);
    for (const char* c = text; *c; ++c)
        hash = (hash ^ (unsigned char)*c) * 0x100000001b3ULL;
    snprintf(one->uuid, sizeof one->uuid, "MIG-%08x-%04x-5%03x-8%03x-%012llx", (unsigned)(hash >> 32),
             (unsigned)(hash >> 16 & 0xffff), (unsigned)(hash >> 4 & 0xfff), (unsigned)(hash & 0xfff),
             hash * 31 & 0xffffffffffffULL);
}

/* NVML numbers the MIG devices of a GPU in the order of their ids. */
static void number_devices(void) {
    for (unsigned i = 0; i < inner_count; ++i) {
        struct inner* const one = &inners[i];
        if (one->is_given)
            continue;
        make_uuid(one);
        one->index = 0;
        for (unsigned j = 0; j < inner_count; ++j)
            if (inners[j].device == one->device &&
                inners[j].outer * most_inner + inners[j].id < one->outer * most_inner + one->id)
                ++one->index;
    }
}

int is_ampere(const void* device) {
    return index_of(device) < most_devices && ampere[index_of(device)];
}

static void read_inforom(void) {
    unsigned device;
    FILE* const file = open_below_root("/stub-inforom", "r");
    while (file && fscanf(file, " split %u", &device) == 1)
        if (device < most_devices)
            pending[device] = 1;
    if (file)
        fclose(file);
}

static void write_inforom(void) {
    FILE* const file = open_below_root("/stub-inforom", "w");
    for (unsigned device = 0; file && device < most_devices; ++device)
        if (ampere[device] && pending[device])
            fprintf(file, "split %u\n", device);
    if (file)
        fclose(file);
}

int read_mig_state(void) {
    char line[128];
    struct outer out;
    unsigned device;
    FILE* const file = open_below_root("/proc/driver/nvidia/stub-mig", "r");
    memcpy(is_split, given_split, sizeof is_split);
    read_inforom();
    for (device = 0; !file && device < most_devices; ++device)
        is_split[device] |= ampere[device] && pending[device];
    while (file && fgets(line, sizeof line, file)) {
        struct inner in = {0};
        if (sscanf(line, "split %u", &device) == 1 && device < most_devices)
            is_split[device] = 1;
        else if (sscanf(line, "outer %u %u %u %u %u", &out.device, &out.id, &out.profile,
                        &out.placement.start, &out.placement.size) == 5)
            add_outer(out.device, out.id, out.profile, out.placement);
        else if (inner_count < most_inner &&
                 sscanf(line, "inner %u %u %u %u %u %u", &in.device, &in.outer, &in.id, &in.profile,
                        &in.placement.start, &in.placement.size) == 6)
            inners[inner_count++] = in;
    }
    if (file)
        fclose(file);
    number_devices();
    return success;
}

/* Writes a file of the driver: a capability with the minor of its node. */
static void write_capability(unsigned device, unsigned outer, int inner) {
    unsigned gpu = 0;
    char path[256] = "", directory[4096];
    nvmlDeviceGetMinorNumber(device_handle(device), &gpu);
    int length = snprintf(path, sizeof path, "/proc/driver/nvidia/capabilities/gpu%u/mig/gi%u", gpu, outer);
    if (inner >= 0)
        snprintf(path + length, sizeof path - (size_t)length, "/ci%d", inner);
    snprintf(directory, sizeof directory, "%s%s", value_or("FAKE_ROOT", ""), path);
    for (char* slash = directory + 1; (slash = strchr(slash, '/')) != NULL; ++slash) {
        *slash = '\0';
        mkdir(directory, 0755);
        *slash = '/';
    }
    mkdir(directory, 0755);
    strcat(path, "/access");
    FILE* const file = open_below_root(path, "w");
    if (!file)
        return;
    fprintf(file, "DeviceFileMinor: %u\nDeviceFileMode: 292\nDeviceFileModify: 1\n",
            10 + gpu * 200 + outer * 10 + (unsigned)(inner + 1));
    fclose(file);
}

static int write_state(void) {
    char from[4096], to[4096];
    FILE* const file = open_below_root("/proc/driver/nvidia/stub-mig.new", "w");
    if (!file)
        return no_permission;
    for (unsigned device = 0; device < most_devices; ++device)
        if (is_split[device])
            fprintf(file, "split %u\n", device);
    for (unsigned i = 0; i < outer_count; ++i)
        if (outers[i].placement.size) {
            fprintf(file, "outer %u %u %u %u %u\n", outers[i].device, outers[i].id, outers[i].profile,
                    outers[i].placement.start, outers[i].placement.size);
            write_capability(outers[i].device, outers[i].id, -1);
        }
    for (unsigned i = 0; i < inner_count; ++i)
        if (!inners[i].is_given) {
            fprintf(file, "inner %u %u %u %u %u %u\n", inners[i].device, inners[i].outer, inners[i].id,
                    inners[i].profile, inners[i].placement.start, inners[i].placement.size);
            write_capability(inners[i].device, inners[i].outer, (int)inners[i].id);
        }
    fclose(file);
    snprintf(from, sizeof from, "%s/proc/driver/nvidia/stub-mig.new", value_or("FAKE_ROOT", ""));
    snprintf(to, sizeof to, "%s/proc/driver/nvidia/stub-mig", value_or("FAKE_ROOT", ""));
    number_devices();
    return rename(from, to) == 0 ? success : no_permission;
}

/* Return NULL if the handle is not of that kind. */
static struct outer* outer_of(const void* handle) {
    const size_t number = (size_t)handle - gpu_instance_handle;
    return (size_t)handle >= gpu_instance_handle && number < outer_count ? &outers[number] : NULL;
}

static struct inner* inner_of(const void* handle, unsigned kind) {
    const size_t number = (size_t)handle - kind;
    return (size_t)handle >= kind && number < inner_count ? &inners[number] : NULL;
}

static void* handle_of_outer(const struct outer* one) {
    return (void*)(size_t)(gpu_instance_handle + (unsigned)(one - outers));
}

static void* handle_of_inner(const struct inner* one, unsigned kind) {
    return (void*)(size_t)(kind + (unsigned)(one - inners));
}

void* mig_by_uuid(const char* uuid) {
    for (unsigned i = 0; i < inner_count; ++i)
        if (strcmp(inners[i].uuid, uuid) == 0)
            return handle_of_inner(&inners[i], mig_handle);
    return NULL;
}

const char* mig_uuid(const void* handle) {
    const struct inner* const one = inner_of(handle, mig_handle);
    return one ? one->uuid : NULL;
}

int nvmlDeviceGetMigMode(void* device, unsigned* current, unsigned* after_reset) {
    const unsigned index = index_of(device);
    if (index >= most_devices)
        return not_supported;
    *current = (unsigned)is_split[index];
    *after_reset = (unsigned)(ampere[index] ? pending[index] : is_split[index]);
    return broken[index] ? broken[index] : state_of(device);
}

int nvmlDeviceSetMigMode(void* device, unsigned mode, int* activation) {
    const unsigned index = index_of(device);
    if (index >= most_devices)
        return not_supported;
    if (failures.mode)
        return failures.mode;
    pending[index] = mode != 0;
    write_inforom();
    *activation = mode_calls[index]++ < busy ? in_use : failures.activate;
    if (*activation)
        return success;
    is_split[index] = mode != 0;
    return write_state();
}

int nvmlDeviceGetMaxMigDeviceCount(void* device, unsigned* count) {
    *count = index_of(device) < most_devices ? slices : 0;
    return success;
}

int nvmlDeviceGetMigDeviceHandleByIndex(void* device, unsigned index, void** found) {
    for (unsigned i = 0; i < inner_count; ++i)
        if (inners[i].device == index_of(device) && inners[i].index == index) {
            *found = handle_of_inner(&inners[i], mig_handle);
            return success;
        }
    return not_found;
}

int nvmlDeviceIsMigDeviceHandle(void* device, unsigned* is_mig) {
    *is_mig = inner_of(device, mig_handle) != NULL;
    return success;
}

int nvmlDeviceGetDeviceHandleFromMigDeviceHandle(void* device, void** parent) {
    const struct inner* const one = inner_of(device, mig_handle);
    if (!one)
        return invalid_argument;
    *parent = device_handle(one->device);
    return success;
}

int nvmlDeviceGetGpuInstanceId(void* device, unsigned* id) {
    const struct inner* const one = inner_of(device, mig_handle);
    *id = one ? one->outer : 0;
    return one ? success : invalid_argument;
}

int nvmlDeviceGetComputeInstanceId(void* device, unsigned* id) {
    const struct inner* const one = inner_of(device, mig_handle);
    *id = one ? one->id : 0;
    return one ? success : invalid_argument;
}

int nvmlDeviceGetGpuInstanceById(void* device, unsigned id, void** found) {
    const struct outer* const one = find_outer(index_of(device), id);
    *found = one ? handle_of_outer(one) : NULL;
    return one ? success : not_found;
}

int nvmlGpuInstanceGetInfo(void* handle, struct gpu_instance_info* info) {
    const struct outer* const one = outer_of(handle);
    if (!one)
        return invalid_argument;
    memset(info, 0, sizeof *info);
    info->device = device_handle(one->device);
    info->id = one->id;
    info->profile_id = profile_id(one->profile);
    info->placement = one->placement;
    return success;
}

int nvmlDeviceGetGpuInstanceProfileInfo(void* device, unsigned profile, struct gpu_instance_profile* info) {
    (void)device;
    if (profile >= profiles)
        return invalid_argument;
    memset(info, 0, sizeof *info);
    info->id = profile_id(profile);
    info->slice_count = h100[profile].slices;
    info->instance_count = h100[profile].most;
    return success;
}

static int profile_by_id(unsigned id) {
    for (unsigned profile = 0; profile < profiles; ++profile)
        if (profile_id(profile) == id)
            return (int)profile;
    return -1;
}

int nvmlDeviceGetGpuInstances(void* device, unsigned id, void** found, unsigned* count) {
    const unsigned index = index_of(device);
    const int profile = profile_by_id(id);
    if (index >= most_devices || !is_split[index])
        return not_supported;
    *count = 0;
    for (unsigned i = 0; i < outer_count; ++i)
        if (outers[i].device == index && (int)outers[i].profile == profile)
            found[(*count)++] = handle_of_outer(&outers[i]);
    return profile < 0 ? invalid_argument : success;
}

int nvmlDeviceGetGpuInstancePossiblePlacements_v2(void* device, unsigned id, struct placement* found,
                                                  unsigned* count) {
    const int profile = profile_by_id(id);
    (void)device;
    if (profile < 0 || !h100[profile].memory || (is_small && h100[profile].slices > 1))
        return not_supported;
    *count = 0;
    for (unsigned start = 0; start < h100[profile].end; start += h100[profile].step, ++*count)
        if (found)
            found[*count] = (struct placement){start, h100[profile].memory};
    return success;
}

/* The ids that NVIDIA's driver gives: 0 for the whole GPU, 1 and 2 for halves, and so on. */
static unsigned id_of(struct placement placement) {
    unsigned first = 0;
    for (unsigned size = 8; size > placement.size; size /= 2)
        first = 2 * first + 1;
    return first + placement.start / placement.size;
}

static int overlap(struct placement a, struct placement b) {
    return a.start < b.start + b.size && b.start < a.start + a.size;
}

int nvmlDeviceCreateGpuInstanceWithPlacement(void* device, unsigned id, const struct placement* placement,
                                             void** created) {
    const unsigned index = index_of(device);
    const int profile = profile_by_id(id);
    unsigned used = 0, same = 0;
    if (index >= most_devices || !is_split[index])
        return not_supported;
    if (profile < 0 || placement->size != h100[profile].memory || placement->start >= h100[profile].end ||
        placement->start % h100[profile].step != 0)
        return invalid_argument;
    usleep(slowness * 1000);
    if (failures.gpu_instance)
        return failures.gpu_instance;
    for (unsigned i = 0; i < outer_count; ++i)
        if (outers[i].device == index) {
            used += h100[outers[i].profile].slices;
            same += (int)outers[i].profile == profile;
            if (overlap(outers[i].placement, *placement))
                return insufficient_resources;
        }
    if (used + h100[profile].slices > slices || same == h100[profile].most)
        return insufficient_resources;
    const struct outer* const one = add_outer(index, id_of(*placement), (unsigned)profile, *placement);
    *created = one ? handle_of_outer(one) : NULL;
    return one ? write_state() : insufficient_resources;
}

int nvmlGpuInstanceGetComputeInstanceById(void* handle, unsigned id, void** found) {
    const struct outer* const outer = outer_of(handle);
    for (unsigned i = 0; outer && i < inner_count; ++i)
        if (inners[i].device == outer->device && inners[i].outer == outer->id && inners[i].id == id) {
            *found = handle_of_inner(&inners[i], compute_instance_handle);
            return success;
        }
    return not_found;
}

int nvmlComputeInstanceGetInfo_v2(void* handle, struct compute_instance_info* info) {
    const struct inner* const one = inner_of(handle, compute_instance_handle);
    if (!one)
        return invalid_argument;
    memset(info, 0, sizeof *info);
    info->id = one->id;
    info->profile_id = one->profile;
    info->placement = one->placement;
    return success;
}

int nvmlGpuInstanceGetComputeInstanceProfileInfo(void* handle, unsigned profile, unsigned engine,
                                                 struct compute_instance_profile* info) {
    const struct outer* const outer = outer_of(handle);
    const unsigned size = outer && h100[outer->profile].memory ? h100[outer->profile].slices : 1;
    if (!outer || engine > 0 || profile >= compute_profiles || !compute_slices[profile] ||
        compute_slices[profile] > size)
        return not_supported;
    memset(info, 0, sizeof *info);
    info->id = profile;
    info->slice_count = compute_slices[profile];
    info->instance_count = size / compute_slices[profile];
    return success;
}

int nvmlGpuInstanceGetComputeInstances(void* handle, unsigned profile, void** found, unsigned* count) {
    const struct outer* const outer = outer_of(handle);
    *count = 0;
    for (unsigned i = 0; outer && i < inner_count; ++i)
        if (inners[i].device == outer->device && inners[i].outer == outer->id && inners[i].profile == profile)
            found[(*count)++] = handle_of_inner(&inners[i], compute_instance_handle);
    return outer ? success : invalid_argument;
}

int nvmlGpuInstanceCreateComputeInstanceWithPlacement(void* handle, unsigned profile,
                                                      const struct placement* placement, void** created) {
    const struct outer* const outer = outer_of(handle);
    struct inner one = {.profile = profile, .placement = *placement};
    struct compute_instance_profile info;
    if (nvmlGpuInstanceGetComputeInstanceProfileInfo(handle, profile, 0, &info) != success ||
        placement->size != info.slice_count ||
        placement->start + placement->size > h100[outer->profile].slices)
        return invalid_argument;
    usleep(slowness * 1000);
    if (failures.compute_instance)
        return failures.compute_instance;
    one.device = outer->device;
    one.outer = outer->id;
    for (unsigned i = 0; i < inner_count; ++i)
        if (inners[i].device == one.device && inners[i].outer == one.outer &&
            overlap(inners[i].placement, *placement))
            return insufficient_resources;
    while (nvmlGpuInstanceGetComputeInstanceById(handle, one.id, created) == success)
        ++one.id;
    if (inner_count == most_inner)
        return insufficient_resources;
    inners[inner_count] = one;
    *created = handle_of_inner(&inners[inner_count++], compute_instance_handle);
    return write_state();
}

int nvmlDeviceGetAttributes_v2(void* device, struct attributes* attributes) {
    const struct inner* const one = inner_of(device, mig_handle);
    const struct outer* const outer = one ? find_outer(one->device, one->outer) : NULL;
    memset(attributes, 0, sizeof *attributes);
    if (!outer)
        return not_supported;
    if (outer->given.memory_mb) {
        *attributes = outer->given;
        return success;
    }
    attributes->gpu_slices = outer->profile < 4 ? outer->profile + 1 : outer->profile == 4 ? 7 : 1;
    attributes->compute_slices = one->is_given ? attributes->gpu_slices : one->placement.size;
    attributes->multiprocessors = 16 * attributes->gpu_slices;
    attributes->copy = attributes->decoder = attributes->gpu_slices;
    attributes->jpeg = attributes->ofa = outer->profile == 7;
    for (unsigned i = 0; i < inner_count; ++i) /* a second compute instance shares the GPU instance */
        if (one->is_given && &inners[i] != one && inners[i].device == one->device &&
            inners[i].outer == one->outer)
            attributes->compute_slices = 1;
    attributes->memory_mb = attributes->gpu_slices == 7  ? 80896
                            : attributes->gpu_slices > 2 ? 40448
                                                         : 9856 * attributes->gpu_slices;
    return success;
}
