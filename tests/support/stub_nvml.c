// SPDX-License-Identifier: Apache-2.0
// Fakes libnvidia-ml.so.1 without a GPU. Its answers are set in the environment: STUB_NVML_ERROR (of
// nvmlInit), STUB_NVML_VERSION, STUB_NVML_DEVICES. Device N is at 0000:1N:00.0. Minors count down, so that
// they differ from the indices.
//
// The file /stub-nvml, below FAKE_ROOT if that is set, is for programs without this environment, and for MIG.
// One line each:
//   devices COUNT                      the number of GPUs
//   split DEVICE                       MIG is enabled
//   instance DEVICE INDEX GPU-INSTANCE COMPUTE-INSTANCE PROFILE UUID
//                                      a MIG instance, with NVML's number of the profile
//   broken DEVICE NUMBER               the error of all functions for MIG
//   lost DEVICE                        the functions that describe the device fail
//   fabric DEVICE CLIQUE               the device is in a network of NVLink switches
//   vgpu DEVICE                        the device is a vGPU
//   error NUMBER                       the error of nvmlInit
//   hang, die, print TEXT              the behaviour of nvmlInit
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char* value_or(const char* name, const char* fallback) {
    const char* value = getenv(name);
    return value ? value : fallback;
}

enum { success = 0, invalid_argument = 2, not_supported = 3, not_found = 6, gpu_is_lost = 15 };
enum { most_devices = 16, most_instances = 32 };
/* Handles: a device's is its index plus 1; the others' are the number of their instance plus one of these. */
enum { mig_handle = 0x1000, gpu_instance_handle = 0x2000, compute_instance_handle = 0x3000 };

struct instance {
    unsigned device, index, gpu_instance, compute_instance, profile;
    char uuid[96];
};

static struct instance instances[most_instances];
static unsigned instance_count;
static int is_split[most_devices];
static int given_devices = -1;
static int broken[most_devices];
static int is_lost[most_devices];
static int is_vgpu[most_devices];
static int cliques[most_devices]; /* plus 1; 0: in no fabric */

static int behave(const char* word, const char* rest) {
    if (strcmp(word, "hang") == 0)
        for (;;)
            pause();
    if (strcmp(word, "die") == 0)
        abort();
    if (strcmp(word, "print") == 0)
        fputs(rest, stdout);
    return strcmp(word, "error") == 0 ? atoi(rest) : success;
}

static int read_line(const char* line) {
    struct instance one = {0};
    unsigned number = 0;
    char word[32] = "";
    int length = 0;
    sscanf(line, "%31s %n", word, &length);
    if (sscanf(line, "devices %u", &number) == 1)
        given_devices = (int)number;
    else if (sscanf(line, "split %u", &number) == 1 && number < most_devices)
        is_split[number] = 1;
    else if (sscanf(line, "lost %u", &number) == 1 && number < most_devices)
        is_lost[number] = 1;
    else if (sscanf(line, "vgpu %u", &number) == 1 && number < most_devices)
        is_vgpu[number] = 1;
    else if (sscanf(line, "fabric %u %u", &number, &one.index) == 2 && number < most_devices)
        cliques[number] = (int)one.index + 1;
    else if (sscanf(line, "broken %u %u", &number, &one.index) == 2 && number < most_devices)
        broken[number] = (int)one.index;
    else if (instance_count < most_instances &&
             sscanf(line, "instance %u %u %u %u %u %95s", &one.device, &one.index, &one.gpu_instance,
                    &one.compute_instance, &one.profile, one.uuid) == 6)
        instances[instance_count++] = one;
    else
        return behave(word, line + length);
    return success;
}

static int read_file(void) {
    char path[4096];
    char line[256];
    int result = success;
    snprintf(path, sizeof path, "%s/stub-nvml", value_or("FAKE_ROOT", ""));
    FILE* file = fopen(path, "r");
    if (file == NULL)
        return success;
    instance_count = 0;
    memset(is_split, 0, sizeof is_split);
    memset(broken, 0, sizeof broken);
    memset(is_lost, 0, sizeof is_lost);
    memset(is_vgpu, 0, sizeof is_vgpu);
    memset(cliques, 0, sizeof cliques);
    while (result == success && fgets(line, sizeof line, file))
        result = read_line(line);
    fclose(file);
    return result;
}

int nvmlInit_v2(void) {
    const int result = read_file();
    return result != success ? result : atoi(value_or("STUB_NVML_ERROR", "0"));
}

int nvmlShutdown(void) {
    return 0;
}

int nvmlSystemGetDriverVersion(char* version, unsigned length) {
    snprintf(version, length, "%s", value_or("STUB_NVML_VERSION", ""));
    return 0;
}

int nvmlSystemGetCudaDriverVersion(int* version) {
    *version = 12080;
    return success;
}

static unsigned device_count(void) {
    return given_devices >= 0 ? (unsigned)given_devices : (unsigned)atoi(value_or("STUB_NVML_DEVICES", "0"));
}

