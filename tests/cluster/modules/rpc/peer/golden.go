// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"google.golang.org/protobuf/proto"
	plugin "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
	registration "k8s.io/kubelet/pkg/apis/pluginregistration/v1"
	podresources "k8s.io/kubelet/pkg/apis/podresources/v1"
)

// golden prints the messages that tests/unit/rpc/kubelet/codec_test.cpp has.
func golden() error {
	for _, one := range []struct {
		name    string
		message proto.Message
	}{
		{"info", &registration.PluginInfo{Type: "DevicePlugin", Name: "nvidia.com/gpu", Endpoint: "/run/gpu.sock",
			SupportedVersions: []string{"v1beta1", "v1"}}},
		{"status", &registration.RegistrationStatus{PluginRegistered: true, Error: "größer"}},
		{"options", &plugin.DevicePluginOptions{PreStartRequired: true, GetPreferredAllocationAvailable: true}},
		{"list", &plugin.ListAndWatchResponse{Devices: []*plugin.Device{
			{ID: "GPU-1", Health: "Healthy", Topology: &plugin.TopologyInfo{Nodes: []*plugin.NUMANode{{ID: 1}, {ID: -1}}}},
			{ID: "GPU-2", Health: "Unhealthy"}}}},
		{"preferred", &plugin.PreferredAllocationRequest{ContainerRequests: []*plugin.ContainerPreferredAllocationRequest{
			{AvailableDeviceIDs: []string{"a", "b"}, MustIncludeDeviceIDs: []string{"b"}, AllocationSize: 300}}}},
		{"allocated", &plugin.AllocateResponse{ContainerResponses: []*plugin.ContainerAllocateResponse{{
			Envs:        map[string]string{"A": "1"},
			Mounts:      []*plugin.Mount{{ContainerPath: "/c", HostPath: "/h", ReadOnly: true}},
			Devices:     []*plugin.DeviceSpec{{ContainerPath: "/dev/c", HostPath: "/dev/h", Permissions: "rwm"}},
			Annotations: map[string]string{"k": "v"},
			CdiDevices:  []*plugin.CDIDevice{{Name: "nvidia.com/gpu=GPU-1"}}}}}},
		{"pods", &podresources.ListPodResourcesResponse{PodResources: []*podresources.PodResources{pod("train", 2)}}},
		{"pod", &podresources.GetPodResourcesRequest{PodName: "train", PodNamespace: "default"}},
	} {
		bytes, err := proto.MarshalOptions{Deterministic: true}.Marshal(one.message)
		if err != nil {
			return err
		}
		fmt.Printf("%s %x\n", one.name, bytes)
	}
	return nil
}
