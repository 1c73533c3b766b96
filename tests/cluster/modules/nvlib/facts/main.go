// SPDX-License-Identifier: Apache-2.0

// facts prints what go-nvlib says about the GPUs of go-nvml's mock servers, as JSON. tests/host/nvlib.json is its
// output.
//
// It says nothing that differs from run to run (UUIDs) and nothing that the mocks lack: PCI addresses, MIG devices,
// NVLinks, fabrics. So a profile is one that go-nvlib lists for the GPU and that the mock has for a GPU instance. Its
// attributes are those of the two profiles; no function of go-nvlib makes them.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/NVIDIA/go-nvlib/pkg/nvlib/device"
	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock/dgxa100"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock/dgxb200"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock/dgxh100"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock/dgxh200"
)

// attributes has the names of the offer to the kubelet.
type attributes struct {
	Memory          uint64 `json:"memory_mib"`
	Multiprocessors uint32 `json:"multiprocessors"`
	GpuSlices       int    `json:"gpu_slices"`
	ComputeSlices   int    `json:"compute_slices"`
	CopyEngines     uint32 `json:"copy_engines"`
	Decoders        uint32 `json:"decoders"`
	Encoders        uint32 `json:"encoders"`
	JpegEngines     uint32 `json:"jpeg_engines"`
	OfaEngines      uint32 `json:"ofa_engines"`
}

type profile struct {
	Name       string     `json:"name"`
	Number     int        `json:"number"` // nvml.h's, of the GPU instance
	Attributes attributes `json:"attributes"`
}

type gpu struct {
	Name              string    `json:"name"`
	Brand             string    `json:"brand"`
	Architecture      string    `json:"architecture"`
	ComputeCapability string    `json:"compute_capability"`
	Memory            uint64    `json:"memory_mib"`
	MigCapable        bool      `json:"mig_capable"`
	MigEnabled        bool      `json:"mig_enabled"`
	Profiles          []profile `json:"profiles"`
}

type server struct {
	Driver string `json:"driver"`
	Cuda   int    `json:"cuda_version"`
	Count  int    `json:"count"`
	Gpu    gpu    `json:"gpu"` // all are equal
}

func must[T any](value T, err error) T {
	if err != nil {
		fmt.Fprintln(os.Stderr, "facts:", err)
		os.Exit(1)
	}
	return value
}

func ok[T any](value T, ret nvml.Return) T {
	if ret != nvml.SUCCESS {
		return must(value, fmt.Errorf("NVML: %d", ret))
	}
	return value
}

// profiles returns those that the mock can create. go-nvlib has a name more than once if compute instances of
// several kinds have it.
func profiles(dev device.Device) []profile {
	var list []profile
	seen := map[string]bool{}
	for _, one := range must(dev.GetMigProfiles()) {
		info := one.GetInfo()
		outer := ok(dev.GetGpuInstanceProfileInfo(info.GIProfileID))
		instance := ok(dev.CreateGpuInstance(&outer))
		inner, ret := instance.GetComputeInstanceProfileInfo(info.CIProfileID, info.CIEngProfileID)
		ok(0, instance.Destroy())
		if ret != nvml.SUCCESS || seen[one.String()] {
			continue
		}
		seen[one.String()] = true
		list = append(list, profile{one.String(), info.GIProfileID, attributes{
			outer.MemorySizeMB, inner.MultiprocessorCount, info.G, info.C, outer.CopyEngineCount, outer.DecoderCount,
			outer.EncoderCount, outer.JpegCount, outer.OfaCount,
		}})
	}
	return list
}

func describe(dev device.Device) gpu {
	return gpu{
		ok(dev.GetName()), must(dev.GetBrandAsString()), must(dev.GetArchitectureAsString()),
		must(dev.GetCudaComputeCapabilityAsString()), ok(dev.GetMemoryInfo()).Total >> 20, must(dev.IsMigCapable()),
		must(dev.IsMigEnabled()), profiles(dev),
	}
}

func main() {
	servers := map[string]server{}
	for name, library := range map[string]nvml.Interface{
		"dgxa100": dgxa100.New(), "dgxh100": dgxh100.New(), "dgxh200": dgxh200.New(), "dgxb200": dgxb200.New(),
	} {
		devices := must(device.New(library).GetDevices())
		servers[name] = server{ok(library.SystemGetDriverVersion()), ok(library.SystemGetCudaDriverVersion()),
			len(devices), describe(devices[0])}
	}
	out := json.NewEncoder(os.Stdout)
	out.SetIndent("", " ")
	must(0, out.Encode(servers))
}