int nvmlDeviceGetCount_v2(unsigned* count) {
    *count = device_count();
    return 0;
}

const char* nvmlErrorString(int error) {
    return error == 18 ? "Driver/library version mismatch" : "Unknown Error";
}

/* Declared as in NVML's own header. */
struct pci_info {
    char bus_id_legacy[16];
    unsigned domain, bus, device, device_id, subsystem_id;
    char bus_id[32];
};

static void write_uuid(unsigned index, char* uuid, unsigned length) {
    snprintf(uuid, length, "GPU-00000000-0000-0000-0000-%012u", index);
}

static unsigned index_of(const void* device) {
    return (unsigned)(size_t)device - 1;
}

static int state_of(const void* device) {
    return index_of(device) < most_devices && is_lost[index_of(device)] ? gpu_is_lost : success;
}

/* Returns NULL if the handle is not of `kind`. */
static const struct instance* instance_of(const void* handle, unsigned kind) {
    const size_t number = (size_t)handle - kind;
    return (size_t)handle >= kind && number < instance_count ? &instances[number] : NULL;
}

static void* handle_of(const struct instance* one, unsigned kind) {
    return (void*)(size_t)(kind + (unsigned)(one - instances));
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
    *device = (void*)(size_t)(index + 1);
    return index < device_count() ? 0 : not_found;
}

int nvmlDeviceGetHandleByUUID(const char* uuid, void** device) {
    char own[64];
    for (unsigned i = 0; i < instance_count; ++i)
        if (strcmp(instances[i].uuid, uuid) == 0) {
            *device = handle_of(&instances[i], mig_handle);
            return success;
        }
    for (unsigned index = 0; index < device_count(); ++index) {
        write_uuid(index, own, sizeof own);
        if (strcmp(own, uuid) == 0)
            return nvmlDeviceGetHandleByIndex_v2(index, device);
    }
    return not_found;
}

int nvmlDeviceGetUUID(void* device, char* uuid, unsigned length) {
    const struct instance* const one = instance_of(device, mig_handle);
    if (one) {
        snprintf(uuid, length, "%s", one->uuid);
        return success;
    }
    write_uuid(index_of(device), uuid, length);
    return state_of(device);
}

int nvmlDeviceGetName(void* device, char* name, unsigned length) {
    snprintf(name, length, "NVIDIA H100 80GB HBM3");
    return state_of(device);
}

int nvmlDeviceGetMinorNumber(void* device, unsigned* minor) {
    *minor = device_count() - 1 - index_of(device);
    return 0;
}

int nvmlDeviceGetPciInfo_v3(void* device, struct pci_info* info) {
    memset(info, 0, sizeof *info);
    info->bus = 0x10 + index_of(device);
    snprintf(info->bus_id, sizeof info->bus_id, "00000000:%02X:00.0", info->bus);
    return state_of(device);
}

int nvmlDeviceGetCudaComputeCapability(void* device, int* major, int* minor) {
    *major = 9;
    *minor = 0;
    return state_of(device);
}

int nvmlDeviceGetVirtualizationMode(void* device, int* mode) {
    *mode = index_of(device) < most_devices && is_vgpu[index_of(device)] ? 2 : 0;
    return state_of(device);
}

/* Declared as in NVML's own header. */
struct fabric_info {
    unsigned char cluster[16];
    int status;
    unsigned clique;
    unsigned char state;
};

int nvmlDeviceGetGpuFabricInfo(void* device, struct fabric_info* info) {
    const int clique = index_of(device) < most_devices ? cliques[index_of(device)] : 0;
    memset(info, 0, sizeof *info);
    if (!clique)
        return not_supported;
    memset(info->cluster, 0xab, sizeof info->cluster);
    info->clique = (unsigned)clique - 1;
    info->state = 3;
    return state_of(device);
}

int nvmlDeviceGetMigMode(void* device, unsigned* current, unsigned* pending) {
    const unsigned index = index_of(device);
    if (index >= most_devices)
        return not_supported;
    *current = *pending = (unsigned)is_split[index];
    return broken[index];
}

int nvmlDeviceGetMaxMigDeviceCount(void* device, unsigned* count) {
    *count = index_of(device) < most_devices ? 7 : 0;
    return success;
}

int nvmlDeviceGetMigDeviceHandleByIndex(void* device, unsigned index, void** found) {
    for (unsigned i = 0; i < instance_count; ++i)
        if (instances[i].device == index_of(device) && instances[i].index == index) {
            *found = handle_of(&instances[i], mig_handle);
            return success;
        }
    return not_found;
}

int nvmlDeviceIsMigDeviceHandle(void* device, unsigned* is_mig) {
    *is_mig = instance_of(device, mig_handle) != NULL;
    return success;
}

int nvmlDeviceGetDeviceHandleFromMigDeviceHandle(void* device, void** parent) {
    const struct instance* const one = instance_of(device, mig_handle);
    if (!one)
        return invalid_argument;
    return nvmlDeviceGetHandleByIndex_v2(one->device, parent);
}

