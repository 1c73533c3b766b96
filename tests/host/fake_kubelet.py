# SPDX-License-Identifier: Apache-2.0
"""The kubelet's side of a device plugin: finds it by its registration socket, and watches its devices."""
import socket
import time

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import ConnectionTerminated, DataReceived, StreamEnded

PATIENCE = 20  # seconds


def fields(message):
    """Yields the number and the value of each field of a protobuf message with strings, messages and integers."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(message):
        key = varint()
        size = varint()
        if key & 7 == 2:
            yield key >> 3, message[at:at + size]
            at += size
        else:
            yield key >> 3, size


def field(number, value):
    """Returns a field of a protobuf message with a string or message."""
    size, length = len(value), b""
    while size > 127:
        length += bytes([size & 127 | 128])
        size >>= 7
    return bytes([number << 3 | 2]) + length + bytes([size]) + value


def connect(path):
    """Connects to a socket as soon as a program listens on it."""
    end = time.monotonic() + PATIENCE
    while True:
        sock = socket.socket(socket.AF_UNIX)
        sock.settimeout(PATIENCE)
        try:
            sock.connect(path)
            return sock
        except (ConnectionRefusedError, FileNotFoundError):
            sock.close()
            if time.monotonic() > end:
                raise
            time.sleep(0.01)


class Call:
    """One call on a connection of its own."""

    def __init__(self, path, method, request=b""):
        self.sock = connect(path)
        self.http = H2Connection(H2Configuration(client_side=True))
        self.http.initiate_connection()
        self.http.send_headers(1, [(":method", "POST"), (":scheme", "http"), (":path", method), (":authority", "localhost"),
                                   ("content-type", "application/grpc"), ("te", "trailers")])
        self.http.send_data(1, b"\0" + len(request).to_bytes(4, "big") + request, end_stream=True)
        self.sock.sendall(self.http.data_to_send())
        self.data, self.ended = b"", False

    def receive(self):
        data = self.sock.recv(65536)
        self.ended = not data
        for event in self.http.receive_data(data) if data else ():
            if isinstance(event, DataReceived):
                self.data += event.data
                self.http.acknowledge_received_data(event.flow_controlled_length, 1)
            self.ended = self.ended or isinstance(event, (StreamEnded, ConnectionTerminated))
        self.sock.sendall(self.http.data_to_send())

    def message(self):
        """Waits for the next message; None after the end."""
        while len(self.data) < 5 or len(self.data) < 5 + int.from_bytes(self.data[1:5], "big"):
            if self.ended:
                return None
            self.receive()
        size = int.from_bytes(self.data[1:5], "big")
        message, self.data = self.data[5:5 + size], self.data[5 + size:]
        return message


class Kubelet:
    """Watches the devices of one resource."""

    def __init__(self, registration):
        information = dict(fields(Call(registration, "/pluginregistration.Registration/GetInfo").message()))
        self.endpoint = information[3].decode()
        self.watch = Call(self.endpoint, "/v1beta1.DevicePlugin/ListAndWatch")
        self.devices = self.next()

    def next(self):
        """Waits for the next list of devices: {id: health}."""
        listed = [dict(fields(device)) for number, device in fields(self.watch.message()) if number == 1]
        self.devices = {device[1].decode(): device[2].decode() for device in listed}
        return self.devices

    def answer(self, *ids):
        """Returns the answer for a container with these devices, as fields; None if the request is refused."""
        container = b"".join(field(1, one.encode()) for one in ids)
        answer = Call(self.endpoint, "/v1beta1.DevicePlugin/Allocate", field(1, container)).message()
        return None if answer is None else [one for _, container in fields(answer) for one in fields(container)]

    def allocate(self, *ids):
        """Returns the CDI devices that a container with these devices gets; None if the request is refused."""
        answer = self.answer(*ids)
        return None if answer is None else [dict(fields(device))[1].decode() for number, device in answer if number == 5]

    def given(self, *ids):
        """Returns the variables, mounts and annotations of a container with these devices, each {name: value}."""
        answer = self.answer(*ids)
        pairs = [(number, dict(fields(entry))) for number, entry in answer if number in (1, 2, 4)]
        return [{entry[1].decode(): entry[2].decode() for of, entry in pairs if of == number} for number in (1, 2, 4)]

    def prefer(self, count, available, required=()):
        """Returns the devices that the plugin prefers for a container."""
        container = b"".join([*(field(1, one.encode()) for one in available), *(field(2, one.encode()) for one in required), b"\x18", bytes([count])])
        answer = Call(self.endpoint, "/v1beta1.DevicePlugin/GetPreferredAllocation", field(1, container)).message()
        return [one.decode() for _, container in fields(answer) for _, one in fields(container)]

    def close(self):
        self.watch.sock.close()
