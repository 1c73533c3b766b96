// SPDX-License-Identifier: Apache-2.0
// Fakes libnvidia-ml.so.1 without a GPU, with stub_nvml_mig.c. Its answers are set in the environment: STUB_NVML_ERROR (of
// nvmlInit), STUB_NVML_VERSION, STUB_NVML_DEVICES. Device N is at 0000:1N:00.0. Minors count down, so that
// they differ from the indices.
//
// The file /stub-nvml, below FAKE_ROOT if that is set, is for programs without this environment, and for MIG.
// One line each:
//   devices COUNT                      the number of GPUs
//   split DEVICE                       MIG is enabled
//   instance DEVICE INDEX GPU-INSTANCE COMPUTE-INSTANCE PROFILE UUID
//                                      a MIG instance, with NVML's number of the profile
//   broken DEVICE NUMBER               the error of nvmlDeviceGetMigMode
//   ampere DEVICE                      the MIG mode of the device lasts over reboots
//   lost DEVICE                        the functions that describe the device fail
//   gone DEVICE                        the device has no handle
//   fabric DEVICE CLIQUE [STATE]       the device is in a network of NVLink switches; 3: registered in it
//   nvlink DEVICE PEER COUNT           links between two devices; a PEER that is not a device is a switch
//   model DEVICE MEMORY MAJOR MINOR NAME
//                                      MiB, the compute capability, the name; an H100 without this line
//   attributes DEVICE GPU-INSTANCE MEMORY MULTIPROCESSORS GPU-SLICES COMPUTE-SLICES COPY DECODERS ENCODERS JPEG OFA
//                                      of the MIG device of an earlier line "instance"
//   vgpu DEVICE                        the device is a vGPU
//   memory DEVICE pending|failed|retiring
//                                      faulty memory waits for a reset, could not be replaced, or waits on a device
//                                      that retires pages
//   error NUMBER                       the error of nvmlInit
//   hang, die, print TEXT              the behaviour of nvmlInit
//   fail FUNCTION[@VERSION] NUMBER     the error of a function that changes MIG: mode, activate, gpu-instance,
//                                      compute-instance; only with this driver loaded, if a version is given
//   salt[@VERSION] NUMBER              MIG devices get other UUIDs
//   slow[@VERSION] MILLISECONDS        the time to create an instance
//   busy[@VERSION] COUNT               each device is in use in the first calls of nvmlDeviceSetMigMode
//   small[@VERSION]                    GPU instances of one slice alone are possible
#define _GNU_SOURCE /* dladdr() */
#include "tests/support/stub_nvml.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char* value_or(const char* name, const char* fallback) {
    const char* value = getenv(name);
    return value ? value : fallback;
}

static int given_devices = -1;
static int is_lost[most_devices];
static int is_gone[most_devices];
static int is_vgpu[most_devices];
static char memory_states[most_devices]; /* the first letter of a line "memory" */
static int cliques[most_devices];        /* plus 1; 0: in no fabric */
static unsigned fabric_states[most_devices];
enum { most_links = 18 };
static unsigned link_peers[most_devices][most_links]; /* plus 1; 0: the link is not active */

static struct {
    unsigned memory, major, minor;
    char name[96];
} models[most_devices]; /* without memory: an H100 */

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

static void add_links(unsigned device, unsigned peer, unsigned count) {
    for (unsigned link = 0; device < most_devices && link < most_links && count > 0; ++link)
        if (!link_peers[device][link]) {
            link_peers[device][link] = peer + 1;
            --count;
        }
}

static int read_model(const char* line) {
    unsigned device = 0;
    int begin = 0;
    if (sscanf(line, "model %u %n", &device, &begin) != 1 || device >= most_devices)
        return 0;
    return sscanf(line + begin, "%u %u %u %95[^\n]", &models[device].memory, &models[device].major,
                  &models[device].minor, models[device].name) == 4;
}

static int read_line(const char* line) {
    unsigned number = 0;
    unsigned clique = 0;
    unsigned peer = 0;
    unsigned count = 0;
    unsigned state = 3;
    char letter = 0;
    char word[32] = "";
    int length = 0;
    sscanf(line, "%31s %n", word, &length);
    if (sscanf(line, "devices %u", &number) == 1)
        given_devices = (int)number;
    else if (sscanf(line, "lost %u", &number) == 1 && number < most_devices)
        is_lost[number] = 1;
    else if (sscanf(line, "gone %u", &number) == 1 && number < most_devices)
        is_gone[number] = 1;
    else if (sscanf(line, "vgpu %u", &number) == 1 && number < most_devices)
        is_vgpu[number] = 1;
    else if (sscanf(line, "memory %u %c", &number, &letter) == 2 && number < most_devices)
        memory_states[number] = letter;
    else if (sscanf(line, "fabric %u %u %u", &number, &clique, &state) >= 2 && number < most_devices) {
        cliques[number] = (int)clique + 1;
        fabric_states[number] = state;
    } else if (sscanf(line, "nvlink %u %u %u", &number, &peer, &count) == 3) {
        add_links(number, peer, count);
        add_links(peer, number, count);
    } else if (read_model(line) || read_mig_line(line))
        return success;
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
    forget_mig();
    if (file == NULL)
        return read_mig_state();
    memset(is_lost, 0, sizeof is_lost);
    memset(is_gone, 0, sizeof is_gone);
    memset(is_vgpu, 0, sizeof is_vgpu);
    memset(memory_states, 0, sizeof memory_states);
    memset(cliques, 0, sizeof cliques);
    memset(link_peers, 0, sizeof link_peers);
    memset(models, 0, sizeof models);
    while (result == success && fgets(line, sizeof line, file))
        result = read_line(line);
    fclose(file);
    return result != success ? result : read_mig_state();
}

