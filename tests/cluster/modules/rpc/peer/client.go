// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand"
	"net"
	"os"
	"reflect"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/status"
	plugin "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
	registration "k8s.io/kubelet/pkg/apis/pluginregistration/v1"
	podresources "k8s.io/kubelet/pkg/apis/podresources/v1"
)

// dial connects as the kubelet does: with a path as the target, and a dialer of its own.
func dial(path string, more ...grpc.DialOption) *grpc.ClientConn {
	options := append([]grpc.DialOption{
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", path)
		}),
	}, more...)
	connection, err := grpc.NewClient("passthrough:"+path, options...)
	if err != nil {
		fail(err)
	}
	return connection
}

func soon() context.Context {
	ctx, _ := context.WithTimeout(context.Background(), 10*time.Second) //nolint:govet // the program ends soon
	return ctx
}

func want(what string, got, wanted any) error {
	if reflect.DeepEqual(got, wanted) {
		return nil
	}
	return fmt.Errorf("%s: got %v, wanted %v", what, got, wanted)
}

func allocateRequest(ids ...string) *plugin.AllocateRequest {
	return &plugin.AllocateRequest{ContainerRequests: []*plugin.ContainerAllocateRequest{{DevicesIds: ids}}}
}

func checkRegistration(path string) error {
	connection := dial(path)
	defer connection.Close()
	client := registration.NewRegistrationClient(connection)
	info, err := client.GetInfo(soon(), &registration.InfoRequest{})
	if err != nil {
		return err
	}
	if err := want("GetInfo", []any{info.Type, info.Name, info.SupportedVersions},
		[]any{"DevicePlugin", "nvidia.com/gpu", []string{"v1beta1"}}); err != nil {
		return err
	}
	for _, state := range []*registration.RegistrationStatus{
		{PluginRegistered: true}, {PluginRegistered: false, Error: "größer"}} {
		if _, err := client.NotifyRegistrationStatus(soon(), state); err != nil {
			return err
		}
	}
	return nil
}

// healthy returns how many devices of the next message of the stream are healthy.
func healthy(stream grpc.ServerStreamingClient[plugin.ListAndWatchResponse]) (int, error) {
	list, err := stream.Recv()
	if err != nil {
		return 0, err
	}
	count := 0
	for i, device := range list.Devices {
		if device.ID != fmt.Sprintf("GPU-%d", i) || device.Topology.Nodes[0].ID != int64(i/4) {
			return 0, fmt.Errorf("device %d is %v", i, device)
		}
		if device.Health == plugin.Healthy {
			count++
		}
	}
	return count, nil
}

func checkWatch(client plugin.DevicePluginClient) error {
	var streams []grpc.ServerStreamingClient[plugin.ListAndWatchResponse]
	for range 3 {
		stream, err := client.ListAndWatch(context.Background(), &plugin.Empty{})
		if err != nil {
			return err
		}
		streams = append(streams, stream)
	}
	for round, wanted := range []int{8, 3, 0, 8} {
		if round > 0 {
			fmt.Printf("devices %d\n", wanted)
		}
		for _, stream := range streams {
			count, err := healthy(stream)
			if err != nil {
				return err
			}
			if err := want("healthy devices", count, wanted); err != nil {
				return err
			}
		}
	}
	fmt.Println("end")
	for _, stream := range streams {
		_, err := stream.Recv()
		if err := want("end of the stream", []any{status.Code(err), status.Convert(err).Message()},
			[]any{codes.Unavailable, "the driver is being replaced"}); err != nil {
			return err
		}
	}
	return nil
}

func checkCancelledWatch(client plugin.DevicePluginClient) error {
	ctx, cancel := context.WithCancel(context.Background())
	stream, err := client.ListAndWatch(ctx, &plugin.Empty{})
	if err != nil {
		return err
	}
	if _, err := stream.Recv(); err != nil {
		return err
	}
	cancel()
	return nil
}

func checkAllocate(client plugin.DevicePluginClient) error {
	response, err := client.Allocate(soon(), allocateRequest("GPU-1", "GPU-2"))
	if err != nil {
		return err
	}
	container := response.ContainerResponses[0]
	if err := want("Allocate", []any{container.CdiDevices[0].Name, container.CdiDevices[1].Name, container.Envs},
		[]any{"nvidia.com/gpu=GPU-1", "nvidia.com/gpu=GPU-2",
			map[string]string{"NVIDIA_VISIBLE_DEVICES": "GPU-1,GPU-2,"}}); err != nil {
		return err
	}
	_, err = client.Allocate(soon(), allocateRequest("Ω"))
	return want("the error", []any{status.Code(err), status.Convert(err).Message()},
		[]any{codes.NotFound, "Gerät „Ω“: 100 % unbekannt\n次"})
}

