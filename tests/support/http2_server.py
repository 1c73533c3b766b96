# SPDX-License-Identifier: Apache-2.0
"""A server for HTTP/2 only, with one thread per connection: http2_server.py CERTIFICATE KEY. Prints its port.

/ok       is answered
/silence  is answered; later requests on this connection are read, but not answered
/hang     is never answered
/stream   starts an answer with a line every 50 ms
"""
import socket
import ssl
import sys
import threading

try:
    from h2 import config, connection, events
except ImportError:
    sys.exit("the Python module h2 is not installed")

HEADERS = [(":status", "200"), ("content-type", "text/plain")]


class Connection:
    def __init__(self, sock):
        self.sock = sock
        self.http = connection.H2Connection(config=config.H2Configuration(client_side=False, header_encoding="utf-8"))
        self.streams = set()
        self.silent = False

    def send(self):
        if data := self.http.data_to_send():
            self.sock.sendall(data)

    def request(self, stream, path):
        if path == "/hang":
            return
        self.http.send_headers(stream, HEADERS)
        if path == "/stream":
            self.streams.add(stream)
            return
        self.http.send_data(stream, b"ok\n", end_stream=True)
        self.silent = path == "/silence"

    def receive(self, data):
        for event in self.http.receive_data(data):
            if isinstance(event, events.RequestReceived):
                self.request(event.stream_id, dict(event.headers)[":path"])
            elif isinstance(event, events.StreamReset):
                self.streams.discard(event.stream_id)

    def serve(self):
        self.http.initiate_connection()
        self.send()
        while True:
            self.sock.settimeout(0.05 if self.streams else None)
            try:
                data = self.sock.recv(65536)
            except TimeoutError:
                data = None
            if data == b"":
                return
            if self.silent:
                continue
            if data:
                self.receive(data)
            else:
                for stream in self.streams:
                    self.http.send_data(stream, b"tick\n")
            self.send()


def serve(sock, context):
    try:
        with context.wrap_socket(sock, server_side=True) as wrapped:
            Connection(wrapped).serve()
    except OSError:
        pass  # the client has closed the connection


def main(certificate, key):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    context.set_alpn_protocols(["h2"])
    with socket.create_server(("127.0.0.1", 0)) as listener:
        print(listener.getsockname()[1], flush=True)
        while True:
            sock, _ = listener.accept()
            threading.Thread(target=serve, args=(sock, context), daemon=True).start()


main(*sys.argv[1:])