/* Returns an error if the name of this library has another version than the loaded driver. */
static int compare_versions(void) {
    static const char prefix[] = "/libnvidia-ml.so.";
    Dl_info library;
    if (!dladdr((void*)&given_devices, &library))
        return success;
    const char* const name = strstr(library.dli_fname, prefix);
    const char* const version = name ? name + sizeof prefix - 1 : "1";
    return strcmp(version, "1") != 0 && is_another_loaded(version) ? lib_rm_version_mismatch : success;
}

int nvmlInit_v2(void) {
    const int mismatch = compare_versions();
    const int result = mismatch != success ? mismatch : read_file();
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

unsigned device_count(void) {
    return given_devices >= 0 ? (unsigned)given_devices : (unsigned)atoi(value_or("STUB_NVML_DEVICES", "0"));
}

int nvmlDeviceGetCount_v2(unsigned* count) {
    *count = device_count();
    return 0;
}

const char* nvmlErrorString(int error) {
    return error == lib_rm_version_mismatch ? "Driver/library version mismatch" : "Unknown Error";
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

unsigned index_of(const void* device) {
    return (unsigned)(size_t)device - 1;
}

int state_of(const void* device) {
    return index_of(device) < most_devices && is_lost[index_of(device)] ? gpu_is_lost : success;
}

void* device_handle(unsigned index) {
    return (void*)(size_t)(index + 1);
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
    *device = device_handle(index);
    if (index < most_devices && is_gone[index])
        return gpu_is_lost;
    return index < device_count() ? 0 : not_found;
}

int nvmlDeviceGetHandleByUUID(const char* uuid, void** device) {
    char own[64];
    if ((*device = mig_by_uuid(uuid)) != NULL)
        return success;
    for (unsigned index = 0; index < device_count(); ++index) {
        write_uuid(index, own, sizeof own);
        if (strcmp(own, uuid) == 0)
            return nvmlDeviceGetHandleByIndex_v2(index, device);
    }
    return not_found;
}

int nvmlDeviceGetUUID(void* device, char* uuid, unsigned length) {
    const char* const of_mig = mig_uuid(device);
    if (of_mig) {
        snprintf(uuid, length, "%s", of_mig);
        return success;
    }
    write_uuid(index_of(device), uuid, length);
    return state_of(device);
}

static int has_model(const void* device) {
    return index_of(device) < most_devices && models[index_of(device)].memory > 0;
}

int nvmlDeviceGetName(void* device, char* name, unsigned length) {
    snprintf(name, length, "%s", has_model(device) ? models[index_of(device)].name : "NVIDIA H100 80GB HBM3");
    return state_of(device);
}

int nvmlDeviceGetMinorNumber(void* device, unsigned* minor) {
    *minor = device_count() - 1 - index_of(device);
    return 0;
}

static void write_address(unsigned index, struct pci_info* info) {
    memset(info, 0, sizeof *info);
    info->bus = 0x10 + index;
    snprintf(info->bus_id, sizeof info->bus_id, "00000000:%02X:00.0", info->bus);
}

int nvmlDeviceGetPciInfo_v3(void* device, struct pci_info* info) {
    write_address(index_of(device), info);
    return state_of(device);
}

int nvmlDeviceGetCudaComputeCapability(void* device, int* major, int* minor) {
    *major = has_model(device) ? (int)models[index_of(device)].major : is_ampere(device) ? 8 : 9;
    *minor = has_model(device) ? (int)models[index_of(device)].minor : 0;
    return state_of(device);
}

int nvmlDeviceGetVirtualizationMode(void* device, int* mode) {
    *mode = index_of(device) < most_devices && is_vgpu[index_of(device)] ? 2 : 0;
    return state_of(device);
}

static char memory_state(const void* device) {
    return index_of(device) < most_devices ? memory_states[index_of(device)] : 0;
}

int nvmlDeviceGetRemappedRows(void* device, unsigned* correctable, unsigned* uncorrectable, unsigned* pending,
                              unsigned* failed) {
    *correctable = *uncorrectable = 0;
    *pending = memory_state(device) == 'p';
    *failed = memory_state(device) == 'f';
    return memory_state(device) == 'r' ? not_supported : state_of(device);
}

int nvmlDeviceGetRetiredPagesPendingStatus(void* device, int* pending) {
    *pending = 1;
    return memory_state(device) == 'r' ? state_of(device) : not_supported;
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
    info->state = (unsigned char)fabric_states[index_of(device)];
    return state_of(device);
}

int nvmlDeviceGetNvLinkState(void* device, unsigned link, int* active) {
    const unsigned index = index_of(device);
    if (link >= most_links)
        return invalid_argument;
    if (index >= most_devices || !link_peers[index][0])
        return not_supported;
    *active = link_peers[index][link] != 0;
    return state_of(device);
}

int nvmlDeviceGetNvLinkRemotePciInfo_v2(void* device, unsigned link, struct pci_info* info) {
    const unsigned index = index_of(device);
    if (link >= most_links || index >= most_devices || !link_peers[index][link])
        return invalid_argument;
    write_address(link_peers[index][link] - 1, info);
    return state_of(device);
}

struct memory {
    unsigned long long total, free, used;
};

int nvmlDeviceGetMemoryInfo(void* device, struct memory* memory) {
    memset(memory, 0, sizeof *memory);
    memory->total =
        has_model(device) ? (unsigned long long)models[index_of(device)].memory << 20 : 85520809984ULL;
    return state_of(device);
}