func checkDeadline(client plugin.DevicePluginClient) error {
	if _, err := client.PreStartContainer(soon(), &plugin.PreStartContainerRequest{DevicesIds: []string{"GPU-1"}}); err != nil {
		return fmt.Errorf("an answer that comes later: %w", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	_, err := client.PreStartContainer(ctx, &plugin.PreStartContainerRequest{})
	return want("a call without an answer", status.Code(err), codes.DeadlineExceeded)
}

func checkRefusals(connection *grpc.ClientConn) error {
	client := plugin.NewDevicePluginClient(connection)
	_, err := client.Allocate(soon(), allocateRequest("GPU-1"), grpc.UseCompressor(gzip.Name))
	if err := want("a compressed message", status.Code(err), codes.Unimplemented); err != nil {
		return err
	}
	_, err = podresources.NewPodResourcesListerClient(connection).List(soon(), &podresources.ListPodResourcesRequest{})
	if err := want("another service", status.Code(err), codes.Unimplemented); err != nil {
		return err
	}
	var large []string
	for i := range 300_000 {
		large = append(large, fmt.Sprintf("GPU-%020d", i))
	}
	_, err = client.Allocate(soon(), allocateRequest(large...))
	return want("a message of 7 MB", status.Code(err), codes.ResourceExhausted)
}

// checkRandom sends requests of random sizes, whose answers repeat them.
func checkRandom(client plugin.DevicePluginClient) error {
	for range 200 {
		var ids []string
		for range rand.Intn(1 << rand.Intn(14)) {
			ids = append(ids, fmt.Sprintf("%x", rand.Int63()>>rand.Intn(60)))
		}
		request := &plugin.PreferredAllocationRequest{ContainerRequests: []*plugin.ContainerPreferredAllocationRequest{
			{AvailableDeviceIDs: ids, AllocationSize: int32(len(ids))}}}
		response, err := client.GetPreferredAllocation(soon(), request)
		if err != nil {
			return err
		}
		if err := want("preferred devices", response.ContainerResponses[0].DeviceIDs, ids); err != nil {
			return err
		}
	}
	return nil
}

func calls(client plugin.DevicePluginClient, count int) error {
	for i := range count {
		id := fmt.Sprintf("GPU-%d", i)
		response, err := client.Allocate(soon(), allocateRequest(id))
		if err != nil {
			return fmt.Errorf("call %d: %w", i, err)
		}
		if err := want("the device", response.ContainerResponses[0].CdiDevices[0].Name, "nvidia.com/gpu="+id); err != nil {
			return err
		}
	}
	return nil
}

// checkClients makes calls on so many connections at a time, four on each side by side.
func checkClients(path string, connections int) error {
	var group sync.WaitGroup
	failures := make(chan error, connections*4)
	for range connections {
		client := plugin.NewDevicePluginClient(dial(path))
		for range 4 {
			group.Add(1)
			go func() {
				defer group.Done()
				failures <- calls(client, 50)
			}()
		}
	}
	group.Wait()
	close(failures)
	var all error
	for err := range failures {
		all = errors.Join(all, err)
	}
	return all
}

func check(registrationPath, pluginPath string) error {
	connection := dial(pluginPath)
	client := plugin.NewDevicePluginClient(connection)
	for _, step := range []struct {
		name string
		run  func() error
	}{
		{"registration", func() error { return checkRegistration(registrationPath) }},
		{"options", func() error {
			options, err := client.GetDevicePluginOptions(soon(), &plugin.Empty{})
			return errors.Join(err, want("options", options.GetGetPreferredAllocationAvailable(), true))
		}},
		{"three watchers with updates", func() error { return checkWatch(client) }},
		{"a watcher that goes away", func() error { return checkCancelledWatch(client) }},
		{"allocation", func() error { return checkAllocate(client) }},
		{"deadline", func() error { return checkDeadline(client) }},
		{"refusals", func() error { return checkRefusals(connection) }},
		{"random messages", func() error { return checkRandom(client) }},
		{"1000 calls on a connection", func() error { return calls(client, 1000) }},
		{"20 clients", func() error { return checkClients(pluginPath, 20) }},
	} {
		if err := step.run(); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
		fmt.Fprintln(os.Stderr, "done:", step.name)
	}
	return nil
}

func restart(path string) error {
	client := plugin.NewDevicePluginClient(dial(path))
	stream, err := client.ListAndWatch(context.Background(), &plugin.Empty{})
	if err != nil {
		return err
	}
	if _, err := stream.Recv(); err != nil {
		return err
	}
	fmt.Println("watching")
	_, err = stream.Recv()
	if err := want("end of the server", status.Code(err), codes.Unavailable); err != nil {
		return err
	}
	_, err = client.Allocate(soon(), allocateRequest("GPU-1"), grpc.WaitForReady(true))
	return err
}

func latency(path string, count int) error {
	client := plugin.NewDevicePluginClient(dial(path))
	if err := calls(client, 200); err != nil {
		return err
	}
	for range count {
		start := time.Now()
		if err := calls(client, 1); err != nil {
			return err
		}
		fmt.Println(time.Since(start).Nanoseconds() / 1000)
	}
	return nil
}
