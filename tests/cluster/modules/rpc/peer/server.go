// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	plugin "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
	podresources "k8s.io/kubelet/pkg/apis/podresources/v1"
)

func serve(path string, register func(*grpc.Server)) error {
	listener, err := net.Listen("unix", path)
	if err != nil {
		return err
	}
	server := grpc.NewServer()
	register(server)
	fmt.Println("ready")
	return server.Serve(listener)
}

type lister struct {
	podresources.UnimplementedPodResourcesListerServer
}

// pod has so many devices that its answer needs several windows of HTTP/2.
func pod(name string, devices int) *podresources.PodResources {
	share := "share-1"
	ids := make([]string, 0, devices)
	for i := range devices {
		ids = append(ids, fmt.Sprintf("GPU-%d", i))
	}
	return &podresources.PodResources{Name: name, Namespace: "default", Containers: []*podresources.ContainerResources{{
		Name:    "main",
		CpuIds:  []int64{0, 1, 1 << 40},
		Memory:  []*podresources.ContainerMemory{{MemoryType: "memory", Size: 1 << 63}},
		Devices: []*podresources.ContainerDevices{{ResourceName: "nvidia.com/gpu", DeviceIds: ids}},
		DynamicResources: []*podresources.DynamicResource{{ClaimName: "claim", ClaimNamespace: "default",
			ClaimResources: []*podresources.ClaimResource{{DriverName: "gpu.nvidia.com", PoolName: "node", DeviceName: "gpu-0", ShareId: &share}}}},
	}}}
}

func (lister) List(context.Context, *podresources.ListPodResourcesRequest) (*podresources.ListPodResourcesResponse, error) {
	return &podresources.ListPodResourcesResponse{PodResources: []*podresources.PodResources{pod("train", 2), pod("größer", 20_000)}}, nil
}

func (lister) GetAllocatableResources(context.Context, *podresources.AllocatableResourcesRequest) (*podresources.AllocatableResourcesResponse, error) {
	return &podresources.AllocatableResourcesResponse{Devices: []*podresources.ContainerDevices{{}, {}, {}}}, nil
}

func (lister) Get(ctx context.Context, request *podresources.GetPodResourcesRequest) (*podresources.GetPodResourcesResponse, error) {
	switch request.PodName {
	case "train":
		return &podresources.GetPodResourcesResponse{PodResources: pod("train", 2)}, nil
	case "slow":
		<-ctx.Done() // the client's deadline
		return nil, ctx.Err()
	}
	return nil, status.Errorf(codes.NotFound, "pod „%s“ 100%% unbekannt", request.PodName)
}

func servePodResources(path string) error {
	return serve(path, func(server *grpc.Server) { podresources.RegisterPodResourcesListerServer(server, lister{}) })
}

type devices struct {
	plugin.UnimplementedDevicePluginServer
}

func (devices) Allocate(_ context.Context, request *plugin.AllocateRequest) (*plugin.AllocateResponse, error) {
	response := &plugin.AllocateResponse{}
	for _, container := range request.ContainerRequests {
		made := &plugin.ContainerAllocateResponse{Envs: map[string]string{}}
		for _, id := range container.DevicesIds {
			made.CdiDevices = append(made.CdiDevices, &plugin.CDIDevice{Name: "nvidia.com/gpu=" + id})
			made.Envs["NVIDIA_VISIBLE_DEVICES"] += id + ","
		}
		response.ContainerResponses = append(response.ContainerResponses, made)
	}
	return response, nil
}

func (devices) ListAndWatch(_ *plugin.Empty, stream grpc.ServerStreamingServer[plugin.ListAndWatchResponse]) error {
	<-stream.Context().Done()
	return nil
}

func servePlugin(path string) error {
	return serve(path, func(server *grpc.Server) { plugin.RegisterDevicePluginServer(server, devices{}) })
}