int nvmlDeviceGetGpuInstanceId(void* device, unsigned* id) {
    const struct instance* const one = instance_of(device, mig_handle);
    *id = one ? one->gpu_instance : 0;
    return one ? success : invalid_argument;
}

int nvmlDeviceGetComputeInstanceId(void* device, unsigned* id) {
    const struct instance* const one = instance_of(device, mig_handle);
    *id = one ? one->compute_instance : 0;
    return one ? success : invalid_argument;
}

int nvmlDeviceGetGpuInstanceById(void* device, unsigned id, void** found) {
    for (unsigned i = 0; i < instance_count; ++i)
        if (instances[i].device == index_of(device) && instances[i].gpu_instance == id) {
            *found = handle_of(&instances[i], gpu_instance_handle);
            return success;
        }
    return not_found;
}

/* The following is declared as in NVML's own header. */
struct gpu_instance_info {
    void* device;
    unsigned id, profile_id, placement_start, placement_size;
};
struct gpu_instance_profile {
    unsigned id, is_p2p_supported, slice_count, instance_count, multiprocessors, copy, decoder, encoder, jpeg,
        ofa;
    unsigned long long memory_mb;
};
struct compute_instance_info {
    void *device, *gpu_instance;
    unsigned id, profile_id, placement_start, placement_size;
};
struct compute_instance_profile {
    unsigned id, slice_count, instance_count, multiprocessors, copy, decoder, encoder, jpeg, ofa;
};
struct attributes {
    unsigned multiprocessors, copy, decoder, encoder, jpeg, ofa, gpu_slices, compute_slices;
    unsigned long long memory_mb;
};
struct memory {
    unsigned long long total, free, used;
};
enum { profiles = 0x12, first_profile_id = 100 };

int nvmlGpuInstanceGetInfo(void* handle, struct gpu_instance_info* info) {
    const struct instance* const one = instance_of(handle, gpu_instance_handle);
    if (!one)
        return invalid_argument;
    memset(info, 0, sizeof *info);
    info->id = one->gpu_instance;
    info->profile_id = first_profile_id + one->profile;
    return success;
}

int nvmlDeviceGetGpuInstanceProfileInfo(void* device, unsigned profile, struct gpu_instance_profile* info) {
    (void)device;
    if (profile >= profiles)
        return invalid_argument;
    memset(info, 0, sizeof *info);
    info->id = first_profile_id + profile;
    return success;
}

int nvmlGpuInstanceGetComputeInstanceById(void* handle, unsigned id, void** found) {
    const struct instance* const outer = instance_of(handle, gpu_instance_handle);
    for (unsigned i = 0; outer && i < instance_count; ++i)
        if (instances[i].device == outer->device && instances[i].gpu_instance == outer->gpu_instance &&
            instances[i].compute_instance == id) {
            *found = handle_of(&instances[i], compute_instance_handle);
            return success;
        }
    return not_found;
}

int nvmlComputeInstanceGetInfo_v2(void* handle, struct compute_instance_info* info) {
    const struct instance* const one = instance_of(handle, compute_instance_handle);
    if (!one)
        return invalid_argument;
    memset(info, 0, sizeof *info);
    info->id = one->compute_instance;
    return success;
}

int nvmlGpuInstanceGetComputeInstanceProfileInfo(void* handle, unsigned profile, unsigned engine,
                                                 struct compute_instance_profile* info) {
    (void)engine;
    if (!instance_of(handle, gpu_instance_handle) || profile > 0)
        return not_supported;
    memset(info, 0, sizeof *info);
    info->slice_count = 1;
    return success;
}

int nvmlDeviceGetAttributes_v2(void* device, struct attributes* attributes) {
    const struct instance* const one = instance_of(device, mig_handle);
    memset(attributes, 0, sizeof *attributes);
    if (!one)
        return not_supported;
    attributes->gpu_slices = one->profile < 4 ? one->profile + 1 : one->profile == 4 ? 7 : 1;
    attributes->compute_slices = attributes->gpu_slices;
    attributes->multiprocessors = 16 * attributes->gpu_slices;
    attributes->copy = attributes->decoder = attributes->gpu_slices;
    attributes->jpeg = attributes->ofa = one->profile == 7;
    for (unsigned i = 0; i < instance_count; ++i) /* a second compute instance shares the GPU instance */
        if (&instances[i] != one && instances[i].device == one->device &&
            instances[i].gpu_instance == one->gpu_instance)
            attributes->compute_slices = 1;
    attributes->memory_mb = attributes->gpu_slices == 7  ? 80896
                            : attributes->gpu_slices > 2 ? 40448
                                                         : 9856 * attributes->gpu_slices;
    return success;
}

int nvmlDeviceGetMemoryInfo(void* device, struct memory* memory) {
    memset(memory, 0, sizeof *memory);
    memory->total = 85520809984ULL;
    return state_of(device);
}
